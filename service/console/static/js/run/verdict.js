// After the end: what the gate said and why, findings with their evidence, how often each danger
// was met, the files of the run, the story, and the command that makes the run again.

import { get, request } from "../api.js";
import { el, show, wide } from "../dom.js";
import { failure } from "../shell.js";
import { badge, figure, kindOf, many, number, sign, span, spoken } from "../words.js";
import { rateSentence } from "./bounds.js";
import { eventsOf, excerpt } from "./evidence.js";
import { findingId } from "./promises.js";

const HEADLINES = {
  passed: "Passed: the gate holds",
  failed: "Failed: the gate does not hold",
  unknown: "Unknown: this run cannot say",
  error: "The world failed: no verdict on saq can be drawn",
  interrupted: "Interrupted: what was seen so far is judged",
  stopped: "Stopped: what was seen so far is judged",
};
const SIDES = { passed: "good", failed: "bad", unknown: "unsure", error: "bad" };
const ENDED = { aborted: "It ended early: a threshold failed.", limit: "It ended early: a limit of the plan was reached." };

/** {above, between, below}: the answer, then (behind the promises) findings, then (last) the rest. */
export async function verdict(run) {
  const found = await get(`/v1/runs/${encodeURIComponent(run.id)}/verdict`).catch((error) => error);
  const isThere = !(found instanceof Error);
  return {
    above: [answer(run, isThere ? found : null), isThere ? null : missing(run, found)],
    between: isThere ? [findings(run, found)] : [],
    below: isThere ? [exposures(found), thresholds(found), story(run), repeat(found)] : [],
  };
}

function missing(run, error) {
  return run.outcome === "error" && error.status === 404 ? null : failure(error);
}

function answer(run, found) {
  const reasons = run.gate_answer?.reasons ?? found?.gate.reasons ?? [];
  const gate = found ? `Gate ${found.gate.gate}${found.gate.baseline ? `, against ${found.gate.baseline}` : ""}` : `Gate ${run.gate}`;
  return el(
    "section",
    { class: `card answer ${SIDES[run.outcome] ?? ""}`, "aria-labelledby": "answer" },
    el("h2", { id: "answer" }, HEADLINES[run.outcome] ?? "Ended"),
    el("p", { class: "quiet" }, `${gate}. Exit code ${run.exit_code ?? "none"}.`),
    found && isNoWorse(run, found) ? el("p", {}, `Promises are broken, but not worse than on ${found.gate.baseline}: that is what this gate asks.`) : null,
    found && ENDED[found.ended] ? el("p", {}, ENDED[found.ended]) : null,
    run.error ? el("p", {}, run.error) : null,
    reasons.length ? el("ul", {}, reasons.map((one) => el("li", {}, one))) : null,
    found ? whyNot(found) : null,
    files(run, found),
  );
}

const isNoWorse = (run, found) => run.outcome === "passed" && found.gate.baseline && found.variants.some((one) => one.promises.some((promise) => promise.count));

/** Why variants are not VALID, where that is not a broken promise: what could not be seen. */
function whyNot(found) {
  const unsure = found.variants.filter((one) => one.outcome === "UNKNOWN" && one.reasons.length);
  if (!unsure.length) return null;
  return el("div", {}, unsure.map((one) => el("div", {}, el("h3", {}, `${one.variant} is UNKNOWN`), el("ul", {}, one.reasons.map((reason) => el("li", {}, reason))))));
}

function files(run, found) {
  const path = `/v1/runs/${encodeURIComponent(run.id)}`;
  const kinds = [["report", "Report", true], ["summary", "Summary", found], ["junit", "JUnit", found], ["verdict", "Verdict (JSON)", found], ["history", "History", found], ["plan", "Plan", true]];
  const link = ([name, text]) => el("a", { class: "button", href: `${path}/${name}`, target: name === "report" ? "_blank" : null, rel: "noopener", download: name === "history" ? `${run.id}-history.jsonl` : null }, text);
  return el("div", { class: "links" }, kinds.filter(([, , there]) => there).map(link));
}

// --- findings -----------------------------------------------------------------------------------

function findings(run, found) {
  const broken = found.variants.flatMap((variant) => variant.promises.filter((one) => one.count > 0).map((promise) => ({ variant, promise })));
  if (!broken.length) return null;
  return el("section", { class: "card", "aria-labelledby": "findings" },
    el("header", {}, el("h2", { id: "findings" }, "Findings"), el("span", { class: "quiet small" }, `${many(broken.length, "broken promise")}, all variants together`)),
    broken.map(({ variant, promise }) => finding(run, variant, promise)));
}

function finding(run, variant, promise) {
  const kinds = Object.entries(promise.kinds ?? {}).map(([kind, count]) => `${kind} ${number(count)}×`).join(", ");
  const first = promise.promise === "no-internal-errors" && variant.first_key_error_us !== null && variant.first_key_error_us !== undefined
    ? `The first KeyError came after ${span(variant.first_key_error_us / 1e6)}. ` : "";
  return el("article", { class: "found", id: findingId(variant.variant, promise.promise), tabindex: -1 },
    el("h3", {}, badge(promise.outcome), el("span", {}, promise.promise), el("span", { class: "quiet" }, `on ${variant.variant}`)),
    el("p", { class: "quiet small" }, first, rateSentence(promise), ". ", kinds),
    el("details", { open: promise.findings.length === 1 },
      el("summary", {}, promise.findings.length < promise.count ? `The first ${promise.findings.length} of ${number(promise.count)}` : many(promise.count, "finding")),
      el("ol", {}, promise.findings.map((one) => evidence(run, one)))));
}

function evidence(run, one) {
  const place = el("div");
  const button = el("button", { type: "button", class: "plain small" }, one.events.length === 1 ? "Show its event" : `Show its ${one.events.length} events`);
  button.addEventListener("click", async () => {
    button.disabled = true;
    show(place, el("p", { class: "quiet", role: "status" }, "Reading the history…"));
    try {
      show(place, excerpt(await eventsOf(run.id, one.events)));
      button.remove();
    } catch (error) {
      show(place, failure(error));
      button.disabled = false;
    }
  });
  const about = [one.kind, one.job ? `job ${one.job}` : ""].filter(Boolean).join(" · ");
  return el("li", {}, one.message, el("div", { class: "events" }, about, one.events.length ? button : null), place);
}

// --- exposures, thresholds ----------------------------------------------------------------------

function exposures(found) {
  const row = (promise) => [
    el("dt", {}, el("span", { class: kindOf(promise.outcome) }, sign(kindOf(promise.outcome)), el("span", { class: "aloud" }, promise.outcome)), " ", promise.promise),
    el("dd", {}, promise.reason ? `${promise.reason} (${rateSentence(promise)})` : rateSentence(promise)),
  ];
  const lists = found.variants.map((variant) => [el("h3", {}, variant.variant), el("dl", { class: "rates" }, variant.promises.map(row))]);
  const required = found.variants.flatMap((variant) => variant.exposures.filter((one) => one.required).map((one) => {
    const met = one.count >= one.required;
    return el("li", { class: met ? "" : "unsure" }, `${variant.variant}: ${number(one.count)} ${spoken(one.exposure)} of at least ${number(one.required)}${met ? "" : ", too few to say anything"}`);
  }));
  return el("section", { class: "card", "aria-labelledby": "exposures" },
    el("header", {}, el("h2", { id: "exposures" }, "How often the danger was met")),
    required.length ? el("ul", {}, required) : null,
    lists);
}

function thresholds(found) {
  const rows = found.variants.flatMap((variant) => variant.thresholds.map((one) =>
    el("tr", {}, el("td", {}, variant.variant), el("td", {}, el("code", {}, one.threshold)), el("td", {}, badge(one.outcome)),
      el("td", { class: "figure" }, figure(one.threshold.split(" ")[0], one.value)))));
  if (!rows.length) return null;
  return el("section", { class: "card", "aria-labelledby": "thresholds" },
    el("header", {}, el("h2", { id: "thresholds" }, "Thresholds")),
    wide("Thresholds", el("table", {}, headings("Variant", "Threshold", "Outcome", "Measured"), el("tbody", {}, rows))));
}

const headings = (...names) => el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" }, name))));

// --- story, repeat ------------------------------------------------------------------------------

function story(run) {
  if (!run.verdict?.some((variant) => variant.promises.some((one) => one.count))) return null;
  const path = `/v1/runs/${encodeURIComponent(run.id)}/story`;
  const place = el("div");
  const section = el("section", { class: "card", "aria-labelledby": "story" },
    el("header", {}, el("h2", { id: "story" }, "How the first finding came about"), el("a", { href: path, target: "_blank", rel: "noopener" }, "Open it alone")), place);
  const load = async () => {
    try {
      const response = await request("GET", path);
      await response.body?.cancel();
      show(place, el("iframe", { src: path, sandbox: "", title: "The story of the first finding" }));
    } catch (error) {
      if (error.status === 404) section.remove();
      else show(place, failure(error));
    }
  };
  load();
  return section;
}

function repeat(found) {
  if (!found.repeat) return null;
  const text = el("pre", { tabindex: 0, "aria-label": "The command" }, found.repeat);
  const said = el("span", { role: "status", class: "quiet small" });
  const button = el("button", { type: "button", onclick: async () => (said.textContent = (await copied(found.repeat, text)) ? "Copied" : "Select it and copy it by hand") }, "Copy");
  return el("section", { class: "card", "aria-labelledby": "repeat" },
    el("header", {}, el("h2", { id: "repeat" }, "Make this run again"), said), el("div", { class: "repeat" }, text, button));
}

/** Through the clipboard, which only secure pages have; else by the selection. */
async function copied(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return document.execCommand("copy");
  }
}
