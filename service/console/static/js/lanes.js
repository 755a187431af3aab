// Faults over time: one lane each, drawn with the DOM's own calls. The start form previews a
// schedule with it, the live view shows what really happened.

import { el, svg } from "./dom.js";
import { clock, many } from "./words.js";

const LANE = 36;
const TRACK = 12;
const AXIS = 22;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
const FEW = 60; // so many marks are drawn a little wider than they are, to be seen

/**
 * A drawing that follows the width of its place.
 *
 * read() gives {rows: [{name, marks: [{from, to}]}], until, drainFrom}, in seconds.
 * Call `draw` when it has changed.
 */
export function lanes(read) {
  const place = el("div", { class: "lanesplace" });
  let width = 0;
  const draw = () => width && place.replaceChildren(drawing(read(), width));
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now === width) return;
    width = now;
    draw();
  }).observe(place);
  return { place, draw };
}

function drawing({ rows, until, drainFrom }, width) {
  const height = rows.length * LANE + AXIS;
  const at = (seconds) => (Math.min(seconds, until) / Math.max(until, 0.001)) * (width - 1);
  const said = rows.map((row) => `${row.name} ${many(row.count ?? row.marks.length, "time")}`).join(", ");
  return svg(
    "svg",
    { class: "lanes", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Faults over ${clock(until)}: ${said || "none"}` },
    rows.map((row, index) => lane(row, index * LANE, width, at, drainFrom)),
    axis(until, rows.length * LANE, width, at),
  );
}

function lane(row, top, width, at, drainFrom) {
  const y = top + LANE - TRACK - 4;
  const drain = drainFrom === undefined ? null : svg("rect", { class: "paper drain", x: at(drainFrom), y, width: Math.max(0, width - at(drainFrom)), height: TRACK });
  return svg(
    "g",
    {},
    svg("text", { class: "name", x: 0, y: y - 5 }, row.name),
    svg("text", { x: width, y: y - 5, "text-anchor": "end" }, `${row.count ?? row.marks.length}×`),
    svg("rect", { class: "track", x: 0, y, width: drainFrom === undefined ? width : at(drainFrom), height: TRACK, rx: 2 }),
    drain,
    merged(row.marks, at).map(([from, to, open]) => svg("rect", { class: open ? "mark open" : "mark", x: from, y, width: to - from, height: TRACK, rx: 1 })),
  );
}

/** Marks in pixels; those that would touch are one, so that a lane has at most one a pixel. */
function merged(marks, at) {
  const found = [];
  const least = marks.length <= FEW ? 3 : 1;
  for (const mark of [...marks].sort((a, b) => a.from - b.from)) {
    const from = at(mark.from);
    const to = Math.max(from + least, at(mark.to));
    const last = found.at(-1);
    if (last && from <= last[1] + 0.5) {
      last[1] = Math.max(last[1], to);
      last[2] ||= mark.open;
    } else found.push([from, to, mark.open]);
  }
  return found;
}

function axis(until, top, width, at) {
  const step = STEPS.find((one) => until / one <= Math.max(2, width / 80)) ?? until;
  const parts = [svg("line", { class: "rule", x1: 0, x2: width, y1: top + 4, y2: top + 4 })];
  for (let seconds = 0; seconds <= until; seconds += step) {
    const x = at(seconds);
    const anchor = x < 12 ? "start" : x > width - 20 ? "end" : "middle";
    parts.push(svg("line", { class: "rule", x1: x, x2: x, y1: top + 4, y2: top + 8 }));
    parts.push(svg("text", { x, y: top + 20, "text-anchor": anchor }, clock(seconds)));
  }
  return parts;
}
