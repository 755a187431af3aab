"""Queue calls: an invocation, what came back, and the call that made it.

An invoked call without a return is `info`: we do not know whether it happened. So is one that
raised, since a Redis error may come after the command was carried out. saq's calls that return
nothing (abort, finish, retry) come back as `empty` as well as `ok`; for an enqueue, `empty` means
that the queue refused it.
"""

from __future__ import annotations

import msgspec

from chaos.event import CallInvoked, CallReturned, Event

_EMPTY_IS_A_REFUSAL = ("enqueue", "dequeue")


class Call(msgspec.Struct, kw_only=True, eq=False):
    """One call. `parent` is the call that made it (a sweep's abort, an abort's finish)."""

    invoked: CallInvoked
    returned: CallReturned | None = None
    parent: Call | None = None

    @property
    def op(self) -> str:
        return self.invoked.op

    @property
    def job(self) -> str:
        return self.invoked.job or (self.returned.job if self.returned else "")

    @property
    def host(self) -> str:
        return self.invoked.host

    @property
    def enqueue(self) -> int:
        """The enqueue that it is about: known on return, for an enqueue."""
        return self.invoked.enqueue or (self.returned.enqueue if self.returned else 0)

    @property
    def happened(self) -> bool:
        """Whether it surely happened: acknowledged, and not refused."""
        if self.returned is None:
            return False
        if self.op in _EMPTY_IS_A_REFUSAL:
            return self.returned.outcome == "ok"
        return self.returned.outcome in ("ok", "empty")

    @property
    def refused(self) -> bool:
        """Whether it surely did not happen: the queue said no."""
        return (
            self.returned is not None
            and self.op in _EMPTY_IS_A_REFUSAL
            and self.returned.outcome == "empty"
        )

    @property
    def unclear(self) -> bool:
        """Whether it may or may not have happened."""
        return not self.happened and not self.refused

    def inside(self, op: str) -> Call | None:
        """The nearest call of `op` that this call was made by, through any number of calls."""
        call = self.parent
        while call is not None and call.op != op:
            call = call.parent
        return call


class Calls:
    """The calls that are in flight, and how each event finds its call."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], Call] = {}

    def invoked(self, event: CallInvoked) -> Call:
        """A call began."""
        parent = self._open.get((event.host, event.parent)) if event.parent else None
        call = Call(invoked=event, parent=parent)
        self._open[event.host, event.call] = call
        return call

    def returned(self, event: CallReturned) -> tuple[Call, bool]:
        """A call came back; true if its invocation was never recorded (a history by hand)."""
        call = self._open.pop((event.host, event.call), None)
        if call is not None:
            call.returned = event
            return call, False
        invoked = CallInvoked(
            n=event.n, t_us=event.t_us, host=event.host, op=event.op, call=event.call,
            job=event.job, attempt=event.attempt, enqueue=event.enqueue,
        )  # fmt: skip
        return Call(invoked=invoked, returned=event), True

    def in_flight(self, op: str) -> list[Call]:
        """The calls of `op` that have not returned, in their order."""
        return [call for call in self._open.values() if call.op == op]


def later(event: Event, call: Call, slack_us: int) -> bool:
    """Whether `event` surely came after `call` returned: by order on a host, by a gap across."""
    returned = call.returned
    if returned is None:
        return False
    if event.host == returned.host:
        return (event.t_us, event.n) > (returned.t_us, returned.n)
    return event.t_us > returned.t_us + slack_us
