"""Prometheus: the counters of all variants, during the run over HTTP and after it as a file.

    Timeline per variant ──values(), checkers──► families ──┬─ MetricsServer   http://…/metrics
                                                            └─ exposition()    metrics.prom

A custom collector computes every family from the timelines when it is scraped; nothing is counted
twice and nothing is kept between scrapes. Every label value exists from the start at 0, so that a
rate over the first increase is right. Labels are variants and fixed words: no job key and no worker
id, whose number has no bound. Findings need the checkers, which read the whole timeline; during a
run they are drawn again only so often that they cost at most a twentieth of its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self, get_args

from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from chaos.checkers import CHECKERS
from chaos.clock import SECOND_US, MonotonicClock
from chaos.counters import PERCENTILES, values
from chaos.errors import WorldError
from chaos.judge import Judged
from chaos.plan import Fault, Plan
from chaos.timeline import Timeline
from chaos.timeline.aborts import OUTCOMES
from chaos.timeline.hosts import RESTART_KINDS
from chaos.timeline.jobs import TERMINAL
from chaos.timeline.orphans import REASONS
from chaos.timeline.tally import ATTEMPT_OUTCOMES, ENQUEUE_OUTCOMES

PREFIX = "saqchaos_"
ADDRESS = "127.0.0.1"
FINDINGS_EVERY_US = 10 * SECOND_US
FINDINGS_SHARE = 20

Findings = Mapping[str, Mapping[str, int]]  # variant ─► promise ─► count
Values = Mapping[str, float]


def exposition(plan: Plan, judged: Judged) -> bytes:
    """The text form of a judged run: what `metrics.prom` holds."""
    findings = {
        verdict.variant: {promise.promise: promise.count for promise in verdict.promises}
        for verdict in judged.variants
    }
    registry = CollectorRegistry(auto_describe=False)
    registry.register(TimelineCollector(plan, judged.timelines, lambda: findings))
    return generate_latest(registry)


class MetricsServer:
    """Serves the counters of running timelines on loopback while it is entered.

    Args:
        plan: the plan of the run; its promises and faults are the label values.
        timelines: one per variant; they may be fed from another thread.
        port: where to listen; 0 for a free port. `port` then says which.

    Raises:
        WorldError: the port is taken; raised on entering.
    """

    def __init__(self, plan: Plan, timelines: Iterable[Timeline], port: int) -> None:
        self.port = port
        timelines = tuple(timelines)
        self._registry = CollectorRegistry(auto_describe=False)
        live = LiveFindings(plan, timelines)
        self._registry.register(TimelineCollector(plan, timelines, live.counts))

    def __enter__(self) -> Self:
        try:
            self._server, self._thread = start_http_server(self.port, ADDRESS, self._registry)
        except OSError as error:
            raise WorldError(
                f"cannot serve metrics on {ADDRESS}:{self.port}: {error.strerror}; "
                "name another --metrics-port, or 0 for a free one"
            ) from error
        self.port = self._server.server_port
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class LiveFindings:
    """How often each promise was broken so far, drawn again now and then.

    Counts never fall: a finding that a later event explains stays counted until the run is judged.
    """

    def __init__(self, plan: Plan, timelines: Sequence[Timeline]) -> None:
        self._plan = plan
        self._timelines = timelines
        self._clock = MonotonicClock()
        self._next_us = 0
        self._counts: dict[str, dict[str, int]] = {one.variant: {} for one in timelines}

    def counts(self) -> Findings:
        """The counts of the last time, or new ones if that is long enough ago."""
        began_us = self._clock.now_us()
        if began_us >= self._next_us:
            for timeline in self._timelines:
                self._draw(timeline)
            ended_us = self._clock.now_us()
            pause_us = max(FINDINGS_EVERY_US, FINDINGS_SHARE * (ended_us - began_us))
            self._next_us = ended_us + pause_us
        return self._counts

    def _draw(self, timeline: Timeline) -> None:
        counts = self._counts[timeline.variant]
        for checker in CHECKERS:
            if checker.name in self._plan.promises:
                with timeline.lock:
                    found = len(checker.check(self._plan, timeline).findings)
                counts[checker.name] = max(found, counts.get(checker.name, 0))


class TimelineCollector(Collector):
    """Computes every family from the timelines whenever it is scraped."""

    def __init__(
        self, plan: Plan, timelines: Iterable[Timeline], findings: Callable[[], Findings]
    ) -> None:
        self._plan = plan
        self._timelines = tuple(timelines)
        self._findings = findings

    def collect(self) -> Iterator[Metric]:
        """All families, each with all variants, in a fixed order."""
        counted = [(timeline, values(timeline)) for timeline in self._timelines]
        for name, counter, text in _PLAIN_COUNTERS:
            yield _plain(CounterMetricFamily, name, counter, text, counted)
        for name, counter, text in _PLAIN_GAUGES:
            yield _plain(GaugeMetricFamily, name, counter, text, counted)
        for name, label, prefix, words, text in _LABELLED_COUNTERS:
            yield _labelled(name, label, prefix, words, text, counted)
        yield _seconds(counted)
        yield self._restarts()
        yield self._faults()
        yield self._promises()
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
            for fault in dict.fromkeys((*_all_faults(), *active)):
                family.add_metric([timeline.variant, fault], active.get(fault, 0))
        return family

    def _promises(self) -> Metric:
        family = _counter("findings", "Violations of a promise of the plan.", "promise")
        findings = self._findings()
        for timeline in self._timelines:
            for promise in self._plan.promises:
                count = findings[timeline.variant].get(promise, 0)
                family.add_metric([timeline.variant, promise], count)
        return family

    def _run_info(self) -> Metric:
        labels = ("run", "plan", "world", "seed", "server")
        family = _gauge("run_info", "Which run this is; the value is always 1.", *labels)
        for timeline in self._timelines:
            began = timeline.run_began
            plan = (self._plan.plan, "", str(self._plan.seed), "")
            known = (
                (began.run, began.plan, began.world, str(began.seed), timeline.server)
                if began is not None
                else ("", *plan)
            )
            family.add_metric([timeline.variant, *known], 1)
        return family


# --- the families ---------------------------------------------------------------------------------

_PLAIN_COUNTERS = (
    ("key_errors", "key_errors", "KeyErrors that saq's own code raised."),
    ("internal_errors", "internal_errors", "Other exceptions that saq's own code raised."),
    ("slot_collisions", "slot_collisions", "Contexts registered over a live attempt's slot."),
    ("overlaps", "overlaps", "Pairs of attempts of one key that were alive at once."),
    ("body_overlaps", "body_overlaps", "Pairs of bodies of one key that ran at once."),
    ("attempts_begun", "attempts", "Attempts begun."),
    ("aborts", "aborts", "Acknowledged aborts."),
    ("aborts_running", "aborts_running", "Aborts of running attempts that were judged."),
    ("retries", "retries", "Retries that happened."),
    ("sweeps", "sweeps", "Sweep calls."),
    ("swept", "swept", "Jobs that a sweep aborted."),
    ("swept_live", "swept_live", "Jobs that a sweep aborted while an attempt was alive."),
    ("faults_injected", "faults", "Faults injected."),
)
_PLAIN_GAUGES = (
    ("orphaned_contexts_now", "orphaned_contexts_now", "Contexts that are orphaned now."),
    ("queue_queued", "queue_queued", "Entries in the queued list, when last looked at."),
    ("queue_active", "queue_active", "Entries in the active list, when last looked at."),
    ("queue_incomplete", "queue_incomplete", "Unfinished jobs, when last counted."),
)
_LABELLED_COUNTERS = (
    ("orphaned_contexts", "reason", "orphaned_", REASONS, "Contexts orphaned, in all."),
    ("aborted_attempts", "outcome", "aborts_", OUTCOMES, "Aborts and wrong cancels by outcome."),
    ("attempts", "outcome", "attempts_", ATTEMPT_OUTCOMES, "Attempts ended, by outcome."),
    ("jobs_enqueued", "outcome", "", ENQUEUE_OUTCOMES, "Enqueues that came back, by outcome."),
    ("jobs_finished", "status", "jobs_", TERMINAL, "Jobs by their first terminal status."),
)
_COUNTER_OF_ENQUEUE = {
    "accepted": "enqueues",
    "refused": "enqueues_refused",
    "unclear": "enqueues_unclear",
}


def _counter(name: str, text: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(PREFIX + name, text, labels=("variant", *labels))


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(PREFIX + name, text, labels=("variant", *labels))


def _plain(
    kind: type[CounterMetricFamily | GaugeMetricFamily],
    name: str,
    counter: str,
    text: str,
    counted: list[tuple[Timeline, dict[str, float]]],
) -> Metric:
    family = kind(PREFIX + name, text, labels=("variant",))
    for timeline, found in counted:
        family.add_metric([timeline.variant], found.get(counter, 0))
    return family


def _labelled(
    name: str,
    label: str,
    prefix: str,
    words: Iterable[str],
    text: str,
    counted: list[tuple[Timeline, dict[str, float]]],
) -> Metric:
    family = _counter(name, text, label)
    for timeline, found in counted:
        for word in words:
            counter = _COUNTER_OF_ENQUEUE.get(word, prefix + word.replace("-", "_"))
            family.add_metric([timeline.variant, word], found.get(counter, 0))
    return family


def _seconds(counted: list[tuple[Timeline, dict[str, float]]]) -> Metric:
    """Percentiles of how long jobs waited and ran. Nothing measured is no sample, not 0."""
    family = _gauge("job_seconds", "How long jobs waited and ran.", "what", "quantile")
    for timeline, found in counted:
        for what in ("wait", "run"):
            for percent in PERCENTILES:
                value = found.get(f"job_{what}_p{percent}")
                if value is not None:
                    family.add_metric([timeline.variant, what, str(percent / 100)], value)
    return family


def _all_faults() -> tuple[str, ...]:
    """The names of all faults that a plan can have."""
    specs = get_args(get_args(Fault)[0])
    return tuple(get_args(spec.model_fields["fault"].annotation)[0] for spec in specs)
