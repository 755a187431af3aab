"""Outcomes, findings, exposures and gates: what a run may claim, and what decides the exit code.

The lattice is jepsen's: INVALID beats UNKNOWN beats VALID, so that one thing that we could not see
is never covered by ten that were fine. "0 failures" is only ever reported beside the exposures that
could have failed, with the 95 % upper bound on the rate: 0 in n is at most 3/n (the rule of three,
Hanley and Lippman-Hand, JAMA 1983).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum

import msgspec


class Outcome(StrEnum):
    """VALID, UNKNOWN or INVALID."""

    VALID = "VALID"
    UNKNOWN = "UNKNOWN"
    INVALID = "INVALID"


_SEVERITY = {Outcome.VALID: 0, Outcome.UNKNOWN: 1, Outcome.INVALID: 2}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The join of the lattice. Of nothing it is UNKNOWN: nothing judged is nothing proved."""
    return max(outcomes, key=_SEVERITY.__getitem__, default=Outcome.UNKNOWN)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One violation of one promise.

    Attributes:
        kind: what went wrong, a fixed word of its checker (`KeyError`, `overwritten`, `lost`, …).
        message: one sentence with the values in it.
        events: numbers of the events that prove it, in order.
    """

    kind: str
    message: str
    job: str = ""
    events: tuple[int, ...] = ()


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What a checker says of one variant's history.

    Attributes:
        findings: every violation.
        exposure: how often the claim was put at risk (what a rate is per).
        exposure_name: the counter that `exposure` is, where it is not the checker's usual one.
        unknown: why nothing can be said, if so; findings still make it INVALID.
    """

    findings: tuple[Finding, ...] = ()
    exposure: int = 0
    exposure_name: str = ""
    unknown: str = ""


class PromiseVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One promise on one variant. `findings` are the first few of `count`."""

    promise: str
    outcome: Outcome
    count: int = 0
    exposure: int = 0
    exposure_name: str = ""
    reason: str = ""
    kinds: dict[str, int] = {}
    findings: tuple[Finding, ...] = ()

    @property
    def rate_bound(self) -> float:
        """Upper end of the 95 % interval of failures per exposure; infinite without exposure."""
        return rate_upper_bound(self.count, self.exposure)


class ExposureVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """How often a danger was met, against how often the plan wants it met."""

    exposure: str
    count: int
    required: int = 0

    @property
    def met(self) -> bool:
        return self.count >= self.required


class ThresholdVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One threshold of the plan: the value that was measured, and whether it holds."""

    threshold: str
    outcome: Outcome
    value: float | None = None


class VariantVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """All that is said about one variant.

    Attributes:
        reasons: why the outcome is not VALID, one sentence each.
        incomplete: why the run as a whole proves nothing here (cut short, nothing ran), if so;
            these stand among the reasons too.
        first_key_error_us: time from the first enqueue to the first KeyError of saq's own.
    """

    variant: str
    outcome: Outcome
    promises: tuple[PromiseVerdict, ...] = ()
    exposures: tuple[ExposureVerdict, ...] = ()
    thresholds: tuple[ThresholdVerdict, ...] = ()
    counters: dict[str, float] = {}
    reasons: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    server: str = ""
    first_key_error_us: int | None = None


class GateVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The gate's answer and its reasons, one sentence each."""

    gate: str
    outcome: Outcome
    baseline: str = ""
    reasons: tuple[str, ...] = ()


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a run; `verdict.json` is exactly this."""

    run: str
    plan: str
    world: str
    seed: int
    version: str
    history_digest: str
    variants: tuple[VariantVerdict, ...]
    gate: GateVerdict
    ended: str = "finished"
    repeat: str = ""
    events: int = 0


def rate_upper_bound(count: int, exposure: int) -> float:
    """Upper 95 % bound of a rate of `count` in `exposure`: 3/n for none, else Wilson's score bound.

    More failures than exposures are a Poisson count; its bound is Wilson and Hilferty's.
    """
    if exposure <= 0:
        return math.inf
    if count == 0:
        return min(1.0, 3.0 / exposure)
    if count > exposure:  # several a time: no share of anything, so a Poisson bound
        more = count + 1
        return more * (1 - 1 / (9 * more) + 1.6449 / (3 * math.sqrt(more))) ** 3 / exposure
    rate, z2 = count / exposure, 1.6449**2
    centre = rate + z2 / (2 * exposure)
    spread = math.sqrt(z2 * (rate * (1 - rate) / exposure + z2 / (4 * exposure**2)))
    return min(1.0, (centre + spread) / (1 + z2 / exposure))


def rate_is_higher_p(count: int, exposure: int, base_count: int, base_exposure: int) -> float:
    """One-sided p of "this rate per exposure is not higher than the base's" (exact).

    Given the sum of both counts, the count here is binomial with the share of exposure as its
    probability if both rates are equal (the conditional test of Przyborowski and Wilenski,
    Biometrika 1940). Small p: the rate here is higher.
    """
    total = count + base_count
    if total == 0 or exposure <= 0 or base_exposure <= 0:
        return 1.0
    share = exposure / (exposure + base_exposure)
    log_p, log_q = math.log(share), math.log1p(-share)
    tail = (
        math.exp(
            math.lgamma(total + 1) - math.lgamma(k + 1) - math.lgamma(total - k + 1)
            + k * log_p + (total - k) * log_q
        )
        for k in range(count, total + 1)
    )  # fmt: skip
    return min(1.0, math.fsum(tail))
