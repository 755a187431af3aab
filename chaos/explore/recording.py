"""Inside a simulating process: a run's history, written as it happens instead of being held.

    Log ─► Recording.take ─► line in the file, interleavings, and whether the run should end

Two days of events need not fit in memory, and whoever follows the file sees the run while it goes
on. Two signals end a run early, in good order: its history then says why it ended.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from chaos.event import Event
from chaos.explore.coverage import Interleavings
from chaos.timeline import Timeline

ENDS = {signal.SIGUSR1: "interrupted", signal.SIGUSR2: "aborted"}
FLUSH_EVENTS = 256
BUFFER_BYTES = 1 << 16


class Recording:
    """One run's history on its way into a file.

    Attributes:
        count: events so far.
        interleavings: the pairs of attempt states that met so far.
    """

    def __init__(self, file: BinaryIO, bytes_max: int) -> None:
        self.count = 0
        self.interleavings = Interleavings()
        self._file = file
        self._room = bytes_max
        self._end = ""

    def take(self, event: Event, line: bytes, timeline: Timeline) -> str:
        """The next event of the run (`chaos.sim.log.Taker`)."""
        del timeline
        self.count += 1
        self._room -= len(line)
        self._file.write(line)
        self.interleavings.feed(event)
        if self.count % FLUSH_EVENTS == 0:
            self._file.flush()
        return self._end or ("limit" if self._room <= 0 else "")

    def end(self, number: int, _frame: FrameType | None) -> None:
        """A signal that ends the run after the event that comes next."""
        self._end = ENDS[signal.Signals(number)]


@contextmanager
def recording(path: Path, bytes_max: int) -> Iterator[Recording]:
    """A recording into `path`, of at most so many bytes; signals end its run meanwhile."""
    with path.open("wb", buffering=BUFFER_BYTES) as file:
        made = Recording(file, bytes_max)
        before = {number: signal.signal(number, made.end) for number in ENDS}
        try:
            yield made
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def ignore_ends() -> None:
    """From here on the two signals do nothing but while a run is recorded."""
    for number in ENDS:
        signal.signal(number, signal.SIG_IGN)
