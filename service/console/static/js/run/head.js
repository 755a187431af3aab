// The top of a run's page: what it is, how it stands, where in its phases, how long yet.

import { el, say, show } from "../dom.js";
import { ago, badge, clock, standing } from "../words.js";

const PHASES = ["preparing", "safety", "heal", "liveness", "judging", "done"];
const MEANS = {
  preparing: "environments, servers and workers come up",
  safety: "load and faults",
  heal: "every fault is healed",
  liveness: "the queue drains",
  judging: "checkers read the history",
  done: "judged",
};
const LINKS = { on: "live", lost: "reconnecting…", off: "ended" };

/** buttons: what can be done with the run, as elements. */
export function head(run, fold, buttons) {
  const outcome = el("span", {});
  const steps = el("ol", { class: "steps", "aria-label": "Phases" });
  const elapsed = el("b", {}, "0:00");
  const left = el("span", {});
  const bar = el("progress", { class: "bar", max: 1, value: 0, "aria-label": "How much of this phase is over" });
  const link = el("span", { class: "link off" });
  const word = el("span", {}, " elapsed");
  const clocks = el("div", { class: "clocks" }, el("span", {}, elapsed, word), left, bar, link);
  const whole = el(
    "header",
    { class: "runhead" },
    el("div", { class: "line" }, outcome, el("h1", {}, run.plan), el("div", { class: "buttons" }, buttons)),
    about(run),
    steps,
    clocks,
  );
  const setLink = (name) => {
    link.className = `link ${name}`;
    say(link, LINKS[name]);
  };
  const draw = (now) => {
    const name = standing({ state: now.state, outcome: now.outcome });
    if (outcome.dataset.name !== name) show(outcome, badge(name)).dataset.name = name;
    drawSteps(steps, fold, now);
    link.hidden = now.state === "ended";
    say(word, now.state === "ended" ? " from start to end" : " elapsed");
    drawClocks({ elapsed, left, bar }, fold, now, run.world === "sim");
  };
  return { whole, draw, setLink };
}

function about(run) {
  const from = { api: `started by ${run.requested_by}`, schedule: `by the schedule ${run.schedule}`, standing: "the standing soak" }[run.trigger];
  const labels = Object.entries(run.labels).map(([key, value]) => el("span", { class: "tag" }, value ? `${key}=${value}` : key));
  return el(
    "div",
    { class: "about" },
    el("span", { class: "mono" }, run.id),
    el("span", {}, run.world === "sim" ? "simulated" : "live"),
    el("span", {}, `seed ${run.seed}`),
    el("span", {}, `gate ${run.gate}`),
    el("span", {}, from, " ", ago(run.created_at)),
    labels,
  );
}

/** The phase of the variant that is least far: the run is no further than that. */
export function phaseOf(fold) {
  const known = [...fold.variants.values()].map((one) => PHASES.indexOf(one.phase)).filter((one) => one >= 0);
  if (!known.length) return null;
  const going = known.filter((one) => PHASES[one] !== "done");
  return PHASES[going.length ? Math.min(...going) : PHASES.length - 1];
}

function drawSteps(steps, fold, now) {
  const names = ["queued", ...PHASES];
  const current = now.state === "ended" ? "done" : now.state === "queued" ? "queued" : (phaseOf(fold) ?? "preparing");
  if (steps.dataset.at === current) return;
  steps.dataset.at = current;
  const reached = names.indexOf(current);
  show(steps, names.map((name, index) => {
    const isHere = index === reached && now.state !== "ended";
    return el("li", { class: index < reached || now.state === "ended" ? "done" : "", "aria-current": isHere ? "step" : null, title: MEANS[name] ?? "waits for its turn" }, name);
  }));
}

function drawClocks(parts, fold, now, isSim) {
  const over = now.ended_at ? Date.parse(now.ended_at) : Date.now();
  const began = now.started_at ? Date.parse(now.started_at) : null;
  say(parts.elapsed, began === null ? "0:00" : clock((over - began) / 1000));
  const going = [...fold.variants.values()].filter((one) => one.left !== null && one.phase !== "done");
  const slowest = going.sort((a, b) => b.left - a.left)[0];
  const counts = now.state === "running" && slowest !== undefined && ["safety", "liveness"].includes(slowest.phase);
  parts.bar.hidden = parts.left.hidden = !counts;
  if (!counts) return;
  const since = began === null ? 0 : (Date.now() - began) / 1000 - slowest.leftAt;
  const left = Math.max(0, slowest.left - Math.min(3, Math.max(0, since)));
  const spent = Math.max(0, fold.now - (slowest.phaseAt ?? 0));
  show(parts.left, el("b", {}, clock(left)), isSim ? " of virtual time left at most" : " left at most");
  parts.bar.value = spent + left > 0 ? spent / (spent + left) : 0;
}
