// Two ended runs side by side: is b worse than a? The API compares; what differs comes first.

import { get, send } from "../api.js";
import { byId, el, field, select, show, wide } from "../dom.js";
import { failure, open } from "../shell.js";
import { ago, badge, figure, many, sign, span, secondsBetween, spoken, standing, wordOf } from "../words.js";

const RECENT = 100;
const result = byId("result");

open(async () => {
  const query = new URLSearchParams(location.search);
  const [a, b] = [query.get("a") ?? "", query.get("b") ?? ""];
  const { runs } = await get("/v1/runs", { state: "ended", limit: RECENT });
  drawForm(runs, a, b);
  if (a && b) await compare(a, b);
  else show(result, el("div", { class: "card blank" }, el("p", {}, runs.length < 2 ? "It takes two ended runs to compare." : "Choose an earlier run and a later one.")));
});

function drawForm(runs, a, b) {
  const known = runs.map((run) => [run.id, `${run.plan}, ${wordOf(standing(run)).toLowerCase()}, ${run.id}`]);
  const options = (chosen) => [["", "choose"], ...(chosen && !runs.some((run) => run.id === chosen) ? [[chosen, chosen]] : []), ...known];
  const form = byId("choose");
  const swap = el("button", { type: "button", onclick: () => go(form.elements.b.value, form.elements.a.value) }, "Swap");
  form.append(field("A, the earlier", select("a", options(a), a)), field("B, the later", select("b", options(b), b)), el("button", { class: "primary" }, "Compare"), swap);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go(form.elements.a.value, form.elements.b.value);
  });
}

const go = (a, b) => location.assign(`/compare?${new URLSearchParams({ a, b })}`);

async function compare(a, b) {
  try {
    draw(await send("POST", `/v1/runs/${encodeURIComponent(a)}/compare/${encodeURIComponent(b)}`));
  } catch (error) {
    show(result, failure(error));
  }
}

function draw(found) {
  const worse = found.rows.filter((row) => row.worse).length;
  const box = el("input", { type: "checkbox", checked: true });
  const body = el("div", { class: "card" });
  const drawRows = () => show(body, tableOf(found.rows.filter((row) => !box.checked || row.a !== row.b || row.worse)));
  box.addEventListener("change", drawRows);
  drawRows();
  show(result,
    el("div", { class: "sides" }, side("A", found.a), side("B", found.b)),
    found.same_plan ? null : el("div", { class: "notice unsure" }, sign("error"), el("span", {}, "The plans differ: what differs below may be the plan and not saq.")),
    el("div", { class: "headline" },
      el("h2", {}, worse ? `B is worse in ${many(worse, "place")}` : "B is not worse than A"),
      el("label", { class: "choice" }, box, el("span", {}, "only what differs"))),
    body);
}

function side(name, run) {
  const fact = (term, value) => [el("dt", {}, term), el("dd", {}, value)];
  return el("section", { class: "card", "aria-label": `Run ${name}` },
    el("h2", {}, name, badge(standing(run)), el("a", { href: `/runs/${encodeURIComponent(run.id)}` }, run.plan)),
    el("dl", { class: "facts" }, fact("Run", run.id), fact("When", ago(run.created_at)),
      fact("Took", run.started_at && run.ended_at ? span(secondsBetween(run.started_at, run.ended_at)) : "–"),
      fact("World, seed", `${run.world}, ${run.seed}`), fact("Variants", run.variants.join(", "))));
}

function tableOf(rows) {
  if (!rows.length) return el("p", { class: "quiet" }, "Nothing differs.");
  const variants = [...new Set(rows.map((row) => row.variant))];
  const bodies = variants.map((variant) =>
    el("tbody", {}, el("tr", { class: "group" }, el("th", { colspan: 5, scope: "rowgroup" }, variant)), rows.filter((row) => row.variant === variant).map(rowOf)));
  const head = ["What", "A", "B", "B against A", "p"].map((text, index) => el("th", { scope: "col", class: index === 1 || index === 2 || index === 4 ? "figure" : "" }, text));
  return wide("The comparison", el("table", { class: "comparison" }, el("thead", {}, el("tr", {}, head)), bodies));
}

function rowOf(row) {
  const kind = row.worse ? "worse" : row.worse === false && row.a !== row.b ? "better" : "";
  return el("tr", { class: kind },
    el("th", { scope: "row" }, row.what === "counter" ? spoken(row.name) : row.name),
    el("td", { class: "figure" }, valueOf(row, row.a)),
    el("td", { class: "figure" }, valueOf(row, row.b)),
    el("td", { class: "change" }, kind === "worse" ? [sign("bad"), "worse"] : row.worse === false ? "not worse" : changeOf(row)),
    el("td", { class: "figure" }, row.p === null || row.p === undefined ? "" : row.p < 0.0001 ? "< 0.0001" : row.p.toFixed(4)));
}

const valueOf = (row, value) => (value === null || value === undefined ? "–" : row.what === "promise" && typeof value === "string" ? badge(value) : figure(row.name, value));

function changeOf({ name, a, b }) {
  if (typeof a !== "number" || typeof b !== "number") return "";
  const more = b - a;
  return more === 0 ? "the same" : `${more > 0 ? "+" : "−"}${figure(name, Math.abs(more))}`;
}
