"""A snapshot: the families of a running soak as data, so that another process can expose them.

    runner process:  timelines ─► Snapshots.of() ─► encode() ─► one line of JSON ─┐
    service process:            RunsCollector.update() ◄── decode() ◄─────────────┘

It is what the run's own `/metrics` would show at that moment, exemplars included. It holds no
time: who receives it exposes the latest one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from prometheus_client import samples as prometheus
from prometheus_client.registry import Collector

from chaos.metrics.collector import TimelineCollector
from chaos.metrics.findings import LiveFindings
from chaos.plan import Plan
from chaos.timeline import Timeline

Labels = tuple[tuple[str, str], ...]  # in the order of their names


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """An exemplar: the labels that point at a run and a job, and the value that was seen there."""

    labels: Labels
    value: float


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One value. `name` is the family's, with `_total`, `_bucket`, `_sum` or `_count` after it."""

    name: str
    labels: Labels
    value: float
    example: Example | None = None


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """One metric. `kind` is counter, gauge or histogram; a counter's name has no `_total`."""

    name: str
    kind: str
    help: str
    samples: tuple[Sample, ...]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """All families, in the order in which they are exposed."""

    families: tuple[Family, ...]


class Snapshots:
    """Takes snapshots of one run. It keeps nothing of the timelines, only counts of findings.

    Args:
        plan: the run's.
        findings: what else asks for the findings of this run asks too; none: nothing does.
    """

    def __init__(self, plan: Plan, findings: LiveFindings | None = None) -> None:
        self._plan = plan
        self._findings = findings or LiveFindings(plan)

    def of(self, timelines: Sequence[Timeline]) -> Snapshot:
        """What the run shows now."""
        counts = self._findings.counts(timelines)
        return snapshot(
            TimelineCollector(timelines, self._plan.promises, lambda: counts, self._plan)
        )


def snapshot(collector: Collector) -> Snapshot:
    """What a collector shows now."""
    families = (
        Family(
            name=metric.name,
            kind=metric.type,
            help=metric.documentation,
            samples=tuple(map(_sample, metric.samples)),
        )
        for metric in collector.collect()
    )
    return Snapshot(families=tuple(families))


def encode(taken: Snapshot) -> bytes:
    """One line of JSON, without its end."""
    return msgspec.json.encode(taken)


def decode(line: bytes) -> Snapshot:
    """The snapshot of such a line.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return msgspec.json.decode(line, type=Snapshot)


def _sample(sample: prometheus.Sample) -> Sample:
    seen = sample.exemplar
    return Sample(
        name=sample.name,
        labels=_sorted(sample.labels),
        value=float(sample.value),
        example=Example(labels=_sorted(seen.labels), value=seen.value) if seen else None,
    )


def _sorted(labels: dict[str, str]) -> Labels:
    return tuple(sorted(labels.items()))
