"""Jobs: one per enqueue. A key that is enqueued again is another job with another enqueue id.

A job gathers what happened to it: its attempts, its finishes, its retries, and each sweep that
aborted it. While a sweep decides, between its abort and its own retry or finish, an ABORTED written
in answer to that abort is not the job's terminal state: the sweep's decision is.
"""

from __future__ import annotations

import msgspec

from chaos.event import Event, JobState
from chaos.timeline.attempts import Attempt
from chaos.timeline.calls import Call

TERMINAL = ("complete", "failed", "aborted")


class Swept(msgspec.Struct, kw_only=True, eq=False):
    """One sweep of one job: its abort, and the retry or finish that it decided on.

    `abandoned` is the end of the sweep's host, if that came before a decision.
    """

    sweep: Call
    abort: Call
    decision: Call | None = None
    abandoned: Event | None = None

    @property
    def over(self) -> Event | None:
        """What ended the time in which the sweep decided."""
        for call in (self.decision, self.sweep):
            if call is not None and call.returned is not None:
                return call.returned
        return self.abandoned

    def decides(self, finish: Call, slack_us: int) -> bool:
        """Whether `finish` was written while this sweep had aborted the job and not yet decided."""
        if finish.parent is self.sweep:
            return False
        slack_us = 0 if finish.host == self.sweep.host else slack_us
        if finish.invoked.t_us < self.abort.invoked.t_us - slack_us:
            return False
        over = self.over
        return over is None or finish.invoked.t_us <= over.t_us + slack_us


class Job(msgspec.Struct, kw_only=True, eq=False):
    """One enqueue of one key, and all that happened to it.

    Attributes:
        enqueued: the call that enqueued it, once it is known.
        retries: saq's limit on attempts, as its attempts were dequeued with.
    """

    key: str
    enqueue: int
    enqueued: Call | None = None
    attempts: list[Attempt] = []
    finishes: list[Call] = []
    requeues: list[Call] = []
    aborts: list[Call] = []
    swept: list[Swept] = []
    retries: int = 1

    @property
    def acknowledged(self) -> bool:
        return self.enqueued is not None and self.enqueued.happened

    def function(self) -> str:
        """The function it was enqueued with; empty if the history does not say."""
        return self._detail()[0]

    def digest(self) -> str:
        """The digest of the kwargs it was enqueued with; empty if the history does not say."""
        return self._detail()[1]

    def runs(self) -> list[Attempt]:
        """The attempts whose body began."""
        return [attempt for attempt in self.attempts if attempt.body_began is not None]

    def terminal(self, slack_us: int) -> Call | None:
        """The finish that made it terminal: the first one that happened and was not a sweep's."""
        for finish in self.finishes:
            if finish.happened and not self._is_answer(finish, slack_us):
                return finish
        return None

    def _is_answer(self, finish: Call, slack_us: int) -> bool:
        """Whether it is an ABORTED that a sweep asked for and has not decided on yet."""
        if finish.invoked.status != "aborted":
            return False
        return any(swept.decides(finish, slack_us) for swept in self.swept)

    def _detail(self) -> tuple[str, str]:
        if self.enqueued is None:
            return "", ""
        returned = self.enqueued.returned
        function, _, digest = (returned.detail if returned else "").partition("\x1f")
        return function or self.enqueued.invoked.detail, digest


class Jobs:
    """All jobs of one variant, in the order in which the history met them."""

    def __init__(self) -> None:
        self.unclear: dict[str, list[Call]] = {}
        self._jobs: dict[tuple[str, int], Job] = {}
        self._latest: dict[str, Job] = {}
        self._undecided: list[Swept] = []

    def of(self, key: str, enqueue: int) -> Job:
        """The job of this key and enqueue id. Without an id (by hand) it is the key's latest."""
        if not enqueue and key in self._latest:
            return self._latest[key]
        job = self._jobs.get((key, enqueue))
        if job is None:
            job = self._jobs[key, enqueue] = Job(key=key, enqueue=enqueue)
        return job

    def all(self) -> list[Job]:
        """Every job, in order."""
        return list(self._jobs.values())

    def enqueued(self, call: Call) -> Job | None:
        """An enqueue came back: the job, if it was accepted; what is unclear is kept by key."""
        if not call.happened:
            if call.unclear:
                self.unclear.setdefault(call.job, []).append(call)
            return None
        job = self.of(call.job, call.enqueue)
        if job.acknowledged and not call.enqueue:  # by hand, without ids: it is another job
            job = self._jobs[call.job, -len(self._jobs)] = Job(key=call.job, enqueue=0)
        job.enqueued = call
        self._latest[call.job] = job
        return job

    def swept(self, abort: Call, sweep: Call) -> None:
        """A sweep aborts this job."""
        swept = Swept(sweep=sweep, abort=abort)
        self.of(abort.job, abort.enqueue).swept.append(swept)
        self._undecided.append(swept)

    def sweep_returned(self) -> None:
        """A sweep came back: forget what is decided."""
        self._undecided = [swept for swept in self._undecided if swept.over is None]

    def host_gone(self, host: str, event: Event) -> None:
        """A host is gone, and with it the sweeps that it was in the middle of."""
        for swept in self._undecided:
            if swept.sweep.host == host and swept.over is None:
                swept.abandoned = event

    def called(self, call: Call) -> Job:
        """A finish or a retry of this job began; perhaps it is what a sweep decided."""
        job = self.of(call.job, call.enqueue)
        (job.finishes if call.op == "finish" else job.requeues).append(call)
        for swept in reversed(job.swept):
            if swept.sweep is call.parent and swept.decision is None:
                swept.decision = call
                break
        return job


class Inspection(msgspec.Struct, kw_only=True, eq=False):
    """What the last inspection saw: the state of every key it looked at."""

    states: dict[str, JobState] = {}
    idle: bool = False  # the last queue depth of the phase was zero

    @property
    def made(self) -> bool:
        """Whether there was one."""
        return bool(self.states) or self.idle
