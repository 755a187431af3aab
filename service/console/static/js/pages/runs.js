// The list of runs: newest first, filtered by the address bar, so that a view can be bookmarked.
// Rows are kept by id and drawn again only when they differ: focus and ticks survive a refresh.

import { get } from "../api.js";
import { plans } from "../catalog.js";
import { byId, el, field, select, show } from "../dom.js";
import { banner, failure, open } from "../shell.js";
import { ago, badge, kindOf, many, secondsBetween, sign, span, standing, wordOf } from "../words.js";

const PAGE = 25;
const EVERY_MS = 4_000;
const FILTERS = {
  state: ["queued", "running", "ended"],
  outcome: ["passed", "failed", "unknown", "error", "interrupted", "stopped"],
  trigger: ["api", "schedule", "standing"],
};

const rows = new Map(); // id → {item, seen}
const picked = []; // ids, in the order of picking; two at most
let pages = 1;
let round = 0;

open(async () => {
  await drawFilters();
  byId("more").addEventListener("click", () => {
    pages += 1;
    refresh();
  });
  await refresh();
  setInterval(() => document.hidden || refresh(), EVERY_MS);
});

async function drawFilters() {
  const query = new URLSearchParams(location.search);
  const known = await plans().catch(() => []);
  const choices = { ...FILTERS, plan: known.map((plan) => plan.name) };
  const form = byId("filters");
  for (const name of ["state", "outcome", "plan", "trigger"]) {
    const chosen = query.get(name) ?? "";
    const values = chosen && !choices[name].includes(chosen) ? [...choices[name], chosen] : choices[name];
    const options = [["", "any"], ...values.map((value) => [value, name === "plan" ? value : wordOf(value)])];
    form.append(field(name[0].toUpperCase() + name.slice(1), select(name, options, chosen)));
  }
  form.append(el("button", { type: "button", id: "clear", onclick: clearFilters }, "Show all"));
  form.addEventListener("change", filtersChanged);
  form.addEventListener("submit", (event) => event.preventDefault());
}

const filters = () => Object.fromEntries([...new FormData(byId("filters"))].filter(([, value]) => value));

function filtersChanged() {
  const query = new URLSearchParams(filters()).toString();
  history.replaceState(null, "", query ? `?${query}` : location.pathname);
  pages = 1;
  refresh();
}

function clearFilters() {
  for (const one of byId("filters").querySelectorAll("select")) one.value = "";
  filtersChanged();
}

async function refresh() {
  const mine = ++round;
  try {
    const found = await readPages();
    if (mine !== round) return;
    banner("list", null);
    draw(found.runs, found.next);
  } catch (error) {
    if (mine !== round || error.status === 401) return;
    if (rows.size) banner("list", `The list is not fresh: ${error.message}`);
    else show(byId("list"), failure(error));
  }
}

async function readPages() {
  const runs = [];
  let next = "";
  for (let page = 0; page < pages; page++) {
    const found = await get("/v1/runs", { ...filters(), cursor: next, limit: PAGE });
    runs.push(...found.runs);
    next = found.next;
    if (!next) break;
  }
  return { runs, next };
}

function draw(runs, next) {
  const filtered = Object.keys(filters()).length > 0;
  byId("clear").hidden = !filtered;
  byId("more").hidden = !next;
  byId("count").textContent = runs.length ? `${many(runs.length, "run")}${next ? ", and older ones" : ""}` : "";
  if (!runs.length) {
    rows.clear();
    show(byId("list"), filtered ? nothingFits() : nothingYet());
    return;
  }
  let list = byId("list").querySelector("ol");
  if (!list) show(byId("list"), (list = el("ol", { class: "runs", "aria-label": "Runs, the newest first" })));
  place(list, runs);
}

/** Puts rows in order, making only those that changed. */
function place(list, runs) {
  const ids = new Set(runs.map((run) => run.id));
  for (const [id, row] of rows) if (!ids.has(id)) (row.item.remove(), rows.delete(id));
  runs.forEach((run, index) => {
    const seen = JSON.stringify(run) + Math.floor(Date.now() / 60_000);
    const old = rows.get(run.id);
    if (old?.seen !== seen) {
      const item = rowOf(run);
      const focused = old?.item.contains(document.activeElement) ? document.activeElement.dataset.part : null;
      old?.item.replaceWith(item);
      item.querySelector(`[data-part="${focused}"]`)?.focus();
      rows.set(run.id, { item, seen });
    }
    const { item } = rows.get(run.id);
    if (list.children[index] !== item) list.insertBefore(item, list.children[index] ?? null);
  });
}

function rowOf(run) {
  const name = standing(run);
  const tick = el("input", { type: "checkbox", class: "pick", "data-part": "pick", "aria-label": `Compare ${run.plan}, ${run.id}`, onchange: (event) => pick(run.id, event.target.checked) });
  tick.checked = picked.includes(run.id);
  const labels = Object.entries(run.labels).map(([key, value]) => el("span", { class: "tag" }, value ? `${key}=${value}` : key));
  return el(
    "li",
    {},
    tick,
    el("div", { class: "verdict" }, badge(name)),
    el("div", { class: "what" },
      el("a", { class: "title", "data-part": "link", href: `/runs/${encodeURIComponent(run.id)}` }, run.plan),
      el("span", { class: "id" }, run.id),
      labels.length ? el("div", { class: "tags" }, labels) : null),
    el("div", { class: "how" }, variantsOf(run), el("span", { class: "about" }, aboutOf(run))),
    el("div", { class: "when" }, ago(run.started_at ?? run.created_at), el("small", {}, lengthOf(run))),
  );
}

function variantsOf(run) {
  const judged = new Map((run.verdict ?? []).map((one) => [one.variant, one]));
  const item = (variant) => {
    const found = judged.get(variant);
    if (!found) return el("li", {}, variant);
    const kind = kindOf(found.outcome);
    const broken = found.promises.filter((one) => one.outcome === "INVALID").length;
    const said = broken ? `${found.outcome}, ${many(broken, "promise")} broken` : found.outcome;
    return el("li", { class: kind, title: said }, sign(kind), el("span", {}, variant), el("span", { class: "quiet" }, said));
  };
  return el("ul", { class: "variants" }, run.variants.map(item));
}

function aboutOf(run) {
  const from = run.trigger === "schedule" ? `schedule ${run.schedule}` : run.trigger === "standing" ? "standing soak" : `by ${run.requested_by}`;
  const parts = [run.world, `seed ${run.seed}`, `gate ${run.gate}`, from];
  if (run.error) parts.push(run.error);
  return parts.join(" · ");
}

function lengthOf(run) {
  if (run.state === "queued") return run.place ? `${many(run.place, "run")} before it` : "next";
  if (!run.started_at) return "never began";
  if (run.state === "running") return `${run.phase ?? "beginning"}, since ${span(secondsBetween(run.started_at, new Date().toISOString()))}`;
  return run.ended_at ? `took ${span(secondsBetween(run.started_at, run.ended_at))}` : "";
}

// --- comparing --------------------------------------------------------------------------------

function pick(id, on) {
  if (on) picked.push(id);
  else picked.splice(picked.indexOf(id), 1);
  if (picked.length > 2) {
    const dropped = picked.shift();
    const tick = rows.get(dropped)?.item.querySelector(".pick");
    if (tick) tick.checked = false;
  }
  drawPicked();
}

function drawPicked() {
  const bar = byId("picked");
  bar.hidden = picked.length === 0;
  if (!picked.length) return;
  const [a, b] = [...picked].sort((one, other) => order(one) - order(other));
  const ready = picked.length === 2;
  const link = ready ? el("a", { class: "button primary", href: `/compare?${new URLSearchParams({ a, b })}` }, "Compare the two") : null;
  show(bar, el("span", { role: "status" }, ready ? "Two runs picked" : "Pick one more run to compare"), link, el("button", { type: "button", class: "plain", onclick: unpick }, "Clear"));
}

/** The older one is a, the newer one b: "did it get worse?" reads from left to right. */
const order = (id) => -[...rows.get(id)?.item.parentNode?.children ?? []].indexOf(rows.get(id)?.item);

function unpick() {
  picked.length = 0;
  for (const { item } of rows.values()) item.querySelector(".pick").checked = false;
  drawPicked();
}

// --- nothing there ------------------------------------------------------------------------------

const nothingYet = () =>
  el("div", { class: "card blank" },
    el("h2", {}, "No runs yet"),
    el("p", {}, "Start one from a plan: it shows its faults before anything happens."),
    el("p", {}, el("a", { class: "button primary", href: "/start" }, "Start a run")));

const nothingFits = () =>
  el("div", { class: "card blank" },
    el("h2", {}, "No run fits these filters"),
    el("p", {}, el("button", { type: "button", onclick: clearFilters }, "Show all")));
