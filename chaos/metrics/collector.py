"""The collector: every family, computed from the timelines whenever it is scraped.

Nothing is counted twice and nothing is kept between scrapes. Every label value exists from the
start at 0, so that a rate over the first increase is right. Labels are variants and fixed words: no
job key and no worker id, whose number has no bound; exemplars name a job where one is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

from chaos.clock import SECOND_US
from chaos.counters import KEY_ERROR, PERCENTILES, values
from chaos.metrics.exemplars import exemplar
from chaos.metrics.families import (
    COUNTER_OF_ENQUEUE,
    LABELLED_COUNTERS,
    PLAIN_COUNTERS,
    PLAIN_GAUGES,
    PREFIX,
    QUEUE_PREFIX,
    QUEUE_STATES,
    Labelled,
    Plain,
)
from chaos.metrics.findings import Findings
from chaos.plan import Fault, Plan
from chaos.timeline import Timeline
from chaos.timeline.hosts import RESTART_KINDS
from chaos.timeline.jobs import TERMINAL
from chaos.timeline.tally import BUCKETS_US, Times

Bucket = tuple[str, float] | tuple[str, float, Exemplar]


class Seen(NamedTuple):
    """One variant at the moment of a scrape."""

    timeline: Timeline
    values: dict[str, float]
    examples: dict[str, str]  # counter ─► the latest job that raised it

    @property
    def variant(self) -> str:
        return self.timeline.variant

    @property
    def run(self) -> str:
        began = self.timeline.run_began
        return "" if began is None else began.run


class TimelineCollector(Collector):
    """All families of some timelines.

    Args:
        timelines: one per variant; they may be fed from another thread.
        promises: whose findings are counted.
        findings: the counts, by variant and promise.
        plan: the plan of the run; none: nothing runs yet, and there is no info about it.
    """

    def __init__(
        self,
        timelines: Iterable[Timeline],
        promises: Sequence[str],
        findings: Callable[[], Findings],
        plan: Plan | None = None,
    ) -> None:
        self._plan = plan
        self._promises = tuple(promises)
        self._timelines = tuple(timelines)
        self._findings = findings

    def collect(self) -> Iterator[Metric]:
        """All families, each with all variants, in a fixed order."""
        seen = [Seen(one, values(one), _examples(one)) for one in self._timelines]
        for plain in PLAIN_COUNTERS:
            yield _plain_counter(plain, seen)
        for plain in PLAIN_GAUGES:
            yield _plain_gauge(plain, seen)
        for labelled in LABELLED_COUNTERS:
            yield _labelled(labelled, seen)
        yield _percentiles(seen)
        yield self._restarts()
        yield self._faults()
        yield self._found()
        yield from _queue_view(seen)
        yield self._run_info()

    def _restarts(self) -> Metric:
        family = _counter("restarts", "Workers that replaced another one.", "kind")
        for timeline in self._timelines:
            with timeline.lock:
                restarts = timeline.hosts.restarts()
            for kind in RESTART_KINDS:
                family.add_metric([timeline.variant, kind], restarts[kind])
        return family

    def _faults(self) -> Metric:
        family = _gauge("fault_active", "Injections of a fault that are not healed yet.", "fault")
        for timeline in self._timelines:
            with timeline.lock:
                active = timeline.faults.active_counts()
            for fault in dict.fromkeys((*all_faults(), *active)):
                family.add_metric([timeline.variant, fault], active.get(fault, 0))
        return family

    def _found(self) -> Metric:
        family = _counter("findings", "Violations of a promise of the plan.", "promise")
        findings = self._findings()
        for timeline in self._timelines:
            counts = findings.get(timeline.variant, {})
            for promise in self._promises:
                family.add_metric([timeline.variant, promise], counts.get(promise, 0))
        return family

    def _run_info(self) -> Metric:
        labels = ("run", "plan", "world", "seed", "server")
        family = _gauge("run_info", "Which run this is; the value is always 1.", *labels)
        for timeline in self._timelines if self._plan is not None else ():
            family.add_metric([timeline.variant, *_run_labels(timeline, self._plan)], 1)
        return family


def all_faults() -> tuple[str, ...]:
    """The names of all faults that a plan can have."""
    specs = get_args(get_args(Fault)[0])
    return tuple(get_args(spec.model_fields["fault"].annotation)[0] for spec in specs)


def _run_labels(timeline: Timeline, plan: Plan | None) -> tuple[str, ...]:
    began = timeline.run_began
    if began is not None:
        return (began.run, began.plan, began.world, str(began.seed), timeline.server)
    return ("", plan.plan, "", str(plan.seed), "") if plan is not None else ("",) * 5


def _examples(timeline: Timeline) -> dict[str, str]:
    """The latest job of those counters that can name one."""
    with timeline.lock:
        found = {f"jobs_{status}": job for status, job in timeline.tally.last_finished.items()}
        if timeline.attempts.collisions:
            found["slot_collisions"] = timeline.attempts.collisions[-1].later.job
        for error in timeline.errors.all():
            kind = "key_errors" if error.kind == KEY_ERROR else "internal_errors"
            found[kind] = error.job or found.get(kind, "")
    return found


# --- the chaos view -------------------------------------------------------------------------------


def _counter(name: str, text: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(PREFIX + name, text, labels=("variant", *labels))


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(PREFIX + name, text, labels=("variant", *labels))


def _plain_counter(plain: Plain, seen: list[Seen]) -> Metric:
    family = _counter(plain.name, plain.help)
    for one in seen:
        count = one.values.get(plain.counter, 0)
        example = exemplar(one.run, one.examples.get(plain.counter, ""), 1)
        family.add_metric([one.variant], count, exemplar=example)
    return family


def _plain_gauge(plain: Plain, seen: list[Seen]) -> Metric:
    family = _gauge(plain.name, plain.help)
    for one in seen:
        family.add_metric([one.variant], one.values.get(plain.counter, 0))
    return family


def _labelled(labelled: Labelled, seen: list[Seen]) -> Metric:
    family = _counter(labelled.name, labelled.help, labelled.label)
    for one in seen:
        for word in labelled.words:
            counter = COUNTER_OF_ENQUEUE.get(word, labelled.prefix + word.replace("-", "_"))
            family.add_metric([one.variant, word], one.values.get(counter, 0))
    return family


def _percentiles(seen: list[Seen]) -> Metric:
    """How long jobs waited and ran. Nothing measured is no sample, not 0."""
    family = _gauge("job_seconds", "How long jobs waited and ran: exact.", "what", "percentile")
    for one in seen:
        for what in ("wait", "run"):
            for percent in PERCENTILES:
                value = one.values.get(f"job_{what}_p{percent}")
                if value is not None:
                    family.add_metric([one.variant, what, str(percent)], value)
    return family


# --- the queue view -------------------------------------------------------------------------------


def _queue_view(seen: list[Seen]) -> Iterator[Metric]:
    yield _queue_jobs(seen)
    yield _finished(seen)
    text = "How long jobs waited from their enqueue to their first attempt."
    yield _histogram("job_wait_seconds", text, seen, lambda one: one.tally.wait)
    text = "How long job functions ran, each time that one ran."
    yield _histogram("job_run_seconds", text, seen, lambda one: one.tally.run)
    yield _workers(seen)
    text = "Attempts that are alive: dequeued, and not over yet."
    running = GaugeMetricFamily(f"{QUEUE_PREFIX}attempts_running", text, labels=("variant",))
    for one in seen:
        with one.timeline.lock:
            running.add_metric([one.variant], one.timeline.attempts.alive_count())
    yield running


def _queue_jobs(seen: list[Seen]) -> Metric:
    text = "Unfinished jobs: queued (scheduled ones too), active, and incomplete: all of them."
    family = GaugeMetricFamily(f"{QUEUE_PREFIX}queue_jobs", text, labels=("variant", "state"))
    for one in seen:
        with one.timeline.lock:
            jobs = one.timeline.tally.open
            queued, active = jobs.count("queued"), jobs.count("active")
        counts = (queued, active, queued + active)
        for state, count in zip(QUEUE_STATES, counts, strict=True):
            family.add_metric([one.variant, state], count)
    return family


def _finished(seen: list[Seen]) -> Metric:
    text = "Jobs by their first terminal status."
    family = CounterMetricFamily(f"{QUEUE_PREFIX}jobs_finished", text, labels=("variant", "status"))
    for one in seen:
        for status in TERMINAL:
            count = one.values.get(f"jobs_{status}", 0)
            example = exemplar(one.run, one.examples.get(f"jobs_{status}", ""), 1)
            family.add_metric([one.variant, status], count, exemplar=example)
    return family


def _histogram(
    name: str, text: str, seen: list[Seen], times_of: Callable[[Timeline], Times]
) -> Metric:
    family = HistogramMetricFamily(QUEUE_PREFIX + name, text, labels=("variant",))
    bounds = [*(str(bound_us / SECOND_US) for bound_us in BUCKETS_US), "+Inf"]
    for one in seen:
        with one.timeline.lock:
            times = times_of(one.timeline)
            sum_us, counts, examples = times.sum_us, list(times.buckets), list(times.examples)
        buckets: list[Bucket] = []
        below = 0
        for bound, count, example in zip(bounds, counts, examples, strict=True):
            below += count
            job, time_us = example if example is not None else ("", 0)
            seen_there = exemplar(one.run, job, time_us / SECOND_US)
            buckets.append((bound, below, seen_there) if seen_there else (bound, below))
        family.add_metric([one.variant], buckets, sum_us / SECOND_US)
    return family


def _workers(seen: list[Seen]) -> Metric:
    text = "Worker processes that are alive."
    family = GaugeMetricFamily(f"{QUEUE_PREFIX}workers", text, labels=("variant",))
    for one in seen:
        with one.timeline.lock:
            hosts = one.timeline.hosts.all()
            alive = [host for host in hosts if host.role == "worker" and host.gone is None]
            family.add_metric([one.variant], sum(host.began is not None for host in alive))
    return family
