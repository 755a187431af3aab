"""The judge: a plan and a history become one verdict per variant.

    History ──► Timeline per variant ─┬─ the plan's promises ─► checkers ─► PromiseVerdict
                                      ├─ the plan's exposures ────────────► ExposureVerdict
                                      └─ counters ─► thresholds ──────────► ThresholdVerdict

A variant is INVALID if a promise or a threshold is; UNKNOWN if something could not be seen, a
required exposure was not met, the run was cut short, or nothing ran; VALID otherwise. A promise
whose own danger was never met, and a checker that raises, are UNKNOWN, never VALID. The judge reads
nothing but its two arguments, so a stored run can be judged again by tomorrow's checkers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from chaos import thresholds
from chaos.checkers import by_name
from chaos.checkers.checker import Checker
from chaos.counters import KEY_ERROR, counted, spoken, values
from chaos.event import CONTROLLER
from chaos.history import History, concerns
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.verdict import (
    ExposureVerdict,
    Finding,
    Judgement,
    Outcome,
    PromiseVerdict,
    ThresholdVerdict,
    VariantVerdict,
    worst,
)

FINDINGS_KEPT = 20
ALWAYS_SHOWN = ("slot_collisions",)
_NEVER_MET = "the danger was never met"


class Judged(NamedTuple):
    """The verdicts of all variants and the timelines that they were drawn from, in one order."""

    variants: tuple[VariantVerdict, ...]
    timelines: tuple[Timeline, ...]


def judge(plan: Plan, history: History) -> Judged:
    """Judge every variant of a history, in the order in which the run named them.

    Raises:
        UsageError: the plan names a promise that does not exist.
    """
    checkers = [by_name(name) for name in plan.promises]
    timelines = fold(history, plan.slack_us)
    variants = tuple(_judge_variant(plan, timeline, checkers) for timeline in timelines)
    return Judged(variants, timelines)


def judge_timeline(plan: Plan, timeline: Timeline) -> VariantVerdict:
    """Judge one variant by the fold of its whole history.

    Raises:
        UsageError: the plan names a promise that does not exist.
    """
    return _judge_variant(plan, timeline, [by_name(name) for name in plan.promises])


def failed_early(plan: Plan, timeline: Timeline) -> tuple[str, ...]:
    """The thresholds with `abort_on_fail` that a run which still goes on has failed for good."""
    if not any(threshold.abort_on_fail for threshold in plan.thresholds):
        return ()
    return thresholds.failed_early(plan, values(timeline))


def fold(history: History, slack_us: int) -> tuple[Timeline, ...]:
    """The timelines of all variants of a history, in one pass over it."""
    timelines = {variant: Timeline(variant, slack_us) for variant in history.variants()}
    for event in history:
        if event.host != CONTROLLER:
            timeline = timelines.get(event.variant)
            if timeline is not None:
                timeline.feed(event)
            continue
        for variant, timeline in timelines.items():
            if concerns(event, variant):
                timeline.feed(event)
    return tuple(timelines.values())


def judge_promise(plan: Plan, timeline: Timeline, checker: Checker) -> PromiseVerdict:
    """One promise on one variant. A checker that raises proves nothing: UNKNOWN, with its error."""
    try:
        judgement = checker.check(plan, timeline)
    except Exception as error:  # noqa: BLE001 - whatever a checker raises must not look green
        text = f"the checker raised {type(error).__name__}: {error}"
        judgement = Judgement(unknown=text)
    name = judgement.exposure_name or checker.exposure
    outcome, reason = _outcome(judgement, name)
    return PromiseVerdict(
        promise=checker.name,
        outcome=outcome,
        count=len(judgement.findings),
        exposure=judgement.exposure,
        exposure_name=name,
        reason=reason,
        kinds=_kinds(judgement.findings),
        findings=judgement.findings[:FINDINGS_KEPT],
    )


def _judge_variant(plan: Plan, timeline: Timeline, checkers: list[Checker]) -> VariantVerdict:
    counters = values(timeline)
    promises = tuple(judge_promise(plan, timeline, checker) for checker in checkers)
    exposures = _exposures(plan, counters)
    limits = thresholds.judge(plan, counters)
    incomplete = tuple(_incomplete(timeline))
    outcomes = [promise.outcome for promise in promises]
    outcomes += [threshold.outcome for threshold in limits]
    if incomplete or not all(exposure.met for exposure in exposures):
        outcomes.append(Outcome.UNKNOWN)
    return VariantVerdict(
        variant=timeline.variant,
        outcome=worst(outcomes),
        promises=promises,
        exposures=exposures,
        thresholds=limits,
        counters=counters,
        reasons=(*reasons(promises, exposures, limits), *incomplete),
        incomplete=incomplete,
        server=timeline.server,
        first_key_error_us=_first_key_error_us(timeline),
    )


def _outcome(judgement: Judgement, exposure: str) -> tuple[Outcome, str]:
    """What a judgement is worth, and why it is not VALID."""
    if judgement.findings:
        return Outcome.INVALID, judgement.unknown
    if judgement.unknown:
        return Outcome.UNKNOWN, judgement.unknown
    if not judgement.exposure:
        return Outcome.UNKNOWN, unmet(exposure)
    return Outcome.VALID, ""


def unmet(exposure: str) -> str:
    """The reason of a promise that nothing put at risk."""
    return f"{_NEVER_MET}: no {spoken(exposure)}"


def is_unmet(promise: PromiseVerdict) -> bool:
    """Whether nothing put the promise at risk, and it could have been judged otherwise."""
    return promise.outcome is Outcome.UNKNOWN and promise.reason.startswith(_NEVER_MET)


def _kinds(findings: Iterable[Finding]) -> dict[str, int]:
    return dict(sorted(Counter(finding.kind for finding in findings).items()))


def _exposures(plan: Plan, counters: dict[str, float]) -> tuple[ExposureVerdict, ...]:
    """What the plan requires, then what is worth showing anyway."""
    names = dict.fromkeys((*plan.exposures, *ALWAYS_SHOWN))
    return tuple(
        ExposureVerdict(
            exposure=name, count=int(counters.get(name, 0)), required=plan.exposures.get(name, 0)
        )
        for name in names
    )


# --- why a run proves nothing ---------------------------------------------------------------------


def _incomplete(timeline: Timeline) -> Iterable[str]:
    if not timeline.attempts.by_id:
        yield "nothing ran: the history holds no attempt"
    for limit in timeline.limits:
        yield f"a limit of the plan ended the run: {limit.limit}"
    ended = timeline.run_ended
    if ended is not None and ended.reason != "finished":
        yield f"the run was cut short: {ended.reason}"
    elif ended is None and timeline.run_began is not None:
        yield "the history has no end: the run was cut short"
    for window in timeline.faults.windows.values():
        if window.healed is not None and window.healed.error:
            fault = f"{window.injected.fault} {window.injected.number}"
            yield f"fault {fault} did not go as planned: {window.healed.error}"


def reasons(
    promises: tuple[PromiseVerdict, ...],
    exposures: tuple[ExposureVerdict, ...],
    limits: tuple[ThresholdVerdict, ...],
) -> Iterable[str]:
    """Why an outcome is not VALID, one sentence each."""
    for promise in promises:
        if promise.outcome is Outcome.INVALID:
            yield f"{promise.promise} was broken {times(promise.count)} ({kinds(promise.kinds)})"
        elif promise.outcome is Outcome.UNKNOWN:
            yield f"{promise.promise} is UNKNOWN: {promise.reason}"
    for exposure in exposures:
        if not exposure.met:
            yield (
                f"too little danger: {counted(exposure.count, exposure.exposure)}, "
                f"and the plan wants {exposure.required}"
            )
    for limit in limits:
        if limit.outcome is Outcome.INVALID:
            yield f"threshold {limit.threshold} failed: it is {limit.value:g}"
        elif limit.outcome is Outcome.UNKNOWN:
            yield f"threshold {limit.threshold} is UNKNOWN: nothing was measured"


def _first_key_error_us(timeline: Timeline) -> int | None:
    errors = (error for error in timeline.errors.all() if error.kind == KEY_ERROR)
    first = min((error.first.t_us for error in errors), default=None)
    return None if first is None else first - (timeline.first_load_us or 0)


def times(count: int) -> str:
    """`once`, `3 times`."""
    return "once" if count == 1 else f"{count} times"


def kinds(counts: dict[str, int]) -> str:
    """`KeyError 30, AssertionError 7`, the most frequent first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{kind} {count}" for kind, count in ranked)
