"""Which jobs there are to be aborted, by the hosts' own events.

A key comes in when the producer's enqueue was accepted and goes out when a worker finished that
job. It is a view for drawing targets, a moment behind and bounded; what really happened is judged
over the history, never here.
"""

from __future__ import annotations

from chaos.event import CallReturned, Event

KEYS_MAX = 10_000


class JobKeys:
    """Keys of jobs that are queued, scheduled or running, the oldest first.

    Args:
        mark: what job keys begin with on a Redis that is not ours; taken off, for the producer
            puts it on.
    """

    def __init__(self, mark: str = "") -> None:
        self._prefix = f"{mark}:" if mark else ""
        self._open: dict[str, None] = {}

    def feed(self, events: list[Event]) -> None:
        """Take a batch of events in, ordered by stamp."""
        for event in events:
            if not isinstance(event, CallReturned) or event.outcome != "ok" or not event.job:
                continue
            if event.op == "enqueue":
                self._open.pop(event.job, None)
                self._open[event.job] = None
            elif event.op == "finish":
                self._open.pop(event.job, None)
        while len(self._open) > KEYS_MAX:
            del self._open[next(iter(self._open))]

    def now(self) -> tuple[str, ...]:
        """The keys, without the mark."""
        return tuple(key.removeprefix(self._prefix) for key in self._open)
