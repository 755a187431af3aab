// What the person on call can do to a running soak: sweep now, restart the fleet now, or any other
// fault that this world can act out, its fields made from the schema that the API gives.

import { send } from "../api.js";
import { faults } from "../catalog.js";
import { el, field, select, show } from "../dom.js";
import { failure } from "../shell.js";
import { sign } from "../words.js";

const TIMES = ["fault", "every", "at", "jitter", "after"];

export function controls(run, names) {
  const told = el("div", { class: "told", role: "status" });
  const place = el("div", { class: "controls" });
  const section = el("section", { class: "card", "aria-labelledby": "controls", hidden: true },
    el("header", {}, el("h2", { id: "controls" }, "Disturb it now")), place);
  const whose = field("On", select("variant", [["", "every variant"], ...names.map((name) => [name, name])]));
  const inject = async (fault, button) => {
    button.disabled = true;
    try {
      const variant = whose.querySelector("select").value;
      const accepted = await send("POST", `/v1/runs/${encodeURIComponent(run.id)}/faults`, { fault, variants: variant ? [variant] : null });
      show(told, el("div", { class: "notice good" }, sign("good"), el("span", {}, `${accepted.fault} is under way on ${accepted.variants.join(", ")}`)));
    } catch (error) {
      show(told, failure(error));
    } finally {
      button.disabled = false;
    }
  };
  const button = (text, fault) => el("button", { type: "button", onclick: (event) => inject(fault, event.currentTarget) }, text);
  place.append(names.length > 1 ? whose : "", button("Force a sweep now", { fault: "sweep" }), button("Restart the fleet now", { fault: "rolling_restart" }), other(run, inject), told);
  return { section, draw: (canAct) => (section.hidden = !canAct) };
}

function other(run, inject) {
  const form = el("form");
  const details = el("details", {}, el("summary", {}, "Another fault"), form);
  details.addEventListener("toggle", () => details.open && !form.children.length && fillForm(run, form, inject));
  return details;
}

async function fillForm(run, form, inject) {
  try {
    const offers = (await faults()).filter((one) => one.worlds.includes(run.world));
    const choice = select("fault", offers.map((one) => [one.fault, one.fault]));
    const about = el("p", { class: "hint" });
    const fields = el("fieldset", {}, el("legend", { class: "quiet small" }, "Its fields"));
    const button = el("button", {}, "Inject it now");
    const draw = () => {
      const offer = offers.find((one) => one.fault === choice.value);
      about.textContent = offer.description;
      const made = own(offer).map(([name, schema]) => fieldOf(name, schema, offer.fields.required ?? []));
      fields.replaceChildren(...made);
      fields.hidden = !made.length;
    };
    choice.addEventListener("change", draw);
    form.append(field("Fault", choice), about, fields, button);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const offer = offers.find((one) => one.fault === choice.value);
      inject({ fault: choice.value, ...valuesOf(fields, offer) }, button);
    });
    draw();
  } catch (error) {
    show(form, failure(error));
  }
}

/** The fields of a fault but for its times: it comes now. */
const own = (offer) => Object.entries(offer.fields.properties).filter(([name]) => !TIMES.includes(name));

function fieldOf(name, schema, required) {
  const isNumber = schema.type === "integer" || schema.type === "number";
  const normal = schema.default === undefined || schema.default === null ? "" : String(schema.default);
  const control = schema.enum
    ? select(name, schema.enum.map((one) => [one, one]), normal)
    : el("input", { name, type: isNumber ? "number" : "text", step: schema.type === "number" ? "any" : null, min: schema.minimum, max: schema.maximum, required: required.includes(name), placeholder: normal || schema.examples?.[0], autocomplete: "off" });
  return field(name, control, schema.description ?? "");
}

function valuesOf(fields, offer) {
  const found = {};
  for (const control of fields.querySelectorAll("input, select")) {
    if (control.value === "") continue;
    const schema = offer.fields.properties[control.name];
    const isNumber = schema.type === "integer" || schema.type === "number";
    found[control.name] = isNumber ? Number(control.value) : schema.type === "array" || schema.anyOf ? listOf(control.value) : control.value;
  }
  return found;
}

const listOf = (text) => (text.includes(",") ? text.split(",").map((one) => one.trim()) : text);
