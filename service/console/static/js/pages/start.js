// Start a run: the form, and what the server says it would do. A preview is asked for when the plan
// or another field changes, and by the button; it is marked as old while the form says otherwise.

import { freshKey, mayChange, send } from "../api.js";
import { broken } from "../catalog.js";
import { byId, el, show, wide } from "../dom.js";
import { lanes } from "../lanes.js";
import { markProblems, runForm } from "../runform.js";
import { failure, open } from "../shell.js";
import { clock, many, number, span } from "../words.js";

const QUIET_MS = 500;
const LISTED_MAX = 200;

const shown = byId("shown");
let asked = 0;

open(async (who) => {
  const query = new URLSearchParams(location.search);
  const form = await runForm({ plan: query.get("plan"), variants: query.getAll("variant"), world: query.get("world") ?? "live", seed: query.get("seed") });
  const failed = el("div");
  const start = el("button", { class: "primary", disabled: !mayChange(who) }, "Start the run");
  const look = el("button", { type: "button" }, "Preview");
  const place = byId("form");
  show(place, form.fields, failed, mayChange(who) ? null : el("p", { class: "notice" }, "You may look, not start: that takes the role operator."), el("div", { class: "buttons" }, start, look));
  await brokenPlans(place);
  if (!mayChange(who)) return void show(shown, el("p", { class: "quiet" }, "A preview takes the role operator."));
  wire(place, form, failed, start, look);
  await preview(form, failed, place, false);
});

function wire(place, form, failed, start, look) {
  let timer = null;
  let key = freshKey();
  const later = () => {
    key = freshKey();
    shown.classList.add("stale");
    clearTimeout(timer);
    timer = setTimeout(() => preview(form, failed, place, false), QUIET_MS);
  };
  place.addEventListener("change", later);
  place.addEventListener("input", (event) => event.target.matches("input[type=checkbox], select") || shown.classList.add("stale"));
  look.addEventListener("click", () => {
    clearTimeout(timer);
    preview(form, failed, place, true);
  });
  place.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { body, problems } = form.request();
    markProblems(place, failed, problems);
    if (problems) return;
    start.disabled = true;
    try {
      const run = await send("POST", "/v1/runs", body, { "Idempotency-Key": key });
      location.assign(`/runs/${encodeURIComponent(run.id)}`);
    } catch (error) {
      show(failed, failure(error));
      if (error.status !== 0) key = freshKey();
      start.disabled = false;
    }
  });
}

async function brokenPlans(place) {
  const found = Object.entries(await broken());
  if (!found.length) return;
  place.append(el("details", {}, el("summary", { class: "unsure" }, `${many(found.length, "file")} of the server's plans cannot be read`), el("ul", {}, found.map(([name, why]) => el("li", {}, el("b", {}, name), `: ${why}`)))));
}

/** loudly: also say what is wrong with fields, which a person who still types need not hear. */
async function preview(form, failed, place, loudly) {
  const mine = ++asked;
  const { body, problems } = form.request();
  if (problems) {
    if (loudly) markProblems(place, failed, problems);
    return void show(shown, el("p", { class: "quiet" }, "The form cannot be read yet."));
  }
  markProblems(place, failed, null);
  try {
    const found = await send("POST", "/v1/runs", { ...body, dry_run: true });
    if (mine === asked) draw(found);
  } catch (error) {
    if (mine !== asked) return;
    shown.classList.remove("stale");
    show(shown, failure(error));
  }
}

function draw(found) {
  shown.classList.remove("stale");
  const kinds = new Map();
  for (const one of found.faults) {
    if (!kinds.has(one.fault)) kinds.set(one.fault, []);
    kinds.get(one.fault).push({ from: one.at_s, to: one.at_s + one.for_s });
  }
  const rows = [...kinds].map(([name, marks]) => ({ name, marks }));
  const until = found.duration_s + found.drain_s;
  const board = lanes(() => ({ rows, until, drainFrom: found.duration_s }));
  show(shown,
    el("p", { class: "aloud", role: "status" }, `Preview of ${found.plan}: ${many(found.faults.length, "fault")} on ${many(found.variants.length, "variant")}`),
    sums(found),
    el("h3", {}, "Faults"),
    rows.length ? board.place : el("p", { class: "quiet" }, "This plan injects none."),
    found.faults_left_out ? el("p", { class: "quiet small" }, `${number(found.faults_left_out)} more injections are not drawn.`) : null,
    rows.length ? el("p", { class: "quiet small" }, `Drawn from seed ${found.seed}. After ${clock(found.duration_s)} the load ends and the queue drains.`) : null,
    rows.length ? times(kinds) : null,
    el("details", {}, el("summary", {}, "The whole plan"), el("pre", { tabindex: 0, "aria-label": "The plan as YAML" }, found.plan_yaml)));
  board.draw();
}

function sums(found) {
  const pair = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));
  return el("dl", { class: "sums" },
    pair("Load", span(found.duration_s)), pair("Drain, at most", span(found.drain_s)), pair("Jobs, at most", number(found.jobs)),
    pair("Faults", number(found.faults.length + found.faults_left_out)), pair("Gate", found.gate), pair("World", found.world), pair("Seed", String(found.seed)),
    pair("Variants", found.variants.join(", ")));
}

function times(kinds) {
  const listed = [...kinds].map(([name, marks]) => {
    const left = marks.length - LISTED_MAX;
    const items = marks.slice(0, LISTED_MAX).map((one) => el("li", {}, `${one.from.toFixed(2)} s${one.to > one.from ? ` for ${span(one.to - one.from)}` : ""}`));
    return [el("h3", {}, name), el("ol", { class: "times" }, items, left > 0 ? el("li", {}, `and ${number(left)} more`) : null)];
  });
  return el("details", {}, el("summary", {}, "Every time"), wide("Times of the faults", listed.flat()));
}
