"""A small language for histories by hand. Times are milliseconds; a queue call takes 1 ms.

    story = Story()
    worker = story.worker(1)
    story.enqueued("k", at=10)
    run = worker.begins("k", at=20)
    run.runs(at=21)              # registers its context, and its body begins
    run.completes(at=50)         # body ends, COMPLETE, context removed, process() ends
    story.timeline()

Events are ordered by their time, and at one time in the order in which they were told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from chaos import event as e
from chaos.checkers.checker import Checker
from chaos.history import History
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.verdict import Judgement

VARIANT = "stock@0.26.3"
SLACK_MS = 50


def plan(**changes: Any) -> Plan:
    """A plan that requires nothing but one promise; YAML keys change it."""
    return Plan.model_validate(
        {
            "plan": "by-hand",
            "workload": {"kind": "same_key"},
            "duration": "1s",
            "promises": ("no-internal-errors",),
            **changes,
        }
    )


def judged(checker: Checker, story: Story, **changes: Any) -> Judgement:
    """What a checker says of a story."""
    return checker.check(plan(**changes), story.timeline())


@dataclass
class Story:
    """The events of one variant, told in any order."""

    variant: str = VARIANT
    _events: list[e.Event] = field(default_factory=list)
    _calls: int = 0
    _attempts: int = 0

    def history(self) -> History:
        """All events, ordered and numbered."""
        return History(sorted(self._events, key=lambda event: event.t_us))

    def timeline(self) -> Timeline:
        """The fold of this story."""
        timeline = Timeline(self.variant, SLACK_MS * 1_000)
        for event in self.history():
            timeline.feed(event)
        return timeline

    def tell(self, kind: Any, at: float, host: str = e.CONTROLLER, **fields: Any) -> None:
        """Add one event."""
        self._events.append(kind(t_us=round(at * 1_000), host=host, **fields))

    # --- hosts ------------------------------------------------------------------------------------

    def worker(
        self, slot: int = 1, incarnation: int = 1, at: float = 0, abort_ms: int = 200
    ) -> Worker:
        """A worker that looks for aborts each `abort_ms`."""
        name = f"{self.variant}/worker-{slot}.{incarnation}"
        self.tell(e.HostBegan, at, name, role="worker", abort_us=abort_ms * 1_000)
        return Worker(self, name)

    @property
    def producer(self) -> str:
        return f"{self.variant}/producer-1.1"

    def killed(self, worker: Worker, at: float, gone: float) -> None:
        """SIGKILL, and the end of the process."""
        self.tell(e.HostSignalled, at, target=worker.name, signal="SIGKILL")
        self.tell(e.HostExited, gone, target=worker.name, code=-9)

    def exited(self, worker: Worker, at: float, code: int, *, expected: bool) -> None:
        """The end of a process, as the controller saw it."""
        self.tell(e.HostExited, at, target=worker.name, code=code, expected=expected)

    def tell_injected(self, name: str, at: float) -> None:
        """An injection that is not healed."""
        self.tell(e.FaultInjected, at, fault=name, number=1, of=self.variant)

    def fault(self, name: str, at: float, until: float, number: int = 1) -> None:
        """One injection, and its healing."""
        fields: dict[str, Any] = {"fault": name, "number": number, "of": self.variant}
        self.tell(e.FaultInjected, at, **fields)
        self.tell(e.FaultHealed, until, **fields)

    def paused(self, worker: Worker, at: float, until: float, number: int = 1) -> None:
        """The fault `pause`, which drew this worker."""
        self.fault("pause", at, until, number)
        self.tell(e.HostSignalled, at, target=worker.name, signal="SIGSTOP")
        self.tell(e.HostSignalled, until, target=worker.name, signal="SIGCONT")

    # --- calls ------------------------------------------------------------------------------------

    def call(
        self,
        op: str,
        job: str,
        at: float,
        *,
        host: str = "",
        until: float | None = None,
        outcome: str = "ok",
        detail: str = "",
        **fields: Any,
    ) -> int:
        """A queue call by `host` (the producer, if none is named); its number.

        `outcome=""` means that it never returned; `detail` is of the invocation.
        """
        self._calls += 1
        host = host or self.producer
        named = {"op": op, "call": self._calls, "job": job}
        named |= {name: fields.pop(name) for name in ("attempt", "enqueue") if name in fields}
        answer = fields.pop("answer", "")
        self.tell(e.CallInvoked, at, host, detail=detail, **named, **fields)
        if outcome:
            until = at + 1 if until is None else until
            self.tell(e.CallReturned, until, host, outcome=outcome, detail=answer, **named)
        return self._calls

    def enqueued(self, job: str, at: float, enqueue: int = 1, does: str = "f\x1fd") -> None:
        """An acknowledged enqueue of function `f` with kwargs of digest `d`."""
        self.call("enqueue", job, at, enqueue=enqueue, answer=does)

    def refused(self, job: str, at: float) -> None:
        """An enqueue that the queue refused."""
        self.call("enqueue", job, at, outcome="empty")

    def aborted(self, job: str, at: float, enqueue: int = 1) -> None:
        """An abort by a user, acknowledged 1 ms later."""
        self.call("abort", job, at, enqueue=enqueue, detail="aborted")

    def found(self, job: str, at: float, **fields: Any) -> None:
        """What an inspection saw of a job."""
        self.tell(e.JobState, at, self.producer, job=job, **fields)

    def empty(self, at: float) -> None:
        """An inspection that found nothing in any list."""
        self.tell(e.QueueDepth, at, self.producer, queued=0, active=0, incomplete=0)


@dataclass
class Worker:
    """One worker process of a story."""

    story: Story
    name: str

    def begins(self, job: str, at: float, enqueue: int = 1, **fields: Any) -> Run:
        """`dequeue` returned a job."""
        self.story._attempts += 1
        run = Run(self.story, self.name, job, f"{self.name}#{self.story._attempts}", enqueue)
        fields = {"function": "f", "digest": "d", "retries": 3} | fields
        run.tell(e.AttemptBegan, at, enqueue=enqueue, **fields)
        return run

    def stops(self, at: float) -> None:
        """SIGTERM reached it."""
        self.story.tell(e.HostStopping, at, self.name)

    def ended(self, at: float) -> None:
        """It ended by itself."""
        self.story.tell(e.HostEnded, at, self.name)

    def blind(self, what: str, reason: str) -> None:
        """The probe cannot see something here."""
        self.story.tell(e.Blind, 0, self.name, what=what, reason=reason)

    def sweeps(self, at: float, until: float | None) -> int:
        """A sweep call, in flight until then (for ever: None)."""
        outcome = "" if until is None else "ok"
        return self.story.call("sweep", "", at, host=self.name, until=until, outcome=outcome)

    def call(self, op: str, job: str, at: float, **fields: Any) -> int:
        """A queue call by this worker, outside any attempt."""
        named: dict[str, Any] = {"enqueue": 1, **fields}
        return self.story.call(op, job, at, host=self.name, **named)


@dataclass
class Run:
    """One attempt of a story."""

    story: Story
    host: str
    job: str
    attempt: str
    enqueue: int

    def tell(self, kind: Any, at: float, **fields: Any) -> None:
        """One event of this attempt."""
        self.story.tell(kind, at, self.host, job=self.job, attempt=self.attempt, **fields)

    def registers(self, at: float) -> None:
        """Its context went into the map."""
        self.tell(e.SlotSet, at)

    def starts(self, at: float, *, thread: bool = False) -> None:
        """Its body began."""
        self.tell(e.BodyBegan, at, thread=thread)

    def runs(self, at: float, *, thread: bool = False) -> None:
        """Its context went into the map, and its body began."""
        self.registers(at)
        self.starts(at, thread=thread)

    def cancelled(self, at: float, aborted: str | None = None) -> None:
        """A cancel reached its body; `aborted` for an abort."""
        self.tell(e.BodyCancelled, at, aborted=aborted)

    def body_ends(self, at: float, outcome: str = "ok") -> None:
        """Its body ended."""
        self.tell(e.BodyEnded, at, outcome=outcome)

    def call(self, op: str, at: float, **fields: Any) -> None:
        """A queue call that its `process()` made."""
        named: dict[str, Any] = {"attempt": self.attempt, "enqueue": self.enqueue, **fields}
        self.story.call(op, self.job, at, host=self.host, **named)

    def finishes(self, at: float, status: str = "complete", **fields: Any) -> None:
        """It recorded this status."""
        self.call("finish", at, status=status, **fields)

    def puts_back(self, at: float, why: str = "error", **fields: Any) -> None:
        """It re-queued its job."""
        self.call("retry", at, detail=why, **fields)

    def unregisters(self, at: float, by: Run | None = None) -> None:
        """Its context left the map, taken out by itself or another attempt."""
        self.tell(e.SlotRemoved, at, by=(by or self).attempt)

    def overwritten(self, at: float, by: Run) -> None:
        """Another attempt's context pushed its own out."""
        self.tell(e.SlotOverwritten, at, by=by.attempt)

    def ends(self, at: float, outcome: str = "ok", error: str = "") -> None:
        """Its `process()` ended."""
        self.tell(e.ProcessEnded, at, outcome=outcome, error=error)

    def raises(self, at: float, error: str, origin: str = "internal", **fields: Any) -> None:
        """An exception was seen."""
        self.tell(e.ErrorRaised, at, error=error, origin=origin, **({"where": "log"} | fields))

    def completes(self, at: float) -> None:
        """Its body ends well, the job is COMPLETE, its context is removed, `process()` ends."""
        self.body_ends(at)
        self.finishes(at)
        self.unregisters(at + 1)
        self.ends(at + 1)

    def is_aborted(self, at: float, why: str = "aborted") -> None:
        """A cancel for an abort ends it, and it is recorded ABORTED."""
        self.cancelled(at, why)
        self.body_ends(at, "cancelled")
        self.finishes(at, "aborted")
        self.unregisters(at + 1)
        self.ends(at + 1)
