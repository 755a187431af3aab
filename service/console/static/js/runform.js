// The fields of one run, for the start form and for schedules: they make a RunRequest. What a field
// leaves empty is the plan's own, and the form says what that is.

import { plan, plans, targets, variants } from "./catalog.js";
import { el, field, freshId, select, show } from "./dom.js";
import { span } from "./words.js";

const DURATION = /^\d{1,9}(\.\d{1,6})?(us|ms|s|m|h)$/;

/** wanted: {plan, variants, world, seed} to begin with. Gives {fields, request, changed}. */
export async function runForm(wanted = {}) {
  const [offers, builds, names] = await Promise.all([plans(), variants(), targets()]);
  const parts = controlsOf(offers, names, wanted);
  const about = el("p", { class: "about" });
  const boxes = el("div", { class: "scroll" }, builds.map((one) => variantBox(one, wanted.variants ?? [])));
  const normal = el("small", { class: "hint", id: freshId() });
  const inline = el("div", { hidden: true }, field("Plan as JSON", parts.json, "A whole plan, in the words of docs/plans.md. It begins as the plan chosen above."));
  const baseline = field("Baseline", parts.baseline, "The variant that the others are compared with.");
  const chosen = () => offers.find((one) => one.name === parts.plan.value);
  const draw = () => {
    const offer = chosen();
    const isInline = parts.own.checked;
    show(about, offer && !isInline ? describe(offer) : "");
    inline.hidden = !isInline;
    normal.textContent = offer && !isInline ? `None ticked: the plan's own, ${offer.variants.join(", ")}.` : "None ticked: the plan's own.";
    parts.gate.options[0].textContent = offer && !isInline ? `plan's: ${offer.gate}` : "the plan's own";
    parts.duration.placeholder = offer && !isInline ? `plan's: ${span(offer.duration_s)}` : "the plan's own";
    baseline.hidden = parts.gate.value !== "baseline" && !(parts.gate.value === "" && offer?.gate === "baseline");
  };
  parts.own.addEventListener("change", () => fillJson(parts, draw));
  parts.plan.addEventListener("change", draw);
  parts.gate.addEventListener("change", draw);
  draw();
  const fields = [
    field("Plan", parts.plan), about,
    el("label", { class: "choice" }, parts.own, el("span", {}, "Change the plan itself, as JSON")), inline,
    el("fieldset", { "aria-describedby": normal.id }, el("legend", {}, "Variants"), boxes, normal),
    worldChoice(parts.worlds),
    el("div", { class: "pair" }, field("Gate", parts.gate), baseline),
    el("div", { class: "pair" }, field("Duration", parts.duration, "Such as 90s or 5m."), field("Seed", parts.seed, "Empty: the plan's own.")),
    ...targetFields(parts, names),
    field("Labels", parts.labels, "One a line, such as pr=412."),
  ];
  return { fields, request: () => requestOf(parts, boxes), chosen };
}

function controlsOf(offers, names, wanted) {
  const known = offers.some((one) => one.name === wanted.plan);
  const world = (value, text) => ({ text, input: el("input", { type: "radio", name: "world", value, checked: (wanted.world ?? "live") === value }) });
  const anyVariant = [["", "the plan's own"]];
  return {
    plan: select("plan", offers.map((one) => [one.name, one.name]), known ? wanted.plan : shortest(offers)?.name),
    own: el("input", { type: "checkbox", name: "own" }),
    json: el("textarea", { name: "json", rows: 14, spellcheck: "false", autocomplete: "off" }),
    worlds: [world("live", "live: real workers, a real Redis"), world("sim", "sim: virtual time, repeatable")],
    gate: select("gate", [["", "the plan's own"], ["strict", "strict: every promise holds"], ["baseline", "baseline: none is worse"]]),
    baseline: el("input", { name: "baseline", autocomplete: "off", placeholder: anyVariant[0][1], spellcheck: "false" }),
    duration: el("input", { name: "duration", autocomplete: "off", spellcheck: "false" }),
    seed: el("input", { name: "seed", inputmode: "numeric", autocomplete: "off", value: wanted.seed ?? "" }),
    labels: el("textarea", { name: "labels", rows: 2, spellcheck: "false" }),
    app: select("app", [["", "none"], ...names.apps.map((one) => [one, one])]),
    redis: select("redis", [["", "its own"], ...names.redis.map((one) => [one, one])]),
    webhooks: names.webhooks.map((value) => el("input", { type: "checkbox", name: "webhook", value })),
  };
}

/** Fields for what the server's settings list; there are none of what they do not list. */
function targetFields(parts, names) {
  const app = names.apps.length ? field("App", parts.app, "For a plan that calls an app's functions.") : "";
  const redis = names.redis.length ? field("Redis", parts.redis, "Jobs are written there.") : "";
  const ticks = parts.webhooks.map((input) => el("label", { class: "choice" }, input, el("span", {}, input.value)));
  return [
    app || redis ? el("div", { class: "pair" }, app, redis) : "",
    ticks.length ? el("fieldset", {}, el("legend", {}, "Webhooks told when it ends"), el("div", { class: "segments" }, ticks)) : "",
  ];
}

/** What a form begins with: the plan that is over first, so that a hasty click costs least; those
 * below ten seconds are for the simulator's many seeds. */
const shortest = (offers) => [...offers].sort((a, b) => (a.duration_s < 10) - (b.duration_s < 10) || a.duration_s - b.duration_s)[0];

const describe = (offer) =>
  `${offer.description}. ${span(offer.duration_s)} of load, up to ${span(offer.drain_s)} to drain; faults: ${offer.faults.join(", ") || "none"}; ${offer.promises.length} promises.`;

function variantBox(one, ticked) {
  const box = el("input", { type: "checkbox", name: "variant", value: one.variant, checked: ticked.includes(one.variant), disabled: Boolean(one.problem) });
  return el("label", { class: "choice", title: one.problem ?? one.description }, box, el("span", {}, one.variant, one.problem ? el("small", { class: "unsure" }, ` ${one.problem}`) : ""));
}

function worldChoice(worlds) {
  const choices = worlds.map(({ input, text }) => el("label", { class: "choice" }, input, el("span", {}, text)));
  return el("fieldset", {}, el("legend", {}, "World"), el("div", { class: "segments" }, choices));
}

async function fillJson(parts, draw) {
  draw();
  if (!parts.own.checked || parts.json.value.trim()) return;
  const detail = await plan(parts.plan.value).catch(() => null);
  if (detail && !parts.json.value.trim()) parts.json.value = JSON.stringify(detail.plan, null, 2);
}

/** The request, or {problems: [[control, text]]} where a field cannot be read. */
function requestOf(parts, boxes) {
  const problems = [];
  const ticked = [...boxes.querySelectorAll("input:checked")].map((one) => one.value);
  const seed = parts.seed.value.trim();
  if (seed && !/^\d{1,19}$/.test(seed)) problems.push([parts.seed, `The seed ${seed} is no whole number from 0 on.`]);
  else if (seed && !Number.isSafeInteger(Number(seed))) problems.push([parts.seed, `The seed ${seed} is above ${Number.MAX_SAFE_INTEGER}, which this page cannot send exactly.`]);
  const duration = parts.duration.value.trim();
  if (duration && !DURATION.test(duration)) problems.push([parts.duration, `The duration ${duration} is no number with us, ms, s, m or h behind it, such as 90s.`]);
  const labels = {};
  for (const line of parts.labels.value.split("\n").map((one) => one.trim()).filter(Boolean)) {
    const [name, ...rest] = line.split("=");
    labels[name.trim()] = rest.join("=").trim();
  }
  let plan = parts.plan.value;
  if (parts.own.checked) {
    try {
      plan = JSON.parse(parts.json.value);
    } catch (error) {
      problems.push([parts.json, `The plan is no JSON: ${error.message}`]);
    }
  } else if (!plan) problems.push([parts.plan, "This server offers no plan."]);
  if (problems.length) return { problems };
  const world = parts.worlds.find((one) => one.input.checked).input.value;
  const gate = parts.gate.value || null;
  const baseline = parts.baseline.closest(".field").hidden ? null : parts.baseline.value.trim() || null;
  const told = parts.webhooks.filter((one) => one.checked).map((one) => one.value);
  const where = { app: parts.app.value || null, redis: parts.redis.value || null, webhooks: told };
  return { body: { plan, variants: ticked.length ? ticked : null, gate, baseline, world, seed: seed ? Number(seed) : null, duration: duration || null, labels, ...where } };
}

/** Shows which fields cannot be read, and takes the focus to the first. */
export function markProblems(form, place, problems) {
  for (const one of form.querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
  if (!problems) return show(place);
  for (const [control] of problems) control.setAttribute("aria-invalid", "true");
  problems[0]?.[0].focus();
  return show(place, el("div", { class: "notice bad", role: "alert" }, el("div", {}, el("strong", {}, "The form is not complete"), el("ul", {}, problems.map(([, text]) => el("li", {}, text))))));
}
