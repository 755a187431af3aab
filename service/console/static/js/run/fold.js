// What the events of a run add up to: figures over time, fault windows, broken promises, a log.
// Pure: events in, state out; the parts of the page read it. Everything has a bound.

export const CHARTED = ["attempts", "slot_collisions", "key_errors", "orphaned_contexts_now", "jobs_finished", "job_wait_p99"];
const POINTS_MAX = 3_000;
const LOG_MAX = 400;
const WINDOWS_MAX = 20_000;

export class Fold {
  constructor(run) {
    this.variants = new Map(run.variants.map((name) => [name, { phase: null, left: null, counters: {}, active: [] }]));
    this.base = run.started_at ? Date.parse(run.started_at) : null;
    this.now = 0; // seconds since the run began, of the latest event
    this.times = []; // seconds, one for each kept tick
    this.series = new Map(run.variants.map((name) => [name, Object.fromEntries(CHARTED.map((one) => [one, []]))]));
    this.windows = []; // {variant, fault, number, from, to, by, error}; to is null while it lasts
    this.windowsLeftOut = 0;
    this.open = new Map();
    this.findings = new Map(); // variant → Map(promise → {count, text})
    this.log = []; // {at, kind, text}, the newest last
    this.state = run.state;
    this.outcome = run.outcome;
    this.phaseBegan = null;
    this.ended = null;
  }

  /** Takes one event; gives back what changed: its type, or "finding:new" for a fresh break. */
  take(event) {
    const at = this.seconds(event.at);
    this.now = Math.max(this.now, at);
    return this[`on_${event.type}`]?.(event, at) ?? event.type;
  }

  seconds(at) {
    const when = Date.parse(at);
    this.base ??= when;
    return Math.max(0, (when - this.base) / 1000);
  }

  on_state(event, at) {
    if (event.state === "running" && this.state === "queued") this.base = Date.parse(event.at);
    this.state = event.state ?? this.state;
    this.outcome = event.outcome ?? this.outcome;
    const by = event.by ? ` by ${event.by}` : "";
    this.write(this.seconds(event.at), "state", event.text ? `${event.text}${by}` : `${event.state}${by}`);
    return null;
  }

  on_phase(event, at) {
    const one = this.variant(event.variant);
    one.phase = event.phase;
    one.left = null;
    one.phaseAt = at;
    this.write(at, "phase", `${event.variant}: ${event.phase}`);
  }

  on_tick(event, at) {
    const { times } = this;
    times.push(at);
    for (const tick of event.variants ?? []) {
      const one = this.variant(tick.variant);
      if (one.phase !== tick.phase) one.phaseAt = at;
      Object.assign(one, { phase: tick.phase, left: tick.left_s, leftAt: at, counters: tick.counters, active: tick.faults_active });
    }
    for (const [name, series] of this.series) {
      const { counters, phase } = this.variant(name);
      const began = phase !== null && Object.keys(counters).length > 0;
      for (const one of CHARTED) series[one][times.length - 1] = began ? (counters[one] ?? (one === "job_wait_p99" ? null : 0)) : null;
    }
    if (times.length > POINTS_MAX) this.thin();
  }

  on_fault(event, at) {
    const key = `${event.variant}\n${event.fault}\n${event.number}`;
    if (event.change === "injected") this.injected(event, at, key);
    else this.healed(event, at, key);
  }

  injected(event, at, key) {
    if (this.windows.length >= WINDOWS_MAX) return void (this.windowsLeftOut += 1);
    const made = { variant: event.variant, fault: event.fault, number: event.number, from: at, to: null, by: event.by ?? null, error: null };
    this.windows.push(made);
    this.open.set(key, made);
    const by = event.by ? `, by ${event.by}` : "";
    this.write(at, event.by ? "byhand" : "fault", `${event.variant}: ${event.fault} injected${by}`);
  }

  healed(event, at, key) {
    const found = this.open.get(key);
    if (found) Object.assign(found, { to: at, error: event.error ?? null });
    this.open.delete(key);
    if (event.error) this.write(at, "trouble", `${event.variant}: ${event.fault} went wrong: ${event.error}`);
    else if (found?.by) this.write(at, "byhand", `${event.variant}: ${event.fault} healed`);
  }

  on_finding(event, at) {
    const of = this.findings.get(event.variant) ?? new Map();
    const fresh = !of.has(event.promise);
    of.set(event.promise, { count: event.count, text: event.text ?? "" });
    this.findings.set(event.variant, of);
    const text = event.text ? `: ${event.text}` : "";
    this.write(at, "finding", `${event.variant}: ${event.promise} broken ${event.count}×${text}`);
    return fresh ? "finding:new" : "finding";
  }

  on_note(event, at) {
    this.write(at, "note", event.text ?? "");
  }

  on_ended(event, at) {
    this.ended = event;
    this.state = "ended";
    this.outcome = event.outcome ?? this.outcome;
    for (const window of this.open.values()) window.to = at;
    this.open.clear();
    this.write(at, "state", `ended: ${event.outcome ?? "?"}${event.text ? `, ${event.text}` : ""}`);
  }

  variant(name) {
    if (!this.variants.has(name)) this.variants.set(name, { phase: null, left: null, counters: {}, active: [] });
    if (!this.series.has(name)) this.series.set(name, Object.fromEntries(CHARTED.map((one) => [one, []])));
    return this.variants.get(name);
  }

  write(at, kind, text) {
    this.log.push({ at, kind, text, number: (this.written = (this.written ?? 0) + 1) });
    const plain = this.log.length > LOG_MAX ? this.log.findIndex((one) => one.kind === "fault") : -1;
    if (this.log.length > LOG_MAX) this.log.splice(Math.max(0, plain), 1);
  }

  /** Every second point goes: a long run stays quick to draw. */
  thin() {
    const half = (list) => list.filter((_, index) => index % 2 === 0);
    this.times = half(this.times);
    for (const series of this.series.values()) for (const one of CHARTED) series[one] = half(series[one]);
  }
}

/** Differences of a running total, per second; null where there is none. */
export function perSecond(times, totals) {
  return totals.map((total, index) => {
    const before = totals[index - 1];
    const took = times[index] - times[index - 1];
    if (index === 0 || total === null || before === null || !(took > 0)) return null;
    return Math.max(0, (total - before) / took);
  });
}
