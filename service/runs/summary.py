"""A verdict as the API shows it: promises and counters per variant, the gate's answer, an outcome.

The runner makes it when a run ends; recovery makes it from the verdict of a run that was cut off.
"""

from __future__ import annotations

import math
from typing import get_args

from chaos.reports import words
from chaos.verdict import GateVerdict, Outcome, VariantVerdict, Verdict
from service.models import GateSummary, Judgement, PromiseSummary, VariantSummary
from service.models import Outcome as RunOutcome

_PASSED = {Outcome.VALID: True, Outcome.INVALID: False, Outcome.UNKNOWN: None}
_JUDGEMENTS: dict[str, Judgement] = {word: word for word in get_args(Judgement)}
_OUTCOMES: dict[int, RunOutcome] = {0: "passed", 1: "failed", 3: "unknown", 130: "interrupted"}


def of_variants(verdict: Verdict) -> list[VariantSummary]:
    """How each variant did."""
    return [_variant(one) for one in verdict.variants]


def of_gate(gate: GateVerdict) -> GateSummary:
    """What the gate said."""
    return GateSummary(kind=gate.gate, passed=_PASSED[gate.outcome], reasons=list(gate.reasons))


def exit_code(verdict: Verdict) -> int:
    """The exit code that `saq-chaos soak` would have had."""
    return words.exit_code(verdict)


def outcome(exit_code: int, *, stopped: bool) -> RunOutcome:
    """What an exit code means for a run; `stopped`: somebody asked it to end."""
    if exit_code == 130 and stopped:
        return "stopped"
    return _OUTCOMES.get(exit_code, "error")


def _variant(one: VariantVerdict) -> VariantSummary:
    promises = [
        PromiseSummary(
            promise=promise.promise,
            outcome=_JUDGEMENTS[promise.outcome.value],
            count=promise.count,
        )
        for promise in one.promises
    ]
    counters = {name: value for name, value in one.counters.items() if math.isfinite(value)}
    return VariantSummary(
        variant=one.variant,
        outcome=_JUDGEMENTS[one.outcome.value],
        promises=promises,
        counters=counters,
    )
