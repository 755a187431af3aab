// Promises × variants. While the run goes on a cell says how often its promise was seen broken, and
// turns red with the first; after the end it says what the judge said.

import { breakable, el, show, wide } from "../dom.js";
import { kindOf, number, sign } from "../words.js";

/** read() gives {promises, judged}: names in order, and Run.verdict once there is one. */
export function promises(fold, names, claims) {
  const place = el("div");
  const about = el("p", { class: "quiet small" });
  const section = el("section", { class: "card", "aria-labelledby": "promises" },
    el("header", {}, el("h2", { id: "promises" }, "Promises"), about), place);
  let drawn = "";
  const draw = (order, judged, isOver) => {
    const known = withFound(order, fold, judged);
    const state = JSON.stringify([known, judged, isOver, [...fold.findings].map(([name, of]) => [name, [...of]])]);
    if (state === drawn) return;
    const before = new Set([...place.querySelectorAll(".cell.bad")].map((one) => one.dataset.of));
    about.textContent = judged ? "As judged" : isOver ? "Seen; nothing was judged" : "Seen so far; the judge has the last word";
    show(place, known.length ? wide("Promises by variant", table(known, names, fold, judged, claims, before, drawn === "")) : el("p", { class: "quiet" }, "This plan's promises are judged at the end."));
    drawn = state;
  };
  return { section, draw };
}

function withFound(order, fold, judged) {
  const all = [...order];
  const more = judged ? judged.flatMap((one) => one.promises.map((promise) => promise.promise)) : [...fold.findings.values()].flatMap((of) => [...of.keys()]);
  for (const name of more) if (!all.includes(name)) all.push(name);
  return all;
}

function table(known, names, fold, judged, claims, before, isFirst) {
  const row = (promise) =>
    el("tr", {},
      el("th", { scope: "row", title: claims.get(promise) ?? null }, promise),
      names.map((name) => el("td", {}, cell(promise, name, fold, judged, before, isFirst))));
  return el("table", { class: "grid" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Promise"), names.map((name) => el("th", { scope: "col" }, breakable(name))))),
    el("tbody", {}, known.map(row)));
}

function cell(promise, name, fold, judged, before, isFirst) {
  const of = `${promise} ${name}`;
  if (judged) {
    const found = judged.find((one) => one.variant === name)?.promises.find((one) => one.promise === promise);
    if (!found) return el("span", { class: "cell" }, "–");
    const count = found.count ? ` ${number(found.count)}×` : "";
    const link = found.count ? { href: `#${findingId(name, promise)}` } : {};
    return el(found.count ? "a" : "span", { class: `cell ${kindOf(found.outcome)}`, "data-of": of, ...link }, sign(kindOf(found.outcome)), el("span", {}, found.outcome + count));
  }
  const seen = fold.findings.get(name)?.get(promise);
  if (!seen) return el("span", { class: "cell" }, "none seen");
  const fresh = !isFirst && !before.has(of) ? " fresh" : "";
  return el("span", { class: `cell bad${fresh}`, "data-of": of, title: seen.text }, sign("bad"), el("span", {}, `broken ${number(seen.count)}×`));
}

export const findingId = (variant, promise) => `found-${variant}-${promise}`.replaceAll(/[^A-Za-z0-9-]/g, "_");
