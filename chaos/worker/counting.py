"""A sink that keeps numbers: what `instrument` counts of the events that the probe sees.

    probe ─► Counting.record() ─► one small state per attempt ─► counters

The rules are those of the chaos view (`chaos.timeline`), told again here in what one worker can
know by itself, since the fold is no part of what production installs. An attempt is forgotten once
its `process()` and its body are over. It knows no prometheus-client: a family is anything with
`labels(…)`, `inc()` and `dec()`.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

from .events import Kind, Op, Outcome
from .joined import PATH
from .recorder import Sink

FOREIGN = ("body", "hook", "timeout", "redis")
REASONS = ("overwritten", "foreign-pop", "outlived-by-body", "leaked")
ATTEMPT_OUTCOMES = ("complete", "failed", "aborted", "retried", "raised", "unrecorded")
ABORT_OUTCOMES = ("honoured", "ignored", "stray")
UNDECIDED_MAX = 1_000
_HAPPENED = (Outcome.OK, Outcome.EMPTY)


class Metric(NamedTuple):
    """One family. A counter's samples end in `_total`."""

    name: str
    kind: str
    labels: tuple[str, ...]
    words: tuple[str, ...]  # values of the label beside `variant`
    help: str


METRICS = (
    Metric(
        "saqchaos_key_errors_total", "counter", ("variant",), (),
        "KeyErrors that saq's own code raised.",
    ),
    Metric(
        "saqchaos_internal_errors_total", "counter", ("variant",), (),
        "Other exceptions that saq's own code raised.",
    ),
    Metric(
        "saqchaos_slot_collisions_total", "counter", ("variant",), (),
        "Contexts registered over a live attempt's slot.",
    ),
    Metric(
        "saqchaos_orphaned_contexts_now", "gauge", ("variant",), (),
        "Contexts that are orphaned now.",
    ),
    Metric(
        "saqchaos_orphaned_contexts_total", "counter", ("variant", "reason"), REASONS,
        "Contexts orphaned, in all.",
    ),
    Metric(
        "saqchaos_aborted_attempts_total", "counter", ("variant", "outcome"), ABORT_OUTCOMES,
        "Aborts and wrong cancels by outcome.",
    ),
    Metric(
        "saqchaos_attempts_total", "counter", ("variant", "outcome"), ATTEMPT_OUTCOMES,
        "Attempts ended, by outcome.",
    ),
)  # fmt: skip


class _Attempt:
    """What must be known of an attempt until it is over."""

    __slots__ = (
        "body", "cancelled", "errors", "job", "op", "orphaned", "process", "recorded", "removed",
        "slot", "timed_out",
    )  # fmt: skip

    def __init__(self, job: str) -> None:
        self.job = job
        self.slot = self.removed = False
        self.process = self.body = 0  # 0: not begun, 1: runs, 2: over
        self.orphaned = ""
        self.op = ""  # its last finish or retry: the status it wrote, or retried
        self.recorded: bool | None = None  # whether that call surely happened
        self.cancelled: bool | None = None  # the first cancel: for an abort, or for nothing of ours
        self.timed_out = False
        self.errors: list[str] = []


class Counting(Sink):
    """A sink that keeps numbers. Safe from any thread.

    Attributes:
        takes_joined: it knows the JOB_* records, so the probe may join events into them.
    """

    takes_joined = True

    def __init__(self, families: dict[str, Any], variant: str) -> None:
        self._lock = threading.Lock()
        self._attempts: dict[int, _Attempt] = {}
        self._by_job: dict[str, list[int]] = {}
        self._undecided: OrderedDict[str, int] = OrderedDict()  # aborted, and nothing recorded yet
        self._stopping = False
        self._upkeep = ("", "")  # the upkeep task that ended, until its exception is reported
        self._loose = ("", "")  # the last error without an attempt
        self._count: dict[tuple[str, str], Any] = {}
        for one in METRICS:
            for word in one.words or ("",):
                labels = (variant, word) if word else (variant,)
                self._count[one.name, word] = families[one.name].labels(*labels)

    def record(
        self,
        kind: int,
        job: str = "",
        attempt: int = 0,
        call: int = 0,
        number: int = 0,
        text: str = "",
        code: int = 0,
    ) -> None:
        """Take in one event, or the events that a JOB_* record stands for."""
        with self._lock:
            if kind in _JOINED:
                for one, its_code, its_text in _JOINED[kind]:
                    self._take(one, job, attempt, attempt, its_text, its_code)
            else:
                self._take(kind, job, attempt, number, text, code)

    def live(self) -> int:
        """How many attempts it keeps in mind."""
        return len(self._attempts)

    def _take(self, kind: int, job: str, attempt: int, number: int, text: str, code: int) -> None:
        if kind == Kind.ATTEMPT_BEGAN:
            self._attempts[attempt] = _Attempt(job)
            self._attempts[attempt].process = 1
            self._by_job.setdefault(job, []).append(attempt)
            return
        if kind == Kind.HOST_STOPPING:
            self._stopping = True
        elif kind == Kind.UPKEEP_ENDED:
            self._upkeep_ended(_fields(text))
        elif kind == Kind.ERROR_RAISED:
            self._raised(_fields(text), self._attempts.get(attempt))
        elif kind == Kind.CALL_RETURNED and code & 0xF == Op.FINISH_ABORT:
            self._finish_abort(job, code >> 4)
        known = self._attempts.get(attempt)
        if known is not None:
            self._of_attempt(kind, known, attempt, number, text, code)

    def _of_attempt(
        self, kind: int, known: _Attempt, attempt: int, number: int, text: str, code: int
    ) -> None:
        if kind == Kind.SLOT_SET:
            self._slot_set(known, attempt)
        elif kind in (Kind.SLOT_OVERWRITTEN, Kind.SLOT_REMOVED):
            overwritten = kind == Kind.SLOT_OVERWRITTEN
            by_other = "overwritten" if overwritten else "foreign-pop"
            self._slot_gone(known, "" if number == attempt else by_other)
        elif kind == Kind.BODY_BEGAN:
            known.body = 1
        elif kind == Kind.BODY_CANCELLED and known.cancelled is None:
            known.cancelled = bool(code)
        elif kind == Kind.BODY_ENDED:
            known.body = 2
            self._perhaps_over(known, attempt)
        elif kind == Kind.CALL_INVOKED and code in (Op.FINISH, Op.RETRY):
            known.op = "retried" if code == Op.RETRY else text.partition("\x1f")[0]
            known.recorded = None
        elif kind == Kind.CALL_RETURNED and code & 0xF in (Op.FINISH, Op.RETRY):
            known.recorded = True if code >> 4 in _HAPPENED else None
        elif kind == Kind.PROCESS_ENDED:
            known.process = 2
            self._add("saqchaos_attempts_total", _outcome(known, code))
            self._perhaps_over(known, attempt)

    # --- contexts ---------------------------------------------------------------------------------

    def _slot_set(self, known: _Attempt, attempt: int) -> None:
        known.slot = True
        for other in self._by_job.get(known.job, ()):
            one = self._attempts[other]
            if other != attempt and one.slot and one.process == 1:
                self._add("saqchaos_slot_collisions_total")
                return

    def _slot_gone(self, known: _Attempt, by_other: str) -> None:
        if known.removed:
            return
        known.removed = True
        if known.body == 2:
            return
        if by_other and (known.body == 1 or known.process == 1):
            self._orphan(known, by_other)
        elif not by_other and known.body == 1:
            self._orphan(known, "outlived-by-body")

    def _orphan(self, known: _Attempt, reason: str) -> None:
        known.orphaned = reason
        self._add("saqchaos_orphaned_contexts_total", reason)
        self._count["saqchaos_orphaned_contexts_now", ""].inc()

    def _perhaps_over(self, known: _Attempt, attempt: int) -> None:
        """After both `process()` and the body: judge what is left, and forget the attempt."""
        if known.process != 2 or known.body == 1:
            return
        if known.orphaned:
            self._count["saqchaos_orphaned_contexts_now", ""].dec()
        elif known.slot and not known.removed:
            self._add("saqchaos_orphaned_contexts_total", "leaked")
        self._judge_cancel(known)
        del self._attempts[attempt]
        others = self._by_job[known.job]
        others.remove(attempt)
        if not others:
            del self._by_job[known.job]

    # --- aborts -----------------------------------------------------------------------------------

    def _judge_cancel(self, known: _Attempt) -> None:
        if known.cancelled is None:
            return
        if not known.cancelled:
            if not known.timed_out and not self._stopping:
                self._add("saqchaos_aborted_attempts_total", "stray")
        elif known.op and known.recorded:
            honoured = known.op == "aborted"
            self._add("saqchaos_aborted_attempts_total", "honoured" if honoured else "ignored")
        elif not known.op:
            self._undecided[known.job] = self._undecided.get(known.job, 0) + 1
            if len(self._undecided) > UNDECIDED_MAX:
                self._decide(next(iter(self._undecided)), "ignored")

    def _finish_abort(self, job: str, outcome: int) -> None:
        """The worker recorded the abort itself, after the attempt had ended without a word."""
        if job in self._undecided and outcome in _HAPPENED:
            self._decide(job, "honoured")

    def _decide(self, job: str, outcome: str) -> None:
        self._add("saqchaos_aborted_attempts_total", outcome, self._undecided.pop(job))

    # --- errors -----------------------------------------------------------------------------------

    def _raised(self, said: dict[str, Any], known: _Attempt | None) -> None:
        """An exception; one of saq's own counts once for each attempt and type."""
        origin, where, error = (str(said.get(name, "")) for name in ("origin", "where", "error"))
        if known is not None and origin == "timeout":
            known.timed_out = True
        if origin in FOREIGN:
            return
        if known is not None:
            if error in known.errors:
                return
            known.errors.append(error)
        elif (where, error) == self._upkeep:
            self._upkeep = ("", "")
            return
        else:
            self._loose = (where, error)
        is_key_error = error == "KeyError" and origin != "unknown-function"
        self._add("saqchaos_key_errors_total" if is_key_error else "saqchaos_internal_errors_total")

    def _upkeep_ended(self, said: dict[str, Any]) -> None:
        """An upkeep task is over, which is an error; perhaps one that was seen already."""
        ended = (str(said.get("task", "")), str(said.get("error", "")))
        if ended == self._loose:
            return
        self._upkeep = ended
        name = "key_errors" if ended[1] == "KeyError" else "internal_errors"
        self._add(f"saqchaos_{name}_total")

    def _add(self, name: str, word: str = "", count: int = 1) -> None:
        self._count[name, word].inc(count)


def _joined() -> dict[int, tuple[tuple[int, int, str], ...]]:
    """The events that each JOB_* record stands for: kind, code, text."""
    found: dict[int, tuple[tuple[int, int, str], ...]] = {}
    waiting: list[tuple[int, int, str]] = [(Kind.ATTEMPT_BEGAN, 0, "")]
    for step in PATH:
        waiting.append((step.kind, int(step.code), step.text))
        if step.writes:
            found[step.writes] = tuple(waiting)
            waiting = []
    return found


_JOINED = _joined()


def _fields(text: str) -> dict[str, Any]:
    found = json.loads(text)
    return found if isinstance(found, dict) else {}


def _outcome(known: _Attempt, code: int) -> str:
    """What the attempt recorded last; otherwise how it ended."""
    if code == Outcome.RAISED:
        return "raised"
    if not known.recorded or known.op not in ATTEMPT_OUTCOMES:
        return "unrecorded"
    return known.op
