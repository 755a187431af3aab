"""Many seeds of one variant become one verdict: counts, exposures and reasons added up.

    Summary… ─► VariantTally.add ─► verdict() ─► VariantVerdict, as the gate and the reports take it

A promise is INVALID if any seed broke it. It is VALID if none did, its danger was met in some seed,
and every seed could be judged: one in which the danger did not come says nothing against others.
Rates are per exposure over all seeds, so their bounds tighten as the search goes on. Percentiles do
not add up and are left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from chaos import judge
from chaos.counters import is_time
from chaos.explore.coverage import POSSIBLE
from chaos.explore.protocol import Summary
from chaos.explore.results import SEEDS_LISTED, FirstFailure, SeedFailure, VariantExplored
from chaos.plan import Plan
from chaos.verdict import (
    ExposureVerdict,
    Finding,
    Outcome,
    PromiseVerdict,
    ThresholdVerdict,
    VariantVerdict,
    worst,
)

FINDINGS_KEPT = 20
STUCK = ("livelock", "deadlock")
_NOTHING_RAN = "nothing ran"


@dataclass
class PromiseTally:
    """One promise over all seeds so far."""

    name: str
    count: int = 0
    seeds: int = 0
    exposures: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[int, Finding]] = field(default_factory=list)
    blind: Counter[str] = field(default_factory=Counter)

    def add(self, promise: PromiseVerdict, number: int, seed: int) -> None:
        """Add one seed's, in any order; of the findings those of the first numbers are kept."""
        self.count += promise.count
        self.exposures[promise.exposure_name] += promise.exposure
        self.kinds.update(promise.kinds)
        if promise.outcome is Outcome.INVALID:
            self.seeds += 1
        elif promise.outcome is Outcome.UNKNOWN and not judge.is_unmet(promise):
            self.blind[promise.reason] += 1
        self.findings += ((number, _of_seed(one, seed)) for one in promise.findings)
        self.findings.sort(key=lambda kept: kept[0])
        del self.findings[FINDINGS_KEPT:]

    def verdict(self) -> PromiseVerdict:
        """All seeds together."""
        name, exposure = self._exposure()
        outcome, reason = Outcome.VALID, ""
        if self.count:
            outcome = Outcome.INVALID
        elif self.blind:
            outcome, reason = Outcome.UNKNOWN, _counted(self.blind)
        elif not exposure:
            outcome, reason = Outcome.UNKNOWN, judge.unmet(name)
        return PromiseVerdict(
            promise=self.name,
            outcome=outcome,
            count=self.count,
            exposure=exposure,
            exposure_name=name,
            reason=reason,
            kinds=dict(sorted(self.kinds.items())),
            findings=tuple(finding for _, finding in self.findings),
        )

    def _exposure(self) -> tuple[str, int]:
        """What a rate is per: the danger itself, as soon as one seed met it."""
        met = [name for name, count in self.exposures.items() if count]
        if len(met) > 1:  # some seeds met no collision and were judged per attempt
            met = [name for name in met if name != "attempts"]
        name = met[0] if met else next(iter(self.exposures), "")
        return name, self.exposures[name]


@dataclass
class VariantTally:
    """One variant over all seeds so far. Seeds are added in the order in which they are done."""

    plan: Plan
    variant: str
    seeds: int = 0
    events: int = 0
    virtual_us: int = 0
    spent_us: int = 0
    promises: dict[str, PromiseTally] = field(default_factory=dict)
    exposures: dict[str, int] = field(default_factory=dict)
    counters: Counter[str] = field(default_factory=Counter)
    thresholds: dict[str, ThresholdVerdict] = field(default_factory=dict)
    incomplete: Counter[str] = field(default_factory=Counter)
    failures: dict[int, SeedFailure] = field(default_factory=dict)
    interleavings: dict[str, None] = field(default_factory=dict)
    new_at: int = 0
    new_us: int = 0
    first: dict[str, FirstFailure] = field(default_factory=dict)

    def add(self, number: int, summary: Summary, found_us: int) -> None:
        """Add one seed.

        Args:
            number: its place in the exploration.
            found_us: search time when it was done.
        """
        self.seeds += 1
        self.events += summary.events
        self.virtual_us += summary.virtual_us
        self.spent_us += summary.spent_us
        verdict = summary.verdict
        for promise in verdict.promises:
            tally = self.promises.setdefault(promise.promise, PromiseTally(promise.promise))
            tally.add(promise, number, summary.seed)
        for exposure in verdict.exposures:
            met = self.exposures.get(exposure.exposure, 0)
            self.exposures[exposure.exposure] = met + exposure.count
        self.counters.update(
            {name: value for name, value in verdict.counters.items() if not is_time(name)}
        )
        for threshold in verdict.thresholds:
            self._add_threshold(threshold)
        if summary.ended not in STUCK:
            self.incomplete.update(verdict.incomplete)
        self._note_failure(number, summary, found_us)
        self._note_interleavings(number, summary, found_us)

    def verdict(self) -> VariantVerdict:
        """All seeds together."""
        promises = tuple(tally.verdict() for tally in self.promises.values())
        exposures = tuple(
            ExposureVerdict(exposure=name, count=count, required=self.plan.exposures.get(name, 0))
            for name, count in self.exposures.items()
        )
        limits = tuple(self.thresholds.values())
        incomplete = self._incomplete()
        outcomes = [one.outcome for one in promises] + [one.outcome for one in limits]
        if incomplete or not all(exposure.met for exposure in exposures):
            outcomes.append(Outcome.UNKNOWN)
        return VariantVerdict(
            variant=self.variant,
            outcome=worst(outcomes),
            promises=promises,
            exposures=exposures,
            thresholds=limits,
            counters={name: float(value) for name, value in self.counters.items()},
            reasons=(*judge.reasons(promises, exposures, limits), *incomplete),
            incomplete=incomplete,
        )

    def explored(self) -> VariantExplored:
        """How it was searched."""
        listed = sorted(self.failures)[:SEEDS_LISTED]
        return VariantExplored(
            variant=self.variant,
            seeds=self.seeds,
            failing=len(self.failures),
            failures=tuple(self.failures[number] for number in listed),
            interleavings=tuple(sorted(self.interleavings)),
            possible=POSSIBLE,
            new_at=self.new_at,
            new_us=self.new_us,
            events=self.events,
            virtual_us=self.virtual_us,
            spent_us=self.spent_us,
        )

    def _add_threshold(self, one: ThresholdVerdict) -> None:
        """The worst seed's verdict stands; not measured in some seeds is fine."""
        known = self.thresholds.get(one.threshold)
        rank = (Outcome.UNKNOWN, Outcome.VALID, Outcome.INVALID).index
        if known is None or rank(one.outcome) > rank(known.outcome):
            self.thresholds[one.threshold] = one

    def _incomplete(self) -> tuple[str, ...]:
        if not self.seeds:
            return ("no seed ran",)
        told = {
            reason: count
            for reason, count in self.incomplete.items()
            if not reason.startswith(_NOTHING_RAN) or count == self.seeds
        }
        return tuple(
            f"{reason} (in {count} of {self.seeds} seeds)" for reason, count in told.items()
        )

    def _note_failure(self, number: int, summary: Summary, found_us: int) -> None:
        broken = summary.broken()
        if not broken:
            return
        self.failures[number] = SeedFailure(
            number=number,
            seed=summary.seed,
            promise=broken[0].promise,
            kind=_chief_kind(broken[0]),
            decisions=summary.decisions,
        )
        for promise in broken:
            known = self.first.get(promise.promise)
            if known is None or number < known.number:
                known_us = found_us if known is None else known.found_us
                self.first[promise.promise] = self._first(promise, number, summary, known_us)

    def _first(
        self, promise: PromiseVerdict, number: int, summary: Summary, found_us: int
    ) -> FirstFailure:
        return FirstFailure(
            variant=self.variant,
            promise=promise.promise,
            kind=_chief_kind(promise),
            number=number,
            seed=summary.seed,
            message=promise.findings[0].message if promise.findings else "",
            found_us=found_us,
            decisions=summary.decisions,
        )

    def _note_interleavings(self, number: int, summary: Summary, found_us: int) -> None:
        before = len(self.interleavings)
        self.interleavings.update(dict.fromkeys(summary.interleavings))
        if len(self.interleavings) > before:
            self.new_at, self.new_us = number, found_us


def _of_seed(finding: Finding, seed: int) -> Finding:
    """A finding among those of many seeds: its seed is said, its event numbers mean nothing."""
    return Finding(kind=finding.kind, message=f"seed {seed}: {finding.message}", job=finding.job)


def _chief_kind(promise: PromiseVerdict) -> str:
    ranked = sorted(promise.kinds.items(), key=lambda item: (-item[1], item[0]))
    return ranked[0][0] if ranked else ""


def _counted(reasons: Counter[str]) -> str:
    return "; ".join(f"{reason} (in {count} seeds)" for reason, count in reasons.items())
