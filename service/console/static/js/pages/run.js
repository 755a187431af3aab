// One run. Its parts read one fold of its events; this module fetches, folds and draws, decides
// which parts are there (live or ended), and says aloud what a listener must know and no more.

import { get, mayChange, send } from "../api.js";
import { checkers, plan, plans } from "../catalog.js";
import { byId, el, show } from "../dom.js";
import { charts } from "../run/charts.js";
import { controls } from "../run/controls.js";
import { counters } from "../run/counters.js";
import { follow } from "../run/feed.js";
import { Fold } from "../run/fold.js";
import { head, phaseOf } from "../run/head.js";
import { log } from "../run/log.js";
import { promises } from "../run/promises.js";
import { verdict } from "../run/verdict.js";
import { failure, open } from "../shell.js";
import { standing, wordOf } from "../words.js";

const id = decodeURIComponent(location.pathname.split("/")[2] ?? "");
const path = `/v1/runs/${encodeURIComponent(id)}`;
const REPLAYED_MS = 400; // a pause as long as this ends the replay of what was before
const aloud = el("p", { role: "status", class: "aloud" });

open(async (who) => {
  let run;
  try {
    run = await get(path);
  } catch (error) {
    if (error.status !== 404) throw error;
    show(byId("head"), el("h1", {}, "There is no such run"));
    show(byId("body"), failure(error), el("p", {}, el("a", { class: "button", href: "/" }, "All runs")));
    return;
  }
  new Page(run, who, await claims(), await promiseOrder(run), await isOffered(run)).begin();
});

const claims = async () => new Map((await checkers().catch(() => [])).map((one) => [one.promise, one.claim]));

/** The plan's promises in its order; an inline plan's are not known before the judge. */
async function promiseOrder(run) {
  if (run.verdict?.length) return run.verdict[0].promises.map((one) => one.promise);
  return plan(run.plan).then((one) => one.summary.promises, () => []);
}

/** Whether the start form can make such a run: an inline plan is in nobody's list. */
const isOffered = (run) => plans().then((all) => all.some((one) => one.name === run.plan), () => false);

class Page {
  constructor(run, who, known, order, isOffered) {
    Object.assign(this, { run, who, order, isOffered });
    this.fold = new Fold(run);
    this.failed = el("div");
    this.stop = el("button", { type: "button", class: "danger", onclick: () => this.askStop() }, "Stop the run");
    this.again = el("a", { class: "button", href: againAddress(run) }, "Run it again");
    this.remove = el("button", { type: "button", class: "plain", onclick: () => this.askDelete() }, "Delete");
    this.parts = {
      head: head(run, this.fold, [this.stop, this.again, this.remove]),
      promises: promises(this.fold, run.variants, known),
      charts: charts(this.fold, run.variants),
      counters: counters(run.variants),
      controls: controls(run, run.variants),
      log: log(this.fold),
    };
    this.above = el("div", { class: "stack" });
    this.between = el("div", { class: "stack" });
    this.below = el("div", { class: "stack" });
  }

  begin() {
    const { parts } = this;
    show(byId("head"), parts.head.whole, aloud, this.failed);
    show(byId("body"), el("div", { class: "columns" },
      el("div", {}, this.above, parts.promises.section, this.between, parts.charts.section, parts.counters.section, this.below),
      el("div", {}, parts.controls.section, parts.log.section)));
    this.draw();
    if (this.run.state === "ended") this.showVerdict();
    follow(id, {
      onEvents: (events) => this.take(events),
      onLink: (link) => parts.head.setLink(this.run.state === "ended" ? "off" : link),
      onGone: (error) => show(this.failed, failure(error)),
    });
    this.timer = setInterval(() => document.hidden || parts.head.draw(this.run), 1_000);
  }

  take(events) {
    const broken = [];
    let refresh = false;
    for (const event of events) {
      if (this.fold.take(event) === "finding:new") broken.push(`${event.promise} is broken on ${event.variant}`);
      refresh ||= event.type === "state" || event.type === "ended";
    }
    if (refresh) this.refresh();
    if (this.isCaughtUp && broken.length) aloud.textContent = broken.join(". ");
    clearTimeout(this.replayed);
    this.replayed = setTimeout(() => (this.isCaughtUp = true), REPLAYED_MS);
    this.draw();
  }

  async refresh() {
    const before = this.run.state;
    try {
      this.run = await get(path);
    } catch (error) {
      if (error.status !== 401) show(this.failed, failure(error));
      return;
    }
    if (before !== this.run.state) aloud.textContent = `The run is ${wordOf(standing(this.run)).toLowerCase()}`;
    this.draw();
    if (before !== "ended" && this.run.state === "ended") this.showVerdict();
  }

  draw() {
    const { run, fold, parts, who } = this;
    const isOver = run.state === "ended";
    const judged = isOver && run.verdict ? run.verdict : null;
    document.title = `${wordOf(standing(run))}: ${run.plan} · saq-chaos`;
    parts.head.draw(run);
    if (isOver) parts.head.setLink("off");
    this.stop.hidden = isOver || !mayChange(who);
    this.again.hidden = !isOver || !this.isOffered || !mayChange(who);
    this.remove.hidden = !isOver || who.role !== "admin";
    parts.promises.draw(this.order, judged, isOver);
    parts.charts.section.hidden = parts.log.section.hidden = isOver && !fold.log.length;
    parts.counters.section.hidden = isOver && !judged && !fold.times.length;
    parts.charts.draw();
    const last = new Map((judged ?? []).map((one) => [one.variant, one.counters]));
    parts.counters.draw((name) => last.get(name) ?? fold.variants.get(name)?.counters ?? {});
    parts.controls.draw(run.state === "running" && run.world === "live" && mayChange(who) && phaseOf(fold) === "safety");
    parts.log.draw();
  }

  async showVerdict() {
    const { above, between, below } = await verdict(this.run);
    show(this.above, above);
    show(this.between, between);
    show(this.below, below);
  }

  async askStop() {
    if (!(await sure("Stop this run?", "Its faults heal, and what it has recorded is judged and kept.", "Stop it"))) return;
    this.stop.disabled = true;
    try {
      await send("POST", `${path}/stop`);
      aloud.textContent = "The run is being stopped";
      this.stop.textContent = "Stopping…";
    } catch (error) {
      show(this.failed, failure(error));
      this.stop.disabled = false;
    }
  }

  async askDelete() {
    if (!(await sure("Delete this run?", "Its history, report and verdict are removed for good.", "Delete it"))) return;
    try {
      await send("DELETE", path);
      location.assign("/");
    } catch (error) {
      show(this.failed, failure(error));
    }
  }
}

function againAddress(run) {
  const query = new URLSearchParams({ plan: run.plan, world: run.world, seed: String(run.seed) });
  for (const variant of run.variants) query.append("variant", variant);
  return `/start?${query}`;
}

/** Asks once more; the answer is true or false. */
function sure(title, text, yes) {
  const dialog = el("dialog", { "aria-labelledby": "sure" },
    el("form", { method: "dialog" }, el("h2", { id: "sure" }, title), el("p", {}, text),
      el("div", { class: "buttons" }, el("button", { class: "danger", value: "yes" }, yes), el("button", { value: "no" }, "Cancel"))));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    dialog.remove();
    resolve(dialog.returnValue === "yes");
  }));
}
