// The events that prove a finding: lines of the run's history, read as a stream and only as far as
// the last one that is needed, since a history may have millions of lines.

import { request } from "../api.js";
import { el } from "../dom.js";

const BYTES_MAX = 256 * 1024 * 1024;
const SHOWN_MAX = 40;
const APART = ["n", "t_us", "host", "event", "traceback"];

/** The events of these numbers, in order; those that could not be reached are left out. */
export async function eventsOf(run, numbers) {
  const wanted = new Set(numbers.slice(0, SHOWN_MAX));
  const last = Math.max(...wanted);
  const stop = new AbortController();
  const response = await request("GET", `/v1/runs/${encodeURIComponent(run)}/history`, { signal: stop.signal });
  const found = [];
  for await (const line of linesOf(response.body)) {
    const number = Number(/"n":(\d+)/.exec(line.slice(0, 200))?.[1] ?? 0);
    if (wanted.has(number)) found.push(JSON.parse(line));
    if (number >= last) break;
  }
  stop.abort();
  return found;
}

async function* linesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let read = 0; read < BYTES_MAX; ) {
    const { done, value } = await reader.read();
    if (done) break;
    read += value.length;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    yield* lines;
  }
  if (rest) yield rest;
}

/** One event a line: when, where, what, and its fields. */
export function excerpt(events) {
  const lines = events.map((one) => {
    const fields = Object.entries(one).filter(([name]) => !APART.includes(name)).map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`);
    return `#${one.n}  ${((one.t_us ?? 0) / 1e6).toFixed(3)} s  ${one.host ?? ""}  ${one.event}  ${fields.join(" ")}`;
  });
  return el("pre", { class: "excerpt", tabindex: 0, "aria-label": "Events of this finding" }, lines.join("\n"));
}
