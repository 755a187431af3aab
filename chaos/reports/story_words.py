"""What each event means in plain words: who, what they do, and how much a story needs it.

    event ──► Said(actor, "puts the job back in the queue", weight, arrow, saq's line)

Each text is a verb phrase for its actor, so that a few of them make one sentence. One rule per kind
of event; which events a story tells is `story_items`' choice, by these weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from chaos import event as e
from chaos.reports.story_model import ATTEMPT, REDIS, SLOT
from chaos.reports.story_names import Names, shortened

SWEEP, HOST, NOBODY = "sweep", "host", "nobody"
Actor = tuple[str, str]
_LISTS = (("queued", "the queued list"), ("active", "the active list"))


class Said(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One event in words.

    Attributes:
        actor: attempt, sweep, host or nobody, and its full name.
        says: a verb phrase: "puts the job back in the queue".
        weight: how much a story needs it, from 0.
        towards: the kind of lane that it acts on; a host's name for a signal or fault.
        back: the arrow comes from there instead.
        missed: what it looked for was not there.
        detail: saq's own words for it: the call, the line, the error.
        also: events that are told together with it: a call's answer, what it implies.
    """

    event: e.Event
    actor: Actor
    says: str
    weight: int
    towards: str = ""
    back: bool = False
    missed: bool = False
    detail: str = ""
    also: tuple[e.Event, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its events."""
        return tuple(sorted(one.n for one in (self.event, *self.also)))


class Words:
    """Words for the events of one story.

    Args:
        events: all events of the scene: a call's answer and its parent are looked up there.
        enqueue_n: the number of the event that enqueued the job; what comes after it is "again".
    """

    def __init__(self, events: Iterable[e.Event], names: Names, enqueue_n: int = 0) -> None:
        self._names = names
        self._invoked: dict[tuple[str, int], e.CallInvoked] = {}
        self._returned: dict[tuple[str, int], e.CallReturned] = {}
        self._stopping: dict[str, int] = {}
        self._enqueue_n = enqueue_n
        self._timed_out: set[str] = set()
        for one in events:
            self._look_at(one)
        self._tellers: dict[type[e.Event], Callable[[Any], Said]] = {
            e.AttemptBegan: self._began,
            e.SlotSet: _slot_set,
            e.SlotOverwritten: self._overwritten,
            e.SlotRemoved: self._removed,
            e.SlotMissed: _slot_missed,
            e.BodyBegan: _body_began,
            e.BodyCancelled: self._cancelled,
            e.BodyEnded: _body_ended,
            e.ProcessEnded: _process_ended,
            e.ErrorRaised: self._error,
            e.UpkeepEnded: _upkeep_ended,
            e.CallInvoked: self._call,
            e.CallReturned: self._answer,
            e.JobState: _job_state,
            e.FaultInjected: self._injected,
            e.FaultHealed: self._healed,
            e.HostSignalled: self._signalled,
            e.HostExited: _exited,
            e.HostBegan: _host_began,
            e.HostStopping: _stopping,
            e.HostEnded: _host_ended,
            e.LimitReached: _limit,
        }

    def _look_at(self, one: e.Event) -> None:
        if isinstance(one, e.CallInvoked):
            self._invoked[one.host, one.call] = one
        elif isinstance(one, e.CallReturned):
            self._returned[one.host, one.call] = one
        elif isinstance(one, e.HostStopping):
            self._stopping.setdefault(one.host, one.n)
        elif isinstance(one, e.HostSignalled) and one.signal in ("SIGTERM", "SIGINT"):
            self._stopping.setdefault(one.target, one.n)
        elif isinstance(one, e.ErrorRaised) and one.origin == "timeout":
            self._timed_out.add(one.attempt)

    def of(self, event: e.Event) -> Said | None:
        """The event in words; None for one that tells a reader nothing."""
        teller = self._tellers.get(type(event))
        return None if teller is None else teller(event)

    def actor(self, actor: Actor) -> str:
        """Who it is, for the beginning of a sentence."""
        kind, name = actor
        if kind == ATTEMPT:
            return self._names.attempt(name)
        if kind == SWEEP:
            return f"a sweep on {self._names.host(name.partition(' ')[0])}"
        return self._names.host(name) if kind == HOST else "something outside any attempt"

    # --- attempts ---------------------------------------------------------------------------------

    def _began(self, event: e.AttemptBegan) -> Said:
        tries = f"job.attempts was {event.tries} of {event.retries}" if event.retries else ""
        return Said(
            event=event, actor=(ATTEMPT, event.attempt), weight=60, towards=REDIS, back=True,
            says=f"of the job starts on {self._names.host(event.host)}",
            detail="queue.dequeue()" + (f", {tries}" if tries else ""),
        )  # fmt: skip

    def _overwritten(self, event: e.SlotOverwritten) -> Said:
        whose = self._names.attempt(event.attempt)
        return Said(
            event=event, actor=(ATTEMPT, event.by), weight=75, towards=SLOT,
            says=f"overwrites {whose}'s context in the slot with its own",
            detail="job_task_contexts[job] = …",
        )  # fmt: skip

    def _removed(self, event: e.SlotRemoved) -> Said:
        if event.by == event.attempt:
            return Said(
                event=event, actor=(ATTEMPT, event.by), weight=45, towards=SLOT,
                says="removes its context from the slot", detail="job_task_contexts.pop(job)",
            )  # fmt: skip
        actor = (ATTEMPT, event.by) if event.by else (NOBODY, event.host)
        whose = self._names.attempt(event.attempt)
        return Said(
            event=event, actor=actor, weight=75, towards=SLOT,
            says=f"empties the slot in its clean-up, although it holds {whose}'s context",
            detail="job_task_contexts.pop(job)",
        )  # fmt: skip

    def _error(self, event: e.ErrorRaised) -> Said:
        line, _, function = shortened(event.line, 60).partition(" ")
        at = f" at {line} in {function}()" if function else f" in {event.where}"
        says = {
            "internal": f"fails in saq's own code with {event.error}{at}",
            "body": f"gets {event.error} from the job's function",
            "hook": f"gets {event.error} from a hook of the application",
            "timeout": "exceeds its timeout",
            "redis": f"gets {event.error} from the connection to Redis",
            "unknown-function": "fails: the worker knows no function of that name",
        }.get(event.origin, f"raises {event.error}{at}")
        actor = (ATTEMPT, event.attempt) if event.attempt else (HOST, event.host)
        if not event.attempt and event.where not in ("process", "log", "loop"):
            says = f"{says} (its upkeep task {event.where})"
        detail = ": ".join(filter(None, (event.error, shortened(event.message, 160))))
        return Said(
            event=event, actor=actor, says=says, detail=detail,
            weight=85 if event.origin in ("internal", "unknown-function") else 50,
        )  # fmt: skip

    def _cancelled(self, event: e.BodyCancelled) -> Said:
        if event.aborted is not None:
            says = "is cancelled for an abort"
        elif event.attempt in self._timed_out:
            says = "is cancelled by its timeout"
        elif self._stopping.get(event.host, event.n) < event.n:
            says = f"is cancelled because {self._names.host(event.host)} stops"
        else:
            says = "is cancelled, although nothing says why"
        detail = "None" if event.aborted is None else repr(shortened(event.aborted, 60))
        return Said(
            event=event, actor=(ATTEMPT, event.attempt), says=says, weight=64,
            detail=f"aborted = {detail}",
        )  # fmt: skip

    # --- calls ------------------------------------------------------------------------------------

    def _call(self, event: e.CallInvoked) -> Said:
        says, weight = _of_call(event, self._parents(event))
        returned = self._returned.get((event.host, event.call))
        if returned is None:
            says = f"{says} (nobody knows whether that happened: no answer came)"
            weight += 5
        if event.op == "enqueue" and event.n > self._enqueue_n > 0:
            says = says.replace("the job", "the job again")
        if returned is not None and returned.outcome == "empty" and event.op == "enqueue":
            says = f"{says} and is refused"
        job = "" if event.op == "sweep" else "job"
        status = f", {event.status.upper()}" if event.status else ""
        why = f", {shortened(event.detail.strip(), 60)!r}" if event.op in ("abort", "retry") else ""
        return Said(
            event=event, actor=self._caller(event), says=says, weight=weight, towards=REDIS,
            detail=f"queue.{event.op}({job}{status}{why if event.detail else ''})",
        )  # fmt: skip

    def _answer(self, event: e.CallReturned) -> Said:
        invoked = self._invoked.get((event.host, event.call))
        actor = self._caller(invoked or event)
        done = _DONE.get(event.op, f"has its answer to {event.op}")
        if event.outcome in ("fail", "cancelled"):
            what = event.detail or "cancelled"
            says = f"gets no answer to that ({what}), so nobody knows whether it happened"
            return Said(event=event, actor=actor, says=says, weight=62, towards=REDIS, back=True)
        if event.op == "enqueue" and event.outcome == "empty":
            done = "hears that its enqueue is refused"
        status = invoked.status.upper() if invoked is not None else ""
        return Said(
            event=event, actor=actor, weight=8, towards=REDIS, back=True,
            says=done.replace("STATUS", status or "over"),
        )  # fmt: skip

    def _caller(self, event: e.CallInvoked | e.CallReturned) -> Actor:
        if event.attempt:
            return ATTEMPT, event.attempt
        sweep = event if event.op == "sweep" else None
        if sweep is None and isinstance(event, e.CallInvoked):
            sweep = next((one for one in self._parents(event) if one.op == "sweep"), None)
        return (HOST, event.host) if sweep is None else (SWEEP, f"{sweep.host} {sweep.call}")

    def _parents(self, event: e.CallInvoked) -> tuple[e.CallInvoked, ...]:
        """The calls that made it, the nearest first."""
        parents: list[e.CallInvoked] = []
        one: e.CallInvoked | None = event
        for _ in range(5):
            one = self._invoked.get((one.host, one.parent)) if one is not None else None
            if one is None:
                break
            parents.append(one)
        return tuple(parents)

    # --- faults and signals -----------------------------------------------------------------------

    def _injected(self, event: e.FaultInjected) -> Said:
        return Said(
            event=event, actor=(HOST, e.CONTROLLER), weight=35,
            says=f"injects the fault {event.fault!r}", detail=f"{event.fault} {event.number}",
        )  # fmt: skip

    def _healed(self, event: e.FaultHealed) -> Said:
        return Said(
            event=event, actor=(HOST, e.CONTROLLER), weight=15,
            says=f"heals the fault {event.fault!r}", detail=f"{event.fault} {event.number}",
        )  # fmt: skip

    def _signalled(self, event: e.HostSignalled) -> Said:
        meaning = {"SIGKILL": "kills", "SIGTERM": "asks", "SIGSTOP": "freezes", "SIGCONT": "wakes"}
        verb = meaning.get(event.signal, "signals")
        to_do = " to stop" if event.signal == "SIGTERM" else ""
        return Said(
            event=event, actor=(HOST, e.CONTROLLER), weight=62, towards=event.target,
            says=f"{verb} {self._names.host(event.target)}{to_do} ({event.signal})",
        )  # fmt: skip


_DONE = {
    "abort": "has its abort acknowledged",
    "enqueue": "has its enqueue acknowledged",
    "finish": "has its job recorded as STATUS",
    "retry": "has put the job back",
    "update": "has the job's record updated",
    "finish_abort": "has the abort's remains cleared",
    "sweep": "is over",
}


def _of_call(event: e.CallInvoked, parents: tuple[e.CallInvoked, ...]) -> tuple[str, int]:
    """A call as a verb phrase, and its weight."""
    by_sweep = any(one.op == "sweep" for one in parents)
    if event.op == "abort":
        return ("aborts the job as stuck" if by_sweep else "aborts the job"), 66
    if event.op == "retry":
        why = "" if by_sweep or not event.detail else f" ({_last_line(event.detail)})"
        return f"puts the job back in the queue{why}", 66
    if event.op == "finish":
        return f"records the job as {event.status.upper() or 'over'}", 58
    if event.op == "update" and event.status == "active":
        return "marks the job as ACTIVE", 16
    return _CALLS.get(event.op, (f"calls {event.op}", 10))


_CALLS = {
    "enqueue": ("enqueues the job", 48),
    "finish_abort": ("finishes what the abort began", 40),
    "update": ("updates the job's record", 4),
    "sweep": ("begins", 12),
}


def _last_line(text: str) -> str:
    """The end of a traceback, or all of a short text."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return shortened(lines[-1], 60) if lines else ""


def _slot_set(event: e.SlotSet) -> Said:
    return Said(
        event=event, actor=(ATTEMPT, event.attempt), says="registers its context in the slot",
        weight=50, towards=SLOT, detail="job_task_contexts[job] = …",
    )  # fmt: skip


def _slot_missed(event: e.SlotMissed) -> Said:
    return Said(
        event=event, actor=(ATTEMPT, event.attempt), weight=80, towards=SLOT, missed=True,
        says="finds no context in the slot", detail="job_task_contexts[job]",
    )  # fmt: skip


def _body_began(event: e.BodyBegan) -> Said:
    thread = " in a thread" if event.thread else ""
    says = f"runs the job's function{thread}"
    return Said(event=event, actor=(ATTEMPT, event.attempt), says=says, weight=44)


def _body_ended(event: e.BodyEnded) -> Said:
    error = event.error.partition(":")[0]
    says = {
        "ok": "ends its function well",
        "raised": f"ends its function with {shortened(error, 40) or 'an error'}",
        "cancelled": "ends its function because of the cancel",
    }.get(event.outcome, f"ends its function ({event.outcome})")
    return Said(
        event=event, actor=(ATTEMPT, event.attempt), says=says, weight=52,
        detail=shortened(event.error, 160),
    )  # fmt: skip


def _process_ended(event: e.ProcessEnded) -> Said:
    says, weight = {
        "raised": (f"is over: {shortened(event.error, 80)} escapes saq's process()", 56),
        "cancelled": ("is over: saq's process() was cancelled", 30),
    }.get(event.outcome, ("is over", 22))
    return Said(event=event, actor=(ATTEMPT, event.attempt), says=says, weight=weight)


def _upkeep_ended(event: e.UpkeepEnded) -> Said:
    error = f": {shortened(event.error, 100)}" if event.error else ""
    says = f"loses its upkeep task {event.task!r} while it works{error}"
    return Said(event=event, actor=(HOST, event.host), says=says, weight=85, detail=event.error)


def _job_state(event: e.JobState) -> Said:
    places = [name for field, name in _LISTS if getattr(event, field)]
    if event.score is not None:
        places.append("the set of unfinished jobs")
    where = f"in {' and '.join(places)}" if places else "in no list"
    status = f"the job {event.status.upper()}, {where}" if event.status else "no record of the job"
    return Said(
        event=event, actor=(HOST, event.host), weight=50, towards=REDIS, back=True,
        says=f"inspects the queue and finds {status}", detail="an inspection after the drain",
    )  # fmt: skip


def _exited(event: e.HostExited) -> Said:
    says = f"is gone (exit code {event.code})"
    return Said(event=event, actor=(HOST, event.target), says=says, weight=58)


def _host_began(event: e.HostBegan) -> Said:
    return Said(event=event, actor=(HOST, event.host), says="starts", weight=14)


def _stopping(event: e.HostStopping) -> Said:
    return Said(event=event, actor=(HOST, event.host), says="begins to stop", weight=42)


def _host_ended(event: e.HostEnded) -> Said:
    return Said(event=event, actor=(HOST, event.host), says="has stopped", weight=46)


def _limit(event: e.LimitReached) -> Said:
    says = f"ends the run: the limit {event.limit} is reached"
    return Said(event=event, actor=(HOST, e.CONTROLLER), says=says, weight=30)
