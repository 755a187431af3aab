// The counters of each variant, in a table whose cells change in place: a reader keeps its place,
// and nothing is announced each second.

import { breakable, el, say, show, wide } from "../dom.js";
import { figure, spoken } from "../words.js";

const FIRST = [
  "attempts", "jobs_finished", "slot_collisions", "key_errors", "internal_errors", "orphaned_contexts", "orphaned_contexts_now",
  "swept_live", "aborts", "retries", "restarts", "kills", "crashes", "faults", "queue_incomplete", "job_wait_p99", "job_run_p99",
];
const ALARMS = ["key_errors", "internal_errors", "orphaned_contexts", "orphaned_contexts_now"];

export function counters(names) {
  const body = el("tbody");
  const rows = new Map();
  let all = false;
  let last = () => ({});
  const toggle = el("button", { type: "button", class: "plain", "aria-pressed": "false" }, "Show all");
  const table = el("table", { class: "counters" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Counter"), names.map((name) => el("th", { scope: "col" }, breakable(name))))), body);
  const section = el("section", { class: "card", "aria-labelledby": "counters" },
    el("header", {}, el("h2", { id: "counters" }, "Counters"), toggle), wide("Counters by variant", table));
  const draw = (of) => {
    last = of;
    const wanted = all ? namesIn(names, of) : FIRST;
    const order = wanted.join();
    if (body.dataset.order !== order) {
      body.dataset.order = order;
      show(body, wanted.map((name) => rowOf(name, names, rows)));
    }
    for (const name of wanted) fillRow(rows.get(name), name, names, of);
  };
  toggle.addEventListener("click", () => {
    all = !all;
    toggle.setAttribute("aria-pressed", String(all));
    toggle.textContent = all ? "Show fewer" : "Show all";
    draw(last);
  });
  return { section, draw };
}

function namesIn(names, of) {
  const all = [...FIRST];
  for (const name of names) for (const one of Object.keys(of(name))) if (!all.includes(one)) all.push(one);
  return all;
}

function rowOf(name, names, rows) {
  if (!rows.has(name)) {
    const cells = names.map(() => el("td"));
    rows.set(name, { row: el("tr", {}, el("th", { scope: "row" }, spoken(name)), cells), cells });
  }
  return rows.get(name).row;
}

function fillRow({ cells }, name, names, of) {
  names.forEach((variant, index) => {
    const value = of(variant)[name];
    const isTime = name.startsWith("job_");
    const none = value === undefined && (isTime && /_p\d+$/.test(name));
    say(cells[index], none ? "–" : figure(name, value ?? 0));
    cells[index].className = value ? (ALARMS.includes(name) ? "alarm" : "") : "zero";
  });
}
