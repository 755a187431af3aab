// Makes elements. Text always goes in as a text node, so whatever a run says stays text: nothing in
// the console parses a string as HTML, and a test greps for the words that would.

const SVG = "http://www.w3.org/2000/svg";

/** el("p", {class: "quiet", onclick: f}, "text", otherElement, null) */
export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG, whose elements know attributes only. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Replaces what an element holds. */
export function show(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
  element.removeAttribute("aria-busy");
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Sets text only where it differs, so that a table that ticks each second redraws little. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let made = 0;

/** A fresh id, to tie a label to its control. */
export const freshId = () => `f${++made}`;

/** A labelled control: the label, the control, and a hint that is read with it. */
export function field(label, control, hint = "") {
  control.id ||= freshId();
  const about = hint ? el("small", { id: freshId(), class: "hint" }, hint) : null;
  if (about) control.setAttribute("aria-describedby", about.id);
  return el("div", { class: "field" }, el("label", { for: control.id }, label), control, about);
}

/** A select from [value, text] pairs. */
export function select(name, options, chosen = "") {
  const made = options.map(([value, text]) => el("option", { value, selected: value === chosen }, text));
  return el("select", { name, id: freshId() }, made);
}

/** A variant's name, which may break behind its @ and nowhere else. */
export const breakable = (name) => name.split(/(?<=@)/).flatMap((part, index) => (index ? [el("wbr"), part] : [part]));

/** A region that scrolls sideways by itself, and that the keyboard can reach. */
export function wide(label, ...children) {
  return el("div", { class: "wide", role: "region", "aria-label": label, tabindex: 0 }, children);
}
