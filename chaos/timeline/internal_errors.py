"""Internal errors: what saq's own code raised, each exception once however often it was seen.

One exception shows up in the log, out of `process()`, in the loop's exception handler when its task
is collected, and as the end of an upkeep task. They are joined by attempt and type, or without an
attempt by host, type and message. What a body, a hook, a timeout or the connection to Redis raised
is not saq's: if `process()` ended with it, nothing is counted.
"""

from __future__ import annotations

import msgspec

from chaos.event import ErrorRaised, Event, ProcessEnded, UpkeepEnded

FOREIGN = ("body", "hook", "timeout", "redis")
UNKNOWN_FUNCTION = "unknown-function"


class InternalError(msgspec.Struct, kw_only=True, eq=False):
    """One exception. `kind` is its type, or `unknown-function` if a name is not registered."""

    kind: str
    host: str
    where: str
    job: str = ""
    attempt: str = ""
    message: str = ""
    line: str = ""
    events: list[Event] = []

    @property
    def first(self) -> Event:
        return self.events[0]


class InternalErrors:
    """The internal errors of one variant, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._errors: dict[tuple[str, ...], InternalError] = {}
        self._foreign: set[tuple[str, ...]] = set()
        self._loose = 0

    def all(self) -> list[InternalError]:
        """Every internal error, in order."""
        return list(self._errors.values())

    def raised(self, event: ErrorRaised) -> None:
        """The probe saw an exception and says whose it is."""
        key = _of_attempt(event.attempt, event.error)
        if event.origin in FOREIGN:
            if event.attempt:
                self._foreign.add(key)
                self._errors.pop(key, None)
            return
        kind = UNKNOWN_FUNCTION if event.origin == UNKNOWN_FUNCTION else event.error
        seen = self._same(event, key)
        if seen is None:
            seen = self._add(key if event.attempt else None, event, kind, event.where)
            seen.job, seen.attempt = event.job, event.attempt
        seen.kind = kind
        seen.message = seen.message or event.message
        seen.line = seen.line or event.line
        seen.events.append(event)

    def process_ended(self, event: ProcessEnded) -> None:
        """`process()` ended; if something escaped it that is nobody else's, it is saq's."""
        error = event.error.partition(":")[0].strip()
        key = _of_attempt(event.attempt, error)
        if event.outcome != "raised" or key in self._foreign:
            return
        seen = self._errors.get(key)
        if seen is None:
            seen = self._add(key, event, error, "process")
            seen.job, seen.attempt, seen.message = event.job, event.attempt, event.error
        seen.events.append(event)

    def upkeep_ended(self, event: UpkeepEnded) -> None:
        """An upkeep task is over; what ended it may have been seen already."""
        error = event.error.partition(":")[0].strip()
        for seen in reversed(self._errors.values()):
            if (seen.host, seen.where, seen.kind) == (event.host, event.task, error):
                seen.events.append(event)
                return
        self._add(None, event, error or "upkeep-ended", event.task).events.append(event)

    def _same(self, event: ErrorRaised, key: tuple[str, ...]) -> InternalError | None:
        """The error that this event is another sight of."""
        if event.attempt:
            return self._errors.get(key)
        for seen in reversed(self._errors.values()):
            if (seen.host, seen.kind) == (event.host, event.error) and _continues(seen, event):
                return seen
        return None

    def _add(
        self, key: tuple[str, ...] | None, event: Event, kind: str, where: str
    ) -> InternalError:
        if key is None:
            self._loose += 1
            key = (event.host, str(self._loose))
        error = InternalError(kind=kind, host=event.host, where=where)
        self._errors[key] = error
        return error


def _of_attempt(attempt: str, error: str) -> tuple[str, ...]:
    return ("attempt", attempt, error)


def _continues(seen: InternalError, event: ErrorRaised) -> bool:
    """Whether an error without an attempt is one already seen: an upkeep task's, or collected."""
    if isinstance(seen.first, UpkeepEnded) and len(seen.events) == 1:
        return seen.where == event.where
    if event.where != "loop" or seen.message != event.message:
        return False
    return not any(isinstance(one, ErrorRaised) and one.where == "loop" for one in seen.events)
