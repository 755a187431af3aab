"""The steps of a failure that a test can force: the order in which one job's attempts go on.

    history of one job, up to where it breaks ─► Enqueued, Swept, Begins(2), Ends(1), Over(1), …

A test holds a job's function at an event and lets go of it, calls what a sweep calls, and waits for
`process()` to come back. What happens in a finer order than that cannot be forced from outside:
then there are no steps, and `Inexpressible` says why. Nothing here knows one bug: it reads the
order of events and what each of them did to the slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from chaos import event as e
from chaos.history import History

ATTEMPTS_MAX = 9


class Inexpressible(Exception):
    """A schedule that a test cannot force with events; the message says why."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something that the test does, or waits for."""


@dataclass(frozen=True, slots=True)
class Enqueued(Step):
    """The job is enqueued."""


@dataclass(frozen=True, slots=True)
class Swept(Step):
    """A sweep aborts the job and puts it back (or gives it up, if `given_up`)."""

    given_up: bool = False


@dataclass(frozen=True, slots=True)
class Aborted(Step):
    """The job is aborted, by a sweep or by somebody."""

    error: str
    by_sweep: bool = False


@dataclass(frozen=True, slots=True)
class Requeued(Step):
    """A sweep that aborted the job puts it back, or gives it up."""

    error: str
    given_up: bool = False


@dataclass(frozen=True, slots=True)
class Begins(Step):
    """Attempt `number` registers its context and begins; whose it pushed out, if any's."""

    number: int
    pushed_out: int = 0


@dataclass(frozen=True, slots=True)
class Cancelled(Step):
    """The worker's abort() cancels attempt `number`, since the job's record says so."""

    number: int


@dataclass(frozen=True, slots=True)
class Ends(Step):
    """The function of attempt `number` ends (ok, raised, cancelled) and its process() after it.

    `removed` is whose context its clean-up took out of the map, if another attempt's.
    """

    number: int
    outcome: str = "ok"
    removed: int = 0


def steps_of(history: History, job: str, breaks: e.Event) -> tuple[Step, ...]:
    """The steps of `job`, from its first event to the one at which it breaks.

    Raises:
        Inexpressible: no test could force them.
    """
    reader = _Reader(job)
    for event in history:
        if event.n > breaks.n and not reader.starting:
            break
        reader.read(event)
    if len(reader.workers) > 1:
        raise Inexpressible(f"its attempts run on {len(reader.workers)} workers")
    if not reader.numbers:
        raise Inexpressible("no attempt of the job begins before it breaks")
    return _merged(reader.steps)


@dataclass
class _Reader:
    """Reads one job's events in order."""

    job: str
    steps: list[Step] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    workers: dict[str, None] = field(default_factory=dict)
    starting: dict[str, None] = field(default_factory=dict)  # dequeued, function not yet begun
    ending: str = ""  # its function has ended, its process() goes on
    _sweeps: dict[tuple[str, int], None] = field(default_factory=dict)
    _ours: dict[tuple[str, int], e.CallInvoked] = field(default_factory=dict)
    _pushed_out: dict[str, int] = field(default_factory=dict)

    def read(self, event: e.Event) -> None:
        """Take the next event."""
        if isinstance(event, e.CallInvoked) and event.op == "sweep":
            self._sweeps[event.host, event.call] = None
        if isinstance(event, e.HostStopping) and event.host in self.workers:
            raise Inexpressible(f"{event.host} is being stopped meanwhile")
        if isinstance(event, e.HostSignalled | e.HostExited) and event.target in self.workers:
            raise Inexpressible(f"{event.target} is stopped, paused or killed meanwhile")
        if getattr(event, "job", "") == self.job:
            for step in self._of_job(event):
                self._add(step, event)

    def _add(self, step: Step, event: e.Event) -> None:
        if self.ending and self.ending != getattr(event, "attempt", ""):
            number = self.numbers[self.ending]
            raise Inexpressible(
                f"something happens between the end of attempt {number}'s function and the end of "
                f"its process()"
            )
        if isinstance(step, Ends):
            self.ending = getattr(event, "attempt", "")
        self.steps.append(step)

    def _of_job(self, event: e.Event) -> Iterable[Step]:
        match event:
            case e.CallInvoked():
                self._ours[event.host, event.call] = event
            case e.CallReturned():
                return self._returned(event)
            case e.AttemptBegan():
                self.workers[event.host] = None
                self.starting[event.attempt] = None
            case e.SlotOverwritten():
                self._pushed_out[event.by] = self.numbers.get(event.attempt, 0)
            case e.SlotRemoved():
                self._removed(event)
            case e.BodyBegan():
                return self._begins(event)
            case e.BodyCancelled():
                return self._cancelled(event)
            case e.BodyEnded():
                return [Ends(self._number(event.attempt), event.outcome)]
            case e.ProcessEnded():
                self._number(event.attempt)
                self.ending = ""
        return ()

    def _removed(self, event: e.SlotRemoved) -> None:
        last = self.steps[-1] if self.steps else None
        if isinstance(last, Ends) and event.by not in ("", event.attempt):
            self.steps[-1] = replace(last, removed=self.numbers.get(event.attempt, 0))

    def _begins(self, event: e.BodyBegan) -> Iterable[Step]:
        if event.thread:
            raise Inexpressible("the job's function runs in a thread")
        self.starting.pop(event.attempt, None)
        self.numbers[event.attempt] = number = len(self.numbers) + 1
        if number > ATTEMPTS_MAX:
            raise Inexpressible(f"it takes more than {ATTEMPTS_MAX} attempts")
        return [Begins(number, self._pushed_out.get(event.attempt, 0))]

    def _cancelled(self, event: e.BodyCancelled) -> Iterable[Step]:
        if event.aborted is None:
            raise Inexpressible("a timeout or a shutdown cancels an attempt")
        return [Cancelled(self._number(event.attempt))]

    def _number(self, attempt: str) -> int:
        if attempt not in self.numbers:
            raise Inexpressible(f"{attempt} ends before its function begins")
        return self.numbers[attempt]

    def _returned(self, event: e.CallReturned) -> Iterator[Step]:
        call = self._ours.get((event.host, event.call))
        if call is None or event.outcome not in ("ok", "empty"):
            return
        by_sweep = (call.host, call.parent) in self._sweeps
        if event.op == "enqueue" and event.outcome == "ok":
            yield Enqueued()
        elif event.op == "abort":
            yield Aborted(call.detail, by_sweep)
        elif event.op in ("retry", "finish") and by_sweep:
            yield Requeued(call.detail, given_up=event.op == "finish")
        else:
            return
        if self.starting:
            raise Inexpressible(f"{event.op} comes while an attempt is between queue and function")


def _merged(steps: Iterable[Step]) -> tuple[Step, ...]:
    """An abort and a requeue of one sweep, with nothing between them, are one sweep."""
    merged: list[Step] = []
    for step in steps:
        before = merged[-1] if merged else None
        if isinstance(step, Requeued) and isinstance(before, Aborted) and before.by_sweep:
            merged[-1] = Swept(step.given_up)
        else:
            merged.append(step)
    return tuple(merged)
