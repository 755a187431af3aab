// What happened, newest first, in words. The plan's own faults are many (a sweep three times a
// second): they are in the lanes, and here only on request.

import { el } from "../dom.js";
import { clock } from "../words.js";

export function log(fold) {
  const list = el("ol", { class: "log", tabindex: 0, "aria-label": "Events, the newest first" });
  const box = el("input", { type: "checkbox" });
  const section = el("section", { class: "card", "aria-labelledby": "log" },
    el("header", {}, el("h2", { id: "log" }, "Events"), el("label", { class: "choice small" }, box, el("span", {}, "with the plan's faults"))), list);
  let drawn = "";
  const draw = () => {
    const entries = fold.log.filter((one) => box.checked || one.kind !== "fault").slice(-200);
    const state = `${box.checked} ${entries.at(-1)?.number} ${entries.length}`;
    if (state === drawn) return;
    drawn = state;
    list.replaceChildren(...entries.reverse().map((one) => el("li", { class: one.kind }, el("time", {}, clock(one.at)), el("span", {}, one.text))));
    if (!entries.length) list.append(el("li", { class: "quiet" }, el("time"), el("span", {}, "Nothing yet")));
  };
  box.addEventListener("change", draw);
  return { section, draw };
}
