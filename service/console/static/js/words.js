// Figures, times and outcomes in words. An outcome is never told by colour alone: each has a sign
// and a word of its own.

import { el, svg } from "./dom.js";

const SIGNS = {
  good: "M3.5 8.5 6.5 11.5 12.5 4.5",
  bad: "M4 4 12 12M12 4 4 12",
  unsure: "M5.5 5.6a2.5 2.5 0 1 1 3.7 2.2C8.3 8.4 8 8.8 8 9.6M8 12.2v.2",
  error: "M8 3.5v5.5M8 12v.3",
  halted: "M4.5 4.5h7v7h-7z",
  going: "M5.5 3.5 12 8 5.5 12.5z",
  waiting: "M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12M8 4.8V8l2.2 1.4",
};

const KINDS = {
  passed: ["good", "Passed"],
  failed: ["bad", "Failed"],
  unknown: ["unsure", "Unknown"],
  error: ["error", "Error"],
  interrupted: ["halted", "Interrupted"],
  stopped: ["halted", "Stopped"],
  running: ["going", "Running"],
  queued: ["waiting", "Waiting"],
  VALID: ["good", "VALID"],
  UNKNOWN: ["unsure", "UNKNOWN"],
  INVALID: ["bad", "INVALID"],
};

export function sign(kind) {
  return svg(
    "svg",
    { viewBox: "0 0 16 16", class: "sign", "aria-hidden": "true" },
    svg("path", { d: SIGNS[kind] }),
  );
}

/** A badge: sign and word. `extra` is put behind the word. */
export function badge(name, extra = "") {
  const [kind, word] = KINDS[name] ?? ["unsure", name];
  return el("span", { class: `badge ${kind}` }, sign(kind), el("span", {}, word + extra));
}

export const kindOf = (name) => (KINDS[name] ?? ["unsure"])[0];
export const wordOf = (name) => (KINDS[name] ?? ["", name])[1];

/** What a run is at the moment: its outcome once it has one, else its state. */
export const standing = (run) => (run.state === "ended" ? (run.outcome ?? "unknown") : run.state);

export const spoken = (name) => name.replaceAll("_", " ");

const isTime = (name) => name.startsWith("job_wait_p") || name.startsWith("job_run_p");

export function number(value) {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  return value.toLocaleString("en-US", { maximumFractionDigits: 3 });
}

/** A counter's value: times carry their unit. */
export function figure(name, value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  if (!isTime(name)) return number(value);
  return value >= 1 || value === 0 ? `${Number(value.toPrecision(3))} s` : `${Number((value * 1000).toPrecision(3))} ms`;
}

/** 75 → "1:15"; 3725 → "1:02:05". */
export function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const two = (value) => String(value).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

/** 90 → "1 min 30 s", for sentences. */
export function span(seconds) {
  if (seconds < 1) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (seconds < 60) return `${Number(seconds.toFixed(seconds < 10 ? 1 : 0))} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return [`${minutes} min`, Math.round(seconds % 60) && `${Math.round(seconds % 60)} s`].filter(Boolean).join(" ");
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return [`${hours} h`, minutes % 60 && `${minutes % 60} min`].filter(Boolean).join(" ");
  return `${Math.round(hours / 24)} days`;
}

export const secondsBetween = (from, to) => (Date.parse(to) - Date.parse(from)) / 1000;

/** "12 s ago", with the full time behind it. */
export function ago(when, now = Date.now()) {
  const seconds = (now - Date.parse(when)) / 1000;
  const text = seconds < 45 && seconds > -5 ? "just now" : seconds < 0 ? `in ${rough(-seconds)}` : `${rough(seconds)} ago`;
  return el("time", { datetime: when, title: local(when) }, text);
}

function rough(seconds) {
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

export const local = (when) => new Date(when).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function many(count, one, more = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : more}`;
}

/** 0.728 → "72.8 %", never more exact than is known; as the reports say it. */
export function percent(rate) {
  const value = rate * 100;
  if (value >= 10) return `${Number(value.toFixed(1))} %`;
  return value >= 0.01 || value === 0 ? `${value.toFixed(2)} %` : `${value.toPrecision(1)} %`;
}
