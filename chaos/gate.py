"""The gate: what the verdicts of all variants mean for the exit code.

`strict`: every variant is VALID. `baseline`: no variant is worse than a named one. Worse is

    VALID there, INVALID here                       a promise or a threshold that held is broken
    INVALID on both, with a higher rate here        one-sided exact test (`rate_is_higher_p`)

and the gate is UNKNOWN where that cannot be told: a promise is UNKNOWN here, or there while it is
broken here; an exposure that a rate needs is missing on either side; a required exposure was not
met; a run was cut short.

One gate makes many comparisons: five variants and eight promises make 32, and at p < 0.01 each, one
in four gates over equal variants would fail by chance. So the level of 0.01 is shared over all of
them by the step-down method of S. Holm ("A simple sequentially rejective multiple test procedure",
Scandinavian Journal of Statistics, 1979): the smallest p of m must be under 0.01 / m, the next
under 0.01 / (m - 1), and so on. All comparisons count towards m, also those that needed no test,
because which ones need one is not known before the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from chaos.counters import counted, spoken
from chaos.errors import UsageError
from chaos.plan import Plan
from chaos.verdict import (
    ExposureVerdict,
    GateVerdict,
    Outcome,
    PromiseVerdict,
    VariantVerdict,
    rate_is_higher_p,
    worst,
)

SIGNIFICANCE = 0.01
EXIT_CODES = {Outcome.VALID: 0, Outcome.INVALID: 1, Outcome.UNKNOWN: 3}
_COMMON_EXPOSURE = "attempts"


def decide(plan: Plan, variants: Iterable[VariantVerdict]) -> GateVerdict:
    """The answer of the plan's gate.

    Raises:
        UsageError: the gate is `baseline` and there is no such variant to compare with.
    """
    variants = tuple(variants)
    return strict(variants) if plan.gate == "strict" else against(plan.baseline, variants)


def strict(variants: Iterable[VariantVerdict]) -> GateVerdict:
    """Passes if every variant is VALID: all required promises, exposures and thresholds."""
    variants = tuple(variants)
    reasons = tuple(
        f"{variant.variant}: {reason}" for variant in variants for reason in variant.reasons
    )
    return GateVerdict(
        gate="strict",
        outcome=worst(variant.outcome for variant in variants),
        reasons=reasons if variants else ("no variant was judged",),
    )


def against(baseline: str | None, variants: Sequence[VariantVerdict]) -> GateVerdict:
    """Passes if no other variant is worse than `baseline`.

    Raises:
        UsageError: none of the variants is called like that; the message names those there are.
    """
    base = _baseline(baseline, variants)
    candidates = [variant for variant in variants if variant is not base]
    answers = [_cut_short(base)] if base.incomplete else []
    pairs = [(base, candidate) for candidate in candidates]
    answers += [answer for pair in pairs for answer in _whole(*pair)]
    comparisons = [found for pair in pairs for found in _promises(*pair)]
    answers += _shared_level(comparisons)
    if not candidates:
        answers.append(_Answer(Outcome.UNKNOWN, f"nothing to compare with {base.variant}"))
    outcomes = [answer.outcome for answer in answers] or [Outcome.VALID]
    reasons = [answer.reason for answer in sorted(answers, key=lambda one: _ORDER[one.outcome])]
    if worst(outcomes) is Outcome.VALID:
        reasons.append(_all_good(base, candidates))
    return GateVerdict(
        gate="baseline", outcome=worst(outcomes), baseline=base.variant, reasons=tuple(reasons)
    )


class _Answer(msgspec.Struct, frozen=True):
    """What one comparison says, with its reason. VALID answers are worth telling, too."""

    outcome: Outcome
    reason: str


class _Comparison(msgspec.Struct, frozen=True):
    """One promise on two variants: an answer, or a p value that an answer depends on."""

    said: _Answer | None = None
    p: float = 1.0
    rates: str = ""


_ORDER = {Outcome.INVALID: 0, Outcome.UNKNOWN: 1, Outcome.VALID: 2}


def _baseline(name: str | None, variants: Sequence[VariantVerdict]) -> VariantVerdict:
    if not name:
        raise UsageError("gate `baseline` needs a variant to compare with: name one as --baseline")
    label = re.sub(r"[^A-Za-z0-9@._+-]", "_", name)
    for variant in variants:
        if variant.variant in (name, label):
            return variant
    there = ", ".join(variant.variant for variant in variants) or "none"
    raise UsageError(f"baseline {name!r} is no variant of this run; there are: {there}")


# --- one variant as a whole -----------------------------------------------------------------------


def _whole(base: VariantVerdict, candidate: VariantVerdict) -> Iterable[_Answer]:
    if candidate.incomplete:
        yield _cut_short(candidate)
    for variant in (candidate,) if base.incomplete else (base, candidate):
        yield from (
            _Answer(
                Outcome.UNKNOWN,
                f"{variant.variant}: only {counted(exposure.count, exposure.exposure)}, and "
                f"the plan wants {exposure.required}",
            )
            for exposure in _unmet(variant)
        )
    yield from _thresholds(base, candidate)


def _cut_short(variant: VariantVerdict) -> _Answer:
    return _Answer(Outcome.UNKNOWN, f"{variant.variant}: {'; '.join(variant.incomplete)}")


def _unmet(variant: VariantVerdict) -> Iterable[ExposureVerdict]:
    return (exposure for exposure in variant.exposures if not exposure.met)


def _thresholds(base: VariantVerdict, candidate: VariantVerdict) -> Iterable[_Answer]:
    """A threshold that fails here is worse if it holds there."""
    there = {threshold.threshold: threshold for threshold in base.thresholds}
    for here in candidate.thresholds:
        base_outcome = there[here.threshold].outcome if here.threshold in there else None
        name = f"{candidate.variant}: threshold {here.threshold}"
        if here.outcome is Outcome.UNKNOWN:
            yield _Answer(Outcome.UNKNOWN, f"{name} could not be measured")
        elif here.outcome is Outcome.INVALID and base_outcome is Outcome.VALID:
            yield _Answer(
                Outcome.INVALID, f"{name} fails with {here.value:g}; on {base.variant} it holds"
            )
        elif here.outcome is Outcome.INVALID and base_outcome is not Outcome.INVALID:
            yield _Answer(
                Outcome.UNKNOWN,
                f"{name} fails with {here.value:g}; on {base.variant} it is UNKNOWN",
            )


# --- one promise ----------------------------------------------------------------------------------


def _promises(base: VariantVerdict, candidate: VariantVerdict) -> Iterable[_Comparison]:
    there = {promise.promise: promise for promise in base.promises}
    for here in candidate.promises:
        yield _compare(base, candidate, there[here.promise], here)


def _compare(
    base: VariantVerdict, candidate: VariantVerdict, there: PromiseVerdict, here: PromiseVerdict
) -> _Comparison:
    """INVALID here is worse than VALID there; on both, the rates decide; UNKNOWN stays unknown."""
    name = f"{candidate.variant}: {here.promise}"
    if here.outcome is Outcome.VALID:
        return _Comparison()
    if here.outcome is Outcome.UNKNOWN:
        return _said(Outcome.UNKNOWN, f"{name} is UNKNOWN: {here.reason}")
    broken = f"{here.count} in {counted(here.exposure, here.exposure_name)}"
    if there.outcome is Outcome.VALID:
        held = f"on {base.variant} it held over {counted(there.exposure, there.exposure_name)}"
        return _said(Outcome.INVALID, f"{name} is broken ({broken}); {held}")
    if there.outcome is Outcome.UNKNOWN:
        return _said(
            Outcome.UNKNOWN,
            f"{name} is broken ({broken}); on {base.variant} it is UNKNOWN: {there.reason}",
        )
    return _rates(base, candidate, there, here)


def _rates(
    base: VariantVerdict, candidate: VariantVerdict, there: PromiseVerdict, here: PromiseVerdict
) -> _Comparison:
    exposure, base_exposure, what = here.exposure, there.exposure, here.exposure_name
    if here.exposure_name != there.exposure_name:  # one of them met no collision at all
        what = _COMMON_EXPOSURE
        exposure = int(candidate.counters.get(what, 0))
        base_exposure = int(base.counters.get(what, 0))
    name = f"{candidate.variant}: {here.promise}"
    if exposure <= 0 or base_exposure <= 0:
        nobody = candidate.variant if exposure <= 0 else base.variant
        reason = f"{name} is broken on both, and {nobody} met no {spoken(what)} to rate it by"
        return _said(Outcome.UNKNOWN, reason)
    return _Comparison(
        p=rate_is_higher_p(here.count, exposure, there.count, base_exposure),
        rates=f"{name} is broken {_times(here.count)} in {counted(exposure, what)}, "
        f"on {base.variant} {_times(there.count)} in {base_exposure}",
    )


def _said(outcome: Outcome, reason: str) -> _Comparison:
    return _Comparison(said=_Answer(outcome, reason))


def _shared_level(comparisons: Sequence[_Comparison]) -> list[_Answer]:
    """The answers of all comparisons, the level shared over them by Holm's method."""
    by_p = sorted(range(len(comparisons)), key=lambda index: (comparisons[index].p, index))
    levels: dict[int, float] = {}
    for rank, index in enumerate(by_p):
        level = SIGNIFICANCE / (len(comparisons) - rank)
        if comparisons[index].p >= level:
            break
        levels[index] = level
    answers: list[_Answer] = []
    for index, comparison in enumerate(comparisons):
        if comparison.said is not None:
            answers.append(comparison.said)
        elif index in levels:
            reason = (
                f"{comparison.rates}: more often (p = {comparison.p:.2g} < {levels[index]:.2g})"
            )
            answers.append(_Answer(Outcome.INVALID, reason))
        elif comparison.rates:
            reason = f"{comparison.rates}: no worse (p = {comparison.p:.2g})"
            answers.append(_Answer(Outcome.VALID, reason))
    return answers


def _all_good(base: VariantVerdict, candidates: Sequence[VariantVerdict]) -> str:
    names = ", ".join(candidate.variant for candidate in candidates)
    return f"no promise and no threshold is worse than on {base.variant} on {names}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
