"""The plain words that every report shares: headline, exit code, rates, bounds and evidence.

Kept apart from the formats so that text, HTML and Markdown cannot tell different stories about the
same verdict. "0 failures" is never said without its exposures and the 95 % bound (DESIGN, Words).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import msgspec

from chaos.counters import counted, is_time, spoken
from chaos.event import Event
from chaos.gate import EXIT_CODES
from chaos.history import History
from chaos.reports.escape import terminal
from chaos.verdict import (
    ExposureVerdict,
    Finding,
    GateVerdict,
    Outcome,
    PromiseVerdict,
    ThresholdVerdict,
    VariantVerdict,
    Verdict,
)

EXIT_MEANINGS = {
    0: "the gate passed",
    1: "the gate failed",
    2: "the request or the plan is wrong; nothing was started",
    3: "UNKNOWN: the danger was not met often enough, or something could not be seen",
    4: "the world failed: no verdict on saq can be drawn",
    130: "interrupted: the faults are healed and the partial report is kept",
}
_HEADLINES = {Outcome.VALID: "PASSED", Outcome.INVALID: "FAILED", Outcome.UNKNOWN: "UNKNOWN"}
_ENDED = {
    "interrupted": "INTERRUPTED: what was seen so far is judged",
    "failed": "WORLD FAILED: no verdict on saq can be drawn",
}
_ENDED_EARLY = {
    "aborted": " (ended early: a threshold failed)",
    "limit": " (ended early: a limit of the plan was reached)",
}
ALWAYS_SHOWN = ("attempts", "slot_collisions", "key_errors", "orphaned_contexts")
_HIDDEN_FIELDS = ("n", "t_us", "host", "traceback")


def exit_code(verdict: Verdict) -> int:
    """The exit code of a run (DESIGN, Exit codes): 130, then 4, then what the gate says."""
    ended = {"interrupted": 130, "failed": 4}.get(verdict.ended)
    return EXIT_CODES[verdict.gate.outcome] if ended is None else ended


def headline(verdict: Verdict) -> str:
    """One sentence that answers "may this ship?"."""
    answer = _gate_answer(verdict.gate)
    if verdict.ended in _ENDED:
        return f"{_ENDED[verdict.ended]}; {answer}"
    early = _ENDED_EARLY.get(verdict.ended, "")
    return f"{_HEADLINES[verdict.gate.outcome]}: {answer}{early}"


def _gate_answer(gate: GateVerdict) -> str:
    against = f" against {gate.baseline}" if gate.baseline else ""
    answers = {
        Outcome.VALID: "passed",
        Outcome.INVALID: "failed",
        Outcome.UNKNOWN: "cannot say",
    }
    return f"the {gate.gate} gate{against} {answers[gate.outcome]}"


def many(count: int, noun: str) -> str:
    """`1 event`, `2 events`, `1,204 events`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


NO_WORSE = ": no worse (p = "  # how the gate words a defect that the baseline has as often


def no_worse(gate: GateVerdict) -> tuple[str, ...]:
    """The gate's reasons that are none: what is broken here as on the baseline."""
    return tuple(reason for reason in gate.reasons if NO_WORSE in reason)


def gate_reasons(gate: GateVerdict) -> tuple[str, ...]:
    """What decided, one sentence each; the many "no worse" are one sentence, in their place."""
    found = no_worse(gate)
    if len(found) < 2:
        return gate.reasons
    reasons: list[str] = []
    for reason in gate.reasons:
        if NO_WORSE not in reason:
            reasons.append(reason)
        elif reason == found[0]:
            reasons.append(_all_no_worse(found))
    return tuple(reasons)


def _all_no_worse(found: tuple[str, ...]) -> str:
    tested = [(_p_value(reason), reason) for reason in found]
    p, reason = min(tested, key=lambda pair: pair[0])
    which = re.split(r" (?:is|was) broken", reason)[0]
    return (
        f"no worse on {len(found)} comparisons of what is broken on both; "
        f"smallest p {p:.2g} ({which}); verdict.json has each"
    )


def _p_value(reason: str) -> float:
    found = re.search(r"([\d.e+-]+)\)$", reason)
    return float(found[1]) if found is not None else 1.0


def percent(rate: float) -> str:
    """0.728 → "72.8 %", 0.00728 → "0.73 %", 0.00002 → "0.002 %": never more exact than is known."""
    value = rate * 100
    if value >= 10:
        return f"{value:.1f} %".replace(".0 ", " ")
    return f"{value:.2f} %" if value >= 0.01 or not value else f"{value:.1g} %"


def counter(name: str, value: float | None) -> str:
    """A counter's value in a table: times with their unit, `-` if there was nothing to measure."""
    if value is None:
        return "-"
    if not is_time(name):
        return number(value)
    return f"{value:.3g} s" if value >= 1 or not value else f"{value * 1_000:.3g} ms"


def number(value: float) -> str:
    """Counts without a point, measurements with at most three digits after it."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:.0f}" if value == int(value) else f"{value:.3f}".rstrip("0")


def rate_sentence(promise: PromiseVerdict) -> str:
    """`0 in 412 slot collisions: at most 0.73 % (95 %)`; says so when nothing was at risk."""
    name = promise.exposure_name or "exposures"
    if promise.exposure <= 0:
        return f"{promise.count} found; no {spoken(name)} were met, so no rate can be given"
    start = f"{promise.count} in {counted(promise.exposure, name)}: "
    measured = f"{percent(promise.count / promise.exposure)}, " if promise.count else ""
    return f"{start}{measured}at most {percent(promise.rate_bound)} (95 %)"


def exposure_sentence(exposure: ExposureVerdict) -> str:
    """How often a danger was met, and whether that is as often as the plan wants."""
    said = counted(exposure.count, exposure.exposure)
    if not exposure.required:
        return said
    if exposure.met:
        return f"{said} (the plan wants {exposure.required})"
    return f"{said}: too few, the plan wants {exposure.required}"


def threshold_sentence(threshold: ThresholdVerdict) -> str:
    """What was measured against what the plan allows."""
    value = "not measured" if threshold.value is None else f"measured {number(threshold.value)}"
    return f"{threshold.threshold}: {value}"


def kinds_sentence(promise: PromiseVerdict) -> str:
    """`KeyError 30, AssertionError 7`, the most frequent first."""
    ranked = sorted(promise.kinds.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{terminal(kind)} {count}" for kind, count in ranked)


def cell(promise: PromiseVerdict) -> str:
    """A promise in a table: its outcome, and how often it was broken."""
    return f"{promise.outcome} {promise.count}×" if promise.count else str(promise.outcome)


def promise_names(variants: Iterable[VariantVerdict]) -> tuple[str, ...]:
    """Every promise that was judged on any variant, in the order of the plan."""
    names = (promise.promise for variant in variants for promise in variant.promises)
    return tuple(dict.fromkeys(names))


def counter_names(variants: Iterable[VariantVerdict]) -> tuple[str, ...]:
    """Every counter that is not zero on every variant: a row of zeros tells nobody anything.

    Those of `ALWAYS_SHOWN` stay: that they are zero is the answer.
    """
    seen: dict[str, bool] = {}
    for variant in variants:
        for name, value in variant.counters.items():
            seen[name] = seen.get(name, name in ALWAYS_SHOWN) or value != 0
    return tuple(name for name, interesting in seen.items() if interesting)


def promise_of(variant: VariantVerdict, name: str) -> PromiseVerdict | None:
    """The verdict on one promise of this variant, if it was judged."""
    return next((one for one in variant.promises if one.promise == name), None)


def seconds(time_us: int) -> str:
    """A stamp as seconds since the run began, to the millisecond."""
    return f"{time_us / 1_000_000:.3f} s"


def evidence(finding: Finding, history: History | None, limit: int = 12) -> tuple[str, ...]:
    """The events that prove a finding, one line each. Without a history: their numbers.

    What does not fit into `limit` lines is counted, never dropped in silence.
    """
    if not finding.events:
        return ()
    if history is None:
        return ("events " + ", ".join(f"#{n}" for n in finding.events),)
    known = [n for n in sorted(finding.events) if 0 < n <= len(history)]
    lines = [event_line(history[n - 1]) for n in known[:limit]]
    rest = len(finding.events) - len(lines)
    return (*lines, f"… and {many(rest, 'more event')}") if rest else tuple(lines)


def event_line(event: Event) -> str:
    """`#17 at 1.204 s stock@0.26.3/worker-1.1 slot-missed job=k1 attempt=…`, in one line."""
    tag = type(event).__struct_config__.tag
    start = f"#{event.n} at {seconds(event.t_us)} {terminal(event.host)} {tag}"
    return " ".join(filter(None, (start, event_fields(event))))


def event_fields(event: Event) -> str:
    """`job=k1 attempt=#3`: what an event says beside its number, time, host and kind."""
    fields = msgspec.structs.asdict(event)
    defaults = {field.name: field.default for field in msgspec.structs.fields(type(event))}
    return " ".join(
        f"{name}={_short(event, value)}"
        for name, value in fields.items()
        if name not in _HIDDEN_FIELDS and value != defaults[name]
    )


def _short(event: Event, value: object) -> str:
    """An attempt of the event's own host is shown as `#3`: the host stands in the line already."""
    text = str(value)
    if text.startswith(f"{event.host}#"):
        text = text.removeprefix(event.host)
    return terminal(text, limit=160)
