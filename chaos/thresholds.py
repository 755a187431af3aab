"""Thresholds: `counter op number[unit]`, judged over one variant's counters.

    key_errors == 0      aborts_lost < 5      job_wait_p99 < 2s

A counter of time takes a duration, every other one a plain number. A counter that was never
measured, such as a percentile of nothing, makes a threshold UNKNOWN.
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from chaos.clock import SECOND_US, parse_duration_us
from chaos.counters import COUNTERS, is_time
from chaos.plan import Plan
from chaos.verdict import Outcome, ThresholdVerdict

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}
_FORM = re.compile(r"\s*([A-Za-z_]\w*)\s*(==|!=|<=|>=|<|>)\s*(\S.*?)\s*")
_NUMBER = re.compile(r"\d+(\.\d+)?")


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed threshold. `limit` is a count, or seconds for a counter of time."""

    text: str
    counter: str
    op: str
    limit: float

    @property
    def can_abort(self) -> bool:
        """Whether `abort_on_fail` means anything: a minimum can only be judged at the end."""
        return self.op in ("==", "<", "<=")

    def judge(self, counters: Mapping[str, float]) -> ThresholdVerdict:
        """Whether it holds over these counters."""
        value = counters.get(self.counter)
        if value is None:
            return ThresholdVerdict(threshold=self.text, outcome=Outcome.UNKNOWN)
        holds = OPERATORS[self.op](value, self.limit)
        outcome = Outcome.VALID if holds else Outcome.INVALID
        return ThresholdVerdict(threshold=self.text, outcome=outcome, value=value)


def parse(text: str) -> Threshold:
    """Read one threshold.

    Raises:
        ValueError: it is none; the message shows the text, what is wrong and the accepted form.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r} is no threshold: write `counter op number`, such as 'key_errors == 0' or "
            f"'job_wait_p99 < 2s'; op is one of {', '.join(OPERATORS)}"
        )
    counter, op, limit = match[1], match[2], match[3]
    if counter not in COUNTERS:
        raise ValueError(f"{text!r}: no counter is called {counter!r}; {_there_are(counter)}")
    return Threshold(text=text.strip(), counter=counter, op=op, limit=_limit(text, counter, limit))


def judge(plan: Plan, counters: Mapping[str, float]) -> tuple[ThresholdVerdict, ...]:
    """Judge every threshold of the plan over one variant's counters, in the plan's order."""
    return tuple(parse(threshold.that).judge(counters) for threshold in plan.thresholds)


def failed_early(plan: Plan, counters: Mapping[str, float]) -> tuple[str, ...]:
    """The thresholds with `abort_on_fail` that these counters fail while the run still goes on.

    One that can only be judged at the end, because its counter may still grow into it
    (`slot_collisions >= 300`, `kills == 3`), is not among them before that.
    """
    failed: list[str] = []
    for spec in plan.thresholds:
        threshold = parse(spec.that)
        if spec.abort_on_fail and threshold.can_abort:
            verdict = threshold.judge(counters)
            if verdict.outcome is Outcome.INVALID and _is_final(threshold, verdict.value):
                failed.append(f"{threshold.text} (it is {verdict.value:g})")
    return tuple(failed)


def _is_final(threshold: Threshold, value: float | None) -> bool:
    """Whether growth cannot make it hold again: `== 5` with 3 so far may still come true."""
    return value is not None and (threshold.op != "==" or value > threshold.limit)


def _limit(text: str, counter: str, limit: str) -> float:
    if is_time(counter):
        try:
            return parse_duration_us(limit) / SECOND_US
        except ValueError:
            raise ValueError(
                f"{text!r}: {counter} is a time, and {limit!r} is no duration: "
                "write a number and us, ms, s, m or h, such as '2s'"
            ) from None
    if _NUMBER.fullmatch(limit) is None:
        raise ValueError(f"{text!r}: {limit!r} is no number: {counter} is compared with one")
    return float(limit)


def _there_are(counter: str) -> str:
    close = difflib.get_close_matches(counter, COUNTERS, n=1)
    meant = f"did you mean {close[0]!r}? " if close else ""
    return f"{meant}There are: {_list(COUNTERS)}"


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
