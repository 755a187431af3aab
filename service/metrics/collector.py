"""The runs of a service as one set of families, whose counters never fall while the service lives.

    ended runs ──────────────► base    ┐
    run that goes on ─ latest snapshot ┴─► counter, histogram: base + what the run has so far
                                          gauge: what the run shows now; 0 without one

A run begins at 0, and so would its counters; a rate over the restart would be wrong. So what an
ended run had is kept per label set, and the next one counts on from there. Within a run a value can
fall too (an error turns out to be the job's own): what was shown once stays.

A gauge of an ended run goes to 0, except where 0 would be a lie: percentiles vanish, and so does
the info about the run, the only place where a run's name is a label.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar
from prometheus_client.samples import Sample as PrometheusSample

from chaos.checkers import CHECKERS
from chaos.metrics import Snapshot, TimelineCollector, snapshot
from chaos.metrics.exemplars import KEY, labels
from chaos.metrics.families import PREFIX
from chaos.metrics.snapshot import Example, Family, Labels, Sample
from chaos.timeline import Timeline

INFO = f"{PREFIX}run_info"
VANISHING = (INFO, f"{PREFIX}job_seconds")  # after a run, 0 would claim something
ADDS_UP = ("counter", "histogram")

_Key = tuple[str, Labels]  # a sample's name and labels


@dataclass
class _Run:
    """A run that goes on: what it is, and what it shows so far."""

    name: str
    plan: str
    world: str
    variants: tuple[str, ...]
    values: dict[_Key, float] = field(default_factory=dict)
    info: tuple[Labels, ...] = ()


class RunsCollector(Collector):
    """Every family of every run. Safe from any thread.

    Args:
        variants: those that the service offers: all their label values exist from the start.
    """

    def __init__(self, variants: tuple[str, ...]) -> None:
        self._lock = threading.Lock()
        self._families: dict[str, Family] = {}
        self._base: dict[_Key, float] = {}  # of every sample ever shown, in a fixed order
        self._examples: dict[_Key, Example] = {}
        self._runs: dict[str, _Run] = {}
        self._learn(variants)

    def begin(self, run: str, plan: str, world: str, variants: tuple[str, ...]) -> None:
        """A run begins; its variants exist at 0 from now on."""
        with self._lock:
            self._learn(variants)
            self._runs[run] = _Run(run, plan, world, variants)

    def update(self, run: str, taken: Snapshot) -> None:
        """What the run shows now. Of a run that has not begun or has ended, nothing is taken."""
        with self._lock:
            current = self._runs.get(run)
            if current is None:
                return
            for family in taken.families:
                if family.name == INFO:
                    current.info = tuple(_of_run(one.labels, run) for one in family.samples)
                else:
                    self._take(current, family)

    def end(self, run: str) -> None:
        """The run is over: what it counted is kept, what it showed of a moment is not."""
        with self._lock:
            current = self._runs.pop(run, None)
            if current is None:
                return
            for key, value in current.values.items():
                if self._kind_of(key) in ADDS_UP:
                    self._base[key] += value

    def collect(self) -> Iterator[Metric]:
        """All families, in a fixed order."""
        with self._lock:
            keys = self._keys()
            metrics = [self._metric(family, keys) for family in self._families.values()]
        yield from metrics

    # --- taking in --------------------------------------------------------------------------------

    def _learn(self, variants: tuple[str, ...]) -> None:
        """Let every sample of these variants exist at 0."""
        promises = tuple(checker.name for checker in CHECKERS)
        nothing = [Timeline(variant, 0) for variant in variants]
        for family in snapshot(TimelineCollector(nothing, promises, dict)).families:
            self._remember(family)
            for sample in family.samples:
                self._base.setdefault((sample.name, sample.labels), 0.0)

    def _remember(self, family: Family) -> None:
        known = Family(name=family.name, kind=family.kind, help=family.help, samples=())
        self._families.setdefault(family.name, known)

    def _take(self, run: _Run, family: Family) -> None:
        self._remember(family)
        adds_up = family.kind in ADDS_UP
        if not adds_up:
            self._forget_gauges(run, family)
        for sample in family.samples:
            key = (sample.name, sample.labels)
            if family.name not in VANISHING:
                self._base.setdefault(key, 0.0)
            before = run.values.get(key, 0.0)
            run.values[key] = max(before, sample.value) if adds_up else sample.value
            if sample.example is not None:
                self._examples[key] = _example(sample, run.name)

    def _forget_gauges(self, run: _Run, family: Family) -> None:
        """What a gauge no longer shows it does not show: a percentile that is gone."""
        for key in [key for key in run.values if key[0] == family.name]:
            del run.values[key]

    def _kind_of(self, key: _Key) -> str:
        family = self._families.get(_family_name(key[0], self._families))
        return family.kind if family is not None else ""

    # --- showing ----------------------------------------------------------------------------------

    def _metric(self, family: Family, keys: dict[str, list[_Key]]) -> Metric:
        metric = Metric(family.name, family.help, family.kind)
        if family.name == INFO:
            metric.samples = [
                PrometheusSample(INFO, dict(one), 1.0) for one in sorted(self._infos())
            ]
            return metric
        for key in keys.get(family.name, ()):
            values = [run.values[key] for run in self._runs.values() if key in run.values]
            shown = max(values) if family.name in VANISHING else self._base[key] + sum(values)
            example = self._examples.get(key)
            seen = Exemplar(dict(example.labels), example.value) if example else None
            metric.samples.append(PrometheusSample(key[0], dict(key[1]), shown, None, seen))
        return metric

    def _keys(self) -> dict[str, list[_Key]]:
        """The samples of each family: those of one series together, a histogram's in order."""
        shown = dict.fromkeys(self._base)
        for run in self._runs.values():
            shown |= dict.fromkeys(run.values)
        keys: dict[str, list[_Key]] = {}
        for key in shown:
            keys.setdefault(_family_name(key[0], self._families), []).append(key)
        return keys

    def _infos(self) -> list[Labels]:
        """One for each variant of each run that goes on."""
        infos: list[Labels] = []
        for run in self._runs.values():
            told = {dict(one).get("variant", ""): one for one in run.info}
            infos += [told.get(variant, _unknown(run, variant)) for variant in run.variants]
        return infos


def _unknown(run: _Run, variant: str) -> Labels:
    """What is known about a run before it has told anything."""
    return (
        ("plan", run.plan), ("run", run.name), ("seed", ""), ("server", ""),
        ("variant", variant), ("world", run.world),
    )  # fmt: skip


def _of_run(told: Labels, run: str) -> Labels:
    """The service's own name of the run, whatever its directory is called."""
    return tuple((name, run if name == "run" else value) for name, value in told)


def _example(sample: Sample, run: str) -> Example:
    assert sample.example is not None
    job = dict(sample.example.labels).get(KEY, "")
    fitting = tuple(sorted(labels(run, job).items()))
    return Example(labels=fitting, value=sample.example.value)


def _family_name(sample: str, families: dict[str, Family]) -> str:
    if sample in families:
        return sample
    return sample.rpartition("_")[0]
