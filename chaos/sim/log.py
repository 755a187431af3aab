"""Where the events of a simulated run go: one list, in the order in which they happen.

    probe, producer, conductor ─► HostSink.record ─► event, stamped ─► Log ─┬─► history
                                                                            ├─► Timeline
                                                                            └─► listeners by type

The same builders as for a recorder's file make the events, so that both worlds say the same. Time
never goes back, so the order in which events are made is the order of the history, and each has its
number from the beginning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chaos.event import Event
from chaos.history import to_json, to_json_lines
from chaos.tail import BUILDERS, Record
from chaos.timeline import Timeline

if TYPE_CHECKING:
    from chaos.sim.kernel import Kernel

DIGESTED_AT_ONCE = 1_000  # events: their text is made in one piece
Listener = Callable[[Any], None]
Taker = Callable[[Event, bytes, Timeline], str]


class Log:
    """All events of a run.

    Args:
        kernel: whose time stamps them.
        timeline: folds them.
        events_max: so many end the run (the plan's limit).
        taker: takes each event, its line of JSON and the fold so far, instead of `events`; what
            it returns ends the run, if it is not empty.
    """

    def __init__(
        self,
        kernel: Kernel,
        timeline: Timeline,
        events_max: int,
        taker: Taker | None = None,
    ) -> None:
        self.kernel = kernel
        self.timeline = timeline
        self.events: list[Event] = []
        self.count = 0
        self.listeners: dict[type[Event], Listener] = {}
        self._events_max = events_max
        self._taker = taker
        self._sha = hashlib.sha256()

    def add(self, event: Event) -> None:
        """An event happened."""
        self.count += 1
        self.timeline.feed(event)
        if self._taker is None:
            self.events.append(event)
        else:
            line = to_json(event) + b"\n"
            self._sha.update(line)
            end = self._taker(event, line, self.timeline)
            if end:
                self.kernel.stop(end, f"it was ended: {end}")
        listener = self.listeners.get(type(event))
        if listener is not None:
            listener(event)
        if self.count == self._events_max:
            limit = f"events: {self._events_max} of at most {self._events_max}"
            self.kernel.stop("limit", limit)

    def digest(self) -> str:
        """Of the whole history (`chaos.history.History.digest`)."""
        for first in range(0, len(self.events), DIGESTED_AT_ONCE):
            self._sha.update(to_json_lines(self.events[first : first + DIGESTED_AT_ONCE]))
        return self._sha.hexdigest()


class HostSink:
    """The recorder of one host: a `Sink` of the probe, and `record_fields` like a Recorder's."""

    def __init__(self, log: Log, host: str) -> None:
        self.muted = False
        self._log = log
        self._kernel = log.kernel
        self._host = host

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
        """One event, as the probe packs it."""
        if self.muted:
            return
        log = self._log
        if not (job.isascii() and text.isascii()):
            job, text = _encodable(job), _encodable(text)
        record = Record(
            self._host, self._kernel.time_us, code, job, attempt, call, number, text,
            log.count + 1,
        )  # fmt: skip
        log.add(BUILDERS[kind](record))  # type: ignore[index]

    def record_fields(self, kind: int, job: str = "", attempt: int = 0, **fields: Any) -> None:
        """One of the rarer events, field by field."""
        if self.muted:
            return
        log = self._log
        record = Record(
            self._host, self._kernel.time_us, 0, job, attempt, 0, 0, "",
            log.count + 1, fields,
        )  # fmt: skip
        log.add(BUILDERS[kind](record))  # type: ignore[index]

    def close(self) -> None:
        """The host ended."""


def _encodable(text: str) -> str:
    """As a recorder's file would give it back: half a surrogate pair is escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
