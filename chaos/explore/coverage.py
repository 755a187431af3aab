"""Interleavings: which pairs of attempt states have met, as a measure of what was explored.

    dequeued ─► registered ─► running ─► cancelled ─► finishing ─► over
                                 └──────────┴──► winding-down (its process() is over, its body not)

An attempt changes its state with its own events. Each time one does, every other living attempt of
its key makes a pair with it: both states, the earlier attempt's first, and whether they share a
worker. So `running+dequeued same` is the successor that comes while its predecessor still works. It
is a fold over one history; it judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from chaos import event as e

DEQUEUED = "dequeued"
REGISTERED = "registered"
RUNNING = "running"
CANCELLED = "cancelled"
WINDING_DOWN = "winding-down"
FINISHING = "finishing"
STATES = (DEQUEUED, REGISTERED, RUNNING, CANCELLED, WINDING_DOWN, FINISHING)
SAME, OTHER = "same", "other"
POSSIBLE = len(STATES) ** 2 * 2

_RECORDS = ("finish", "retry", "finish_abort")


class _Alive:
    """One living attempt."""

    __slots__ = ("body", "host", "id", "process", "state")

    def __init__(self, began: e.AttemptBegan) -> None:
        self.id = began.attempt
        self.host = began.host
        self.state = DEQUEUED
        self.body = False  # its body runs
        self.process = True  # its process() runs


class Interleavings:
    """The pairs that one history has met, in the order in which they came."""

    def __init__(self) -> None:
        self.met: dict[tuple[str, str, str], None] = {}
        self._keys: dict[str, list[_Alive]] = {}

    def feed(self, event: e.Event) -> None:
        """Take the next event of one variant's history."""
        kind = type(event)  # every event comes by here, and most are of the first kinds or of none
        if kind in _OF_ATTEMPTS:
            attempt = self._find(event.job, event.attempt)  # type: ignore[attr-defined]
            if attempt is not None:
                self._change(event, attempt)
        elif isinstance(event, e.AttemptBegan):
            alive = self._keys.setdefault(event.job, [])
            alive.append(_Alive(event))
            if len(alive) > 1:
                self._meet(alive, alive[-1])
        elif isinstance(event, e.HostEnded):
            self._host_gone(event.host)
        elif isinstance(event, e.HostExited):
            self._host_gone(event.target)

    def pairs(self) -> tuple[str, ...]:
        """The pairs so far, as `running+dequeued same`, sorted."""
        return tuple(sorted(f"{first}+{second} {where}" for first, second, where in self.met))

    def _find(self, job: str, attempt: str) -> _Alive | None:
        for one in self._keys.get(job, ()):
            if one.id == attempt:
                return one
        return None

    def _change(self, event: e.Event, attempt: _Alive) -> None:
        state = _next_state(event, attempt)
        alive = self._keys[event.job]  # type: ignore[attr-defined] # each of _OF_ATTEMPTS has one
        if not attempt.process and not attempt.body:
            alive.remove(attempt)
        elif state != attempt.state:
            attempt.state = state
            if len(alive) > 1:
                self._meet(alive, attempt)

    def _meet(self, alive: list[_Alive], changed: _Alive) -> None:
        """`changed` is in a new state: note the pairs that it makes; `alive` is in their order."""
        place = alive.index(changed)
        for other_place, other in enumerate(alive):
            if other is not changed:
                first, second = (other, changed) if other_place < place else (changed, other)
                where = SAME if first.host == second.host else OTHER
                self.met[first.state, second.state, where] = None

    def _host_gone(self, host: str) -> None:
        for job, alive in self._keys.items():
            if any(one.host == host for one in alive):
                self._keys[job] = [one for one in alive if one.host != host]


_OF_ATTEMPTS = frozenset({
    e.SlotSet, e.BodyBegan, e.BodyCancelled, e.BodyEnded, e.ProcessEnded, e.CallInvoked,
})  # fmt: skip


def _next_state(event: e.Event, attempt: _Alive) -> str:
    """The state that `event` puts its attempt in; notes whether its two parts still run."""
    state = attempt.state
    if isinstance(event, e.SlotSet):
        return REGISTERED
    if isinstance(event, e.BodyBegan):
        attempt.body = True
        return RUNNING if attempt.process else WINDING_DOWN
    if isinstance(event, e.BodyCancelled):
        return CANCELLED if attempt.process else WINDING_DOWN
    if isinstance(event, e.BodyEnded):
        attempt.body = False
        return FINISHING
    if isinstance(event, e.ProcessEnded):
        attempt.process = False
        return WINDING_DOWN
    if isinstance(event, e.CallInvoked) and event.op in _RECORDS:
        return FINISHING
    return state


def met_in(history: Iterable[e.Event]) -> tuple[str, ...]:
    """The pairs of one variant's history, as `running+dequeued same`, sorted."""
    fold = Interleavings()
    for event in history:
        fold.feed(event)
    return fold.pairs()
