// The timeline: small charts with one cursor, a colour and a dash per variant, fault windows as
// regions behind the lines, and a lane for each kind of fault below. uPlot draws the lines.

import uPlot from "../../vendor/uplot/uPlot.esm.js";
import { el, say, svg } from "../dom.js";
import { lanes } from "../lanes.js";
import { clock, figure, number } from "../words.js";
import { perSecond } from "./fold.js";

const HEIGHT = 130;
const SHORT = ["sweep", "abort", "script_flush"]; // acts, not states: they would shade everything
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3], [], [6, 3], [2, 3], [8, 3, 2, 3]];
const COLOURS = 8;

const CHARTS = [
  { title: "Attempts per second", of: "attempts", rate: true },
  { title: "Jobs finished per second", of: "jobs_finished", rate: true },
  { title: "Slot collisions per second", of: "slot_collisions", rate: true },
  { title: "KeyErrors of saq, in all", of: "key_errors" },
  { title: "Orphaned contexts now", of: "orphaned_contexts_now" },
  { title: "Job wait, 99th percentile", of: "job_wait_p99" },
];

export function charts(fold, names) {
  const shown = new Set(names);
  const plots = CHARTS.map((spec) => chart(spec, fold, names, shown));
  const board = lanes(() => laneData(fold, shown));
  const waiting = el("p", { class: "quiet" }, "Figures come once a second when the load begins.");
  const grid = el("div", { class: "charts", hidden: true }, plots.map((one) => one.figure));
  const below = el("div", { class: "faultlanes", hidden: true }, el("h3", {}, "Faults"), board.place);
  const draw = () => {
    const some = fold.times.length > 1;
    waiting.hidden = some;
    grid.hidden = !some;
    below.hidden = !fold.windows.length;
    if (some) for (const one of plots) one.draw();
    if (fold.windows.length) board.draw();
    leftOut.hidden = !fold.windowsLeftOut;
    say(leftOut, `${number(fold.windowsLeftOut)} later faults are not drawn; the report and the history have them.`);
  };
  document.addEventListener("theme", () => plots.forEach((one) => one.again()));
  const keys = el("div", { class: "keys", role: "group", "aria-label": "Variants shown" });
  names.forEach((name, index) => keys.append(key(name, index, shown, draw)));
  const leftOut = el("p", { class: "quiet small", hidden: true });
  const about = el("p", { class: "quiet small" }, "Shaded: faults that last, such as a restart or a server that is away. The lanes show every one, sweeps and aborts too.");
  const section = el("section", { class: "card", "aria-labelledby": "timeline" },
    el("header", {}, el("h2", { id: "timeline" }, "Timeline"), keys), waiting, grid, below, about, leftOut);
  return { section, draw };
}

function key(name, index, shown, draw) {
  const line = svg("svg", { viewBox: "0 0 22 8", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 22, y1: 4, y2: 4, stroke: `var(--v${index % COLOURS})`, "stroke-width": 2.5, "stroke-dasharray": DASHES[index % DASHES.length].join(" ") || null }));
  const button = el("button", { type: "button", "aria-pressed": "true" }, line, name);
  button.addEventListener("click", () => {
    const on = !shown.has(name);
    if (on) shown.add(name);
    else shown.delete(name);
    button.setAttribute("aria-pressed", String(on));
    draw();
  });
  return button;
}

// --- one chart ----------------------------------------------------------------------------------

function chart(spec, fold, names, shown) {
  const value = el("span", { class: "quiet" });
  const place = el("div", { class: "plot", role: "img" });
  const whole = el("figure", { class: "chart" }, el("figcaption", {}, el("b", {}, spec.title), value), place);
  let plot = null;
  const make = (data) => {
    plot?.destroy();
    plot = new uPlot(options(spec, fold, names, shown, place.clientWidth || 300, value), data, place);
  };
  const draw = () => {
    const data = dataOf(spec, fold, names);
    if (!plot) make(data);
    names.forEach((name, index) => {
      if (plot.series[index + 1].show !== shown.has(name)) plot.setSeries(index + 1, { show: shown.has(name) });
    });
    plot.setData(data);
    place.setAttribute("aria-label", `${spec.title}. Latest: ${latest(spec, data, names, shown) || "nothing yet"}`);
  };
  new ResizeObserver(() => plot && place.clientWidth && plot.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
  return { figure: whole, draw, again: () => plot && (make(dataOf(spec, fold, names)), draw()) };
}

function dataOf(spec, fold, names) {
  const lines = names.map((name) => {
    const values = fold.series.get(name)?.[spec.of] ?? [];
    return spec.rate ? perSecond(fold.times, values) : values;
  });
  return [fold.times, ...lines];
}

function latest(spec, data, names, shown) {
  const said = (line) => figure(spec.of, round(line.findLast((one) => one !== null && one !== undefined)));
  return names.map((name, index) => (shown.has(name) ? `${name} ${said(data[index + 1])}` : null)).filter(Boolean).join(", ");
}

const round = (value) => (value === undefined ? null : Number(value.toPrecision(4)));

function options(spec, fold, names, shown, width, value) {
  const ink = resolved("--quiet");
  const line = resolved("--line");
  const red = resolved("--bad");
  const axis = { stroke: ink, font: "11px system-ui, sans-serif", grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const isTime = spec.of === "job_wait_p99";
  const short = (_, ticks) => ticks.map((one) => (isTime ? `${number(one)} s` : number(one)));
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    scales: { x: { time: false, range: () => [0, Math.max(fold.now, 5)] }, y: { range: (_, __, top) => [0, Math.max(top * 1.08, spec.rate || isTime ? 0.1 : 4)] } },
    cursor: { sync: { key: "run" }, drag: { x: false, y: false }, points: { size: 5 }, y: false },
    axes: [
      { ...axis, size: 24, gap: 4, space: 60, values: (_, ticks) => ticks.map(clock), incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600] },
      { ...axis, size: 44, gap: 4, space: 28, values: short, incrs: isTime || spec.rate ? undefined : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000, 100000, 1000000] },
    ],
    series: [{}, ...names.map((name, index) => ({ label: name, stroke: resolved(`--v${index % COLOURS}`), width: 1.6, dash: DASHES[index % DASHES.length], points: { show: false }, show: shown.has(name) }))],
    hooks: { drawClear: [(plot) => shade(plot, fold, shown, red)], setCursor: [(plot) => tell(plot, spec, value)] },
  };
}

/** A custom property as a colour that a canvas knows: `light-dark()` is settled by the browser. */
function resolved(name) {
  const probe = el("i", { hidden: true });
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function shade(plot, fold, shown, colour) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.globalAlpha = 0.13;
  ctx.fillStyle = colour;
  for (const [from, to] of unions(fold, shown)) {
    const left = Math.max(bbox.left, plot.valToPos(from, "x", true));
    const right = Math.min(bbox.left + bbox.width, plot.valToPos(to, "x", true));
    if (right > left) ctx.fillRect(left, bbox.top, Math.max(2, right - left), bbox.height);
  }
  ctx.restore();
}

/** Windows of the shown variants as stretches that do not overlap: no shade is laid twice. */
function unions(fold, shown) {
  const found = [];
  const long = fold.windows.filter((one) => shown.has(one.variant) && !SHORT.includes(one.fault));
  for (const one of long.sort((a, b) => a.from - b.from)) {
    const to = one.to ?? fold.now;
    const last = found.at(-1);
    if (last && one.from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([one.from, to]);
  }
  return found;
}

/** Under the cursor: the time, and the line that is nearest to the pointer. */
function tell(plot, spec, value) {
  const { idx, top } = plot.cursor;
  if (idx === null || idx === undefined || !(top >= 0)) return void (value.textContent = "");
  let best = null;
  plot.series.forEach((series, index) => {
    const found = index && series.show ? plot.data[index][idx] : null;
    if (found === null || found === undefined) return;
    const away = Math.abs(plot.valToPos(found, "y") - top);
    if (!best || away < best.away) best = { away, label: series.label, found };
  });
  value.textContent = best ? `${clock(plot.data[0][idx])} · ${best.label} ${figure(spec.of, round(best.found))}` : clock(plot.data[0][idx]);
}

// --- lanes --------------------------------------------------------------------------------------

function laneData(fold, shown) {
  const rows = new Map();
  for (const one of fold.windows) {
    if (!shown.has(one.variant)) continue;
    if (!rows.has(one.fault)) rows.set(one.fault, { name: one.fault, marks: [] });
    rows.get(one.fault).marks.push({ from: one.from, to: one.to ?? fold.now, open: one.to === null });
  }
  return { rows: [...rows.values()], until: Math.max(fold.now, 1) };
}
