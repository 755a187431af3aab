"""What the parts of the probe share: the probe of one host, its attempts, its calls.

Context variables say on whose behalf code runs. `process()` sets ATTEMPT; the body's task and its
pool thread inherit it. A queue call that makes other calls sets CALL, so that those name it as
their parent. Upkeep tasks carry HOST, since in the simulator several hosts share one process.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from .digest import keyed
from .events import Kind, Op, Outcome
from .failures import describe, is_end, mark, mark_of
from .joined import (
    BEGAN,
    OFF_THE_PATH,
    REGISTERED,
    REMOVED,
    RETURNED,
    RUNNING,
    settle,
)
from .recorder import Sink

SEPARATOR = "\x1f"
SHORT_TEXT = 200
_to_json = json.JSONEncoder(separators=(",", ":")).encode
_U16 = 0xFFFF
UPKEEP = {
    Op.POLL_ABORTS: "abort",
    Op.POLL_SCHEDULE: "schedule",
    Op.SWEEP: "sweep",
    Op.WORKER_INFO: "worker_info",
}
_OK = int(Outcome.OK)  # plain numbers: these are looked up for every job
_ATTEMPT_BEGAN = int(Kind.ATTEMPT_BEGAN)
_JOB_RUNNING = int(Kind.JOB_RUNNING)
_JOB_FINISHED = int(Kind.JOB_FINISHED)
_BODY_BEGAN = int(Kind.BODY_BEGAN)
_BODY_ENDED = int(Kind.BODY_ENDED)
_PROCESS_ENDED = int(Kind.PROCESS_ENDED)


class Attempt:
    """One `process()` call: a waiting slot at first, an attempt once `dequeue` gave it a job.

    The defaults stand in the class, and `probe` in a subclass for each probe: an instance is made
    for every job, and most fields of it never change.
    """

    probe: Probe
    number = 0
    job = ""
    context: Any = None  # saq's own context object, once it is registered
    reachable = False  # whether abort() finds that context
    body_began = False
    ended = False  # its body or its process(): the first of them to end
    body_error: BaseException | None = None
    place = OFF_THE_PATH  # how far it has come on the path of `joined.py`, and what waits there:
    call = 0
    stamp = 0
    text = ""

    def end(self) -> None:
        """Body or `process()` has ended. After both, let go of the context.

        Its task carries the context variables, and with them this attempt: a circle that would
        leave the work of every job to the garbage collector.
        """
        if self.ended or not self.body_began:
            self.context = None
        self.ended = True

    def aborted(self) -> str | None:
        """What this attempt's own context says now."""
        return None if self.context is None else self.context["aborted"]


class Call:
    """One call of saq's that can make others, or that is recorded only if it did something."""

    __slots__ = ("announced", "attempt", "job", "number", "op", "parent", "probe", "text")

    def __init__(self, probe: Probe, op: Op, text: str = "") -> None:
        self.probe = probe
        self.op = op
        self.number = probe.next_call()
        self.parent = CALL.get()
        self.job: Any = None
        self.attempt = 0
        self.text = text  # status, detail
        self.announced = False

    def of(self, job: Any) -> None:
        """The job that this call is about."""
        self.job = job
        self.attempt = self.probe.attempt_of(job.key)

    def announce(self) -> None:
        """Record that it was invoked, after its parent; once."""
        if self.announced:
            return
        self.announced = True
        self.probe.record(
            Kind.CALL_INVOKED,
            self.job.key if self.job is not None else "",
            self.attempt,
            self.number,
            stamp_of(self.job),
            with_parent(self.text, self.parent),
            self.op,
        )

    def returned(self, outcome: Outcome, detail: str = "") -> None:
        """Record how it came back."""
        self.announce()
        self.probe.record(
            Kind.CALL_RETURNED,
            self.job.key if self.job is not None else "",
            self.attempt,
            self.number,
            stamp_of(self.job),
            detail,
            self.op | outcome << 4,
        )

    def raised(self, error: BaseException) -> None:
        """Record that it raised or was cancelled."""
        self.returned(outcome_of(error), "" if is_end(error) else type(error).__name__)


class Probe:
    """The observer of one host: where its events go, and its counters.

    `close()` takes every wrapper off again.
    """

    def __init__(self, sink: Sink, salt: str) -> None:
        self.record = sink.record
        self.can_join = getattr(sink, "takes_joined", False)
        self.joins = False  # whether attempts that begin now are on the path of `joined.py`
        self.digest = keyed(salt)
        self.no_kwargs = self.digest(None)
        self.attempt: type[Attempt] = type("Attempt", (Attempt,), {"probe": self})
        self.next_call: Callable[[], int] = itertools.count(1).__next__
        self.attempts = 0
        self.live: dict[int, Attempt] = {}  # attempts whose context is registered, in order
        self.in_threads: set[str] = set()  # names of sync functions: asked, never iterated
        self.worker: Any = None
        self.stopping = False
        self._undo: list[Callable[[], None]] = []
        self._blind: set[str] = set()  # asked, never iterated

    def begin(self, attempt: Attempt, job: Any) -> None:
        """`dequeue` returned a job inside `process()`."""
        self.attempts = attempt.number = number = self.attempts + 1
        attempt.job = key = job.key
        tries, retries, kwargs = job.attempts, job.retries, job.kwargs
        if not (0 <= tries <= _U16 and 0 <= retries <= _U16):
            tries, retries = min(max(tries, 0), _U16), min(max(retries, 0), _U16)
        text = f"{job.function}{SEPARATOR}{self.digest(kwargs) if kwargs else self.no_kwargs}"
        if self.joins:
            attempt.place, attempt.stamp = BEGAN, job.queued
            attempt.text = f"{text}{SEPARATOR}{tries << 16 | retries}"
        else:
            self.record(_ATTEMPT_BEGAN, key, number, tries << 16 | retries, job.queued, text)

    def stop_joining(self) -> None:
        """From now on everything is recorded event by event."""
        self.joins = False
        for attempt in self.live.values():
            if attempt.place:
                settle(attempt)

    def acting(self) -> Attempt | None:
        """The attempt on whose behalf a job's function is called; None for any other call of it."""
        attempt = ATTEMPT.get()
        if attempt is None or not attempt.number:
            self.blind("process", "a job's function ran outside any process() that the probe saw")
            return None
        return None if attempt.body_began else attempt

    def body_began(self, attempt: Attempt, thread: int) -> None:
        """Its first line runs next, in the event loop (0) or in a thread (1)."""
        attempt.body_began = True
        if attempt.place == REGISTERED:
            attempt.place = RUNNING
            self.record(_JOB_RUNNING, attempt.job, attempt.number, attempt.call, attempt.stamp)
            return
        if attempt.place:
            settle(attempt)
        self.record(_BODY_BEGAN, attempt.job, attempt.number, 0, 0, "", thread)
        if attempt.context is None:
            self.blind("contexts", "an attempt ran that was not registered in job_task_contexts")

    def body_ended(self, attempt: Attempt) -> None:
        """Its last line has run."""
        if attempt.place == RUNNING:
            attempt.place = RETURNED
        else:
            if attempt.place:
                settle(attempt)
            self.record(_BODY_ENDED, attempt.job, attempt.number, 0, 0, "", _OK)
        attempt.end()

    def body_raised(self, attempt: Attempt, error: BaseException) -> None:
        """It let an exception out."""
        if attempt.place:
            settle(attempt)
        code = Outcome.CANCELLED if is_end(error) else Outcome.RAISED
        name = "" if is_end(error) else type(error).__name__
        if attempt.number in self.live and not is_end(error):
            attempt.body_error = error
        self.record(_BODY_ENDED, attempt.job, attempt.number, text=name, code=code)
        attempt.end()

    def cancelled(self, attempt: Attempt) -> None:
        """A cancel reached its body."""
        if attempt.place:
            settle(attempt)
        aborted = attempt.aborted()
        code = int(aborted is not None)
        self.record(
            Kind.BODY_CANCELLED, attempt.job, attempt.number, text=short(aborted), code=code
        )

    def process_ended(self, attempt: Attempt, result: Any) -> None:
        """`process()` came back, with an attempt or without one."""
        number = attempt.number
        if not number:
            return
        self.live.pop(number, None)
        if attempt.body_error is not None:
            attempt.body_error = None
        if attempt.place == REMOVED and result:
            attempt.place = OFF_THE_PATH
            self.record(_JOB_FINISHED, attempt.job, number, attempt.call, attempt.stamp)
            attempt.end()
            return
        if attempt.place:
            settle(attempt)
        code = _OK if result else Outcome.EMPTY
        self.record(_PROCESS_ENDED, attempt.job, number, 0, 0, "", code)
        if result and not attempt.body_began and attempt.context is not None:
            self._check_body(attempt)
        attempt.end()

    def process_raised(self, attempt: Attempt, error: BaseException) -> None:
        """`process()` let an exception out, with an attempt or without one."""
        if attempt.place:
            settle(attempt)
        self.report(error, "process", attempt)
        self.live.pop(attempt.number, None)
        attempt.body_error = None
        if attempt.number:
            code = Outcome.CANCELLED if is_end(error) else Outcome.RAISED
            name = "" if is_end(error) else type(error).__name__
            self.record(_PROCESS_ENDED, attempt.job, attempt.number, text=name, code=code)
        attempt.end()

    def _check_body(self, attempt: Attempt) -> None:
        task = attempt.context["task"]
        if task.done() and not task.cancelled():
            self.blind("bodies", "an attempt's function ran that the probe had not wrapped")

    def upkeep_raised(self, error: BaseException, op: Op) -> None:
        """An upkeep poll failed while the worker was not stopping."""
        upkeep = HOST.get() is self and op in UPKEEP
        if upkeep and not is_end(error) and not self.worker.event.is_set():
            self.report(error, UPKEEP[op])

    def attempt_of(self, key: str) -> int:
        """The number of the calling attempt, if it is one of this key; else 0."""
        attempt = ATTEMPT.get()
        if attempt is None or attempt.job != key:
            return 0
        if attempt.place:
            settle(attempt)
        return attempt.number

    def fields(self, kind: Kind, job: str = "", attempt: int = 0, **fields: Any) -> None:
        """Record one of the rarer events, whose fields travel as JSON."""
        self.record(kind, job, attempt, text=_to_json(fields))

    def blind(self, what: str, reason: str) -> None:
        """Record that the probe cannot see something, once for each `what`."""
        if what not in self._blind:
            self._blind.add(what)
            self.fields(Kind.BLIND, what=what, reason=reason)

    def report(self, error: BaseException, where: str, attempt: Attempt | None = None) -> None:
        """Record an exception, once for each object (and attempt that raises it)."""
        number = attempt.number if attempt is not None else 0
        seen = mark_of(error)
        if is_end(error) or (seen is not None and seen.reported):
            return
        if attempt is not None and attempt.place:
            settle(attempt)
        found = describe(error, where, attempt, self.worker)
        self.fields(Kind.ERROR_RAISED, attempt.job if attempt is not None else "", number, **found)
        mark(error, found["origin"], where, reported=True)

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Set an instance attribute, and remember what was there.

        Raises:
            AttributeError: the object does not let itself be changed.
        """
        missing = object()
        before = vars(owner).get(name, missing)
        setattr(owner, name, value)

        def undo() -> None:
            if before is missing:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

        self._undo.append(undo)

    def on_close(self, undo: Callable[[], None]) -> None:
        """Run this when the probe is taken off."""
        self._undo.append(undo)

    def close(self) -> None:
        """Take every wrapper off again."""
        self.stop_joining()
        while self._undo:
            self._undo.pop()()


ATTEMPT: ContextVar[Attempt | None] = ContextVar("saq_chaos_attempt", default=None)
CALL: ContextVar[Call | None] = ContextVar("saq_chaos_call", default=None)
HOST: ContextVar[Probe | None] = ContextVar("saq_chaos_host", default=None)


def with_parent(text: str, parent: Call | None) -> str:
    """The text of a CALL_INVOKED: status, detail, and the call that made this one."""
    if parent is None:
        return text
    parent.announce()
    status, _, detail = text.partition(SEPARATOR)
    return f"{status}{SEPARATOR}{detail}{SEPARATOR}{parent.number}"


def stamp_of(job: Any) -> int:
    """Identity of the job's enqueue: its `queued` stamp in ms; 0 without a job."""
    return int(job.queued or 0) if job is not None else 0


def short(text: str | None) -> str:
    """An error text as the history may hold it.

    A reason such as `swept` is kept. A traceback may quote what a job was about: only the type of
    its exception is kept.
    """
    if not text:
        return ""
    text = str(text).strip()
    if "\n" in text:
        text = text.rpartition("\n")[2].partition(":")[0]
    return text[:SHORT_TEXT].replace(SEPARATOR, " ")


def outcome_of(error: BaseException) -> Outcome:
    """How a call or a body ended that raised this."""
    return Outcome.CANCELLED if is_end(error) else Outcome.FAIL
