"""Which jobs there are to be aborted, by the hosts' own events.

A key comes in when the producer's enqueue was accepted and goes out when a worker finished that
job. A quick worker's finish can be heard before its producer's "accepted", so a finish is matched
by the enqueue's stamp, whichever comes first. It is a view for drawing targets, a moment behind and
bounded; what really happened is judged over the history, never here.
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
        self._open: dict[str, int] = {}  # key: stamp of the enqueue
        self._ahead: dict[tuple[str, int], None] = {}  # finished, not yet heard to be accepted

    def feed(self, events: list[Event]) -> None:
        """Take a batch of events in, in any order."""
        for event in events:
            if not isinstance(event, CallReturned) or event.outcome != "ok" or not event.job:
                continue
            if event.op == "enqueue":
                self._accepted(event.job, event.enqueue)
            elif event.op == "finish":
                self._finished(event.job, event.enqueue)
        while len(self._open) > KEYS_MAX:
            del self._open[next(iter(self._open))]
        while len(self._ahead) > KEYS_MAX:
            del self._ahead[next(iter(self._ahead))]

    def now(self) -> tuple[str, ...]:
        """The keys, without the mark."""
        return tuple(key.removeprefix(self._prefix) for key in self._open)

    def _accepted(self, key: str, stamp: int) -> None:
        self._open.pop(key, None)
        if (key, stamp) in self._ahead:
            del self._ahead[key, stamp]
        else:
            self._open[key] = stamp

    def _finished(self, key: str, stamp: int) -> None:
        if self._open.get(key) == stamp:
            del self._open[key]
        else:
            self._ahead[key, stamp] = None
