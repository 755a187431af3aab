"""What is said of runs: written to the store, then told to the subscribers; and what if it cannot.

    say(run, type, data) ──► Store.append ──► Feeds.publish
    conclude(run)        ──► Store.put, `ended` ──► …, kept in memory and tried again on a full disk

A full disk must not take the service down, nor a run's end be forgotten: until the index takes
writes again, `trouble` says why not, `/readyz` with it, and the end of a run is remembered here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from service.errors import NotFound, Unavailable
from service.models import EventData, EventType, Run
from service.runs.feed import Feeds
from service.runs.store import Store

_LOG = logging.getLogger("service.runs")


class Journal:
    """Writes and tells. Used on the service's own loop alone.

    Args:
        store: where it is written.
        feeds: who is told.
        on_end: told each run whose end was written, once.

    Attributes:
        trouble: why nothing can be written, if so.
    """

    def __init__(
        self, store: Store, feeds: Feeds, on_end: Callable[[Run], None] = lambda _: None
    ) -> None:
        self.trouble = ""
        self._on_end = on_end
        self._store = store
        self._feeds = feeds
        self._unwritten: dict[str, tuple[Run, EventData, int | None]] = {}

    def say(self, run: str, kind: EventType, data: EventData) -> bool:
        """Add an event to a run and tell its subscribers; false if it could not be written."""
        try:
            event = self._store.append(run, kind, data)
        except (Unavailable, NotFound) as error:
            self.failed(error)
            return False
        self._feeds.publish(event)
        return True

    def put(self, run: Run) -> bool:
        """Write what a run is now; false if it could not be written."""
        try:
            self._store.put(run)
        except Unavailable as error:
            self.failed(error)
            return False
        return True

    def conclude(self, run: Run, text: str, size: int | None = None) -> None:
        """A run has ended: its row, and its last event."""
        data = EventData(outcome=run.outcome, exit_code=run.exit_code, text=text or None)
        try:
            self._store.put(run, size)
        except Unavailable as error:
            self.failed(error)
            self._unwritten[run.id] = (run, data, size)
            return
        if self.say(run.id, "ended", data):
            self._on_end(run)
        else:
            self._unwritten[run.id] = (run, data, size)

    def overlaid(self, run: Run) -> Run:
        """The run, with an end that could not be written yet."""
        unwritten = self._unwritten.get(run.id)
        return run if unwritten is None else unwritten[0].model_copy(update={"events": run.events})

    def try_again(self) -> None:
        """Write what could not be written; the trouble is over once that works."""
        if not (self.trouble or self._unwritten):
            return
        try:
            self._store.probe()
        except Unavailable as error:
            self.failed(error)
            return
        self.trouble = ""
        for run, data, size in list(self._unwritten.values()):
            del self._unwritten[run.id]
            self.conclude(run, data.text or "", size)
        if not self.trouble:
            _LOG.warning("the index can be written again")

    def failed(self, error: Exception) -> None:
        """Remember why something could not be written."""
        if not self.trouble:
            _LOG.error("%s", error)
        self.trouble = str(error)
