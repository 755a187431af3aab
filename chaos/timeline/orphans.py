"""Orphaned contexts: attempts that `abort()` cannot reach, and contexts that outlive their attempt.

    overwritten       another attempt registered its context in the slot while this one's body ran
    foreign-pop       something other than this attempt took its context out while its body ran
    outlived-by-body  its own `finally` removed it while its body, a thread or a coroutine that
                      ignores its cancel, still ran
    leaked            it is still in the map after process() and the body have ended

Reach means having something to cancel: an attempt whose body has ended and whose process() still
awaits the publish of its finish is no orphan when it loses its slot. Nor is one that loses it at
the very microsecond in which its body ends: only a window longer than nothing counts.
"""

from __future__ import annotations

import msgspec

from chaos.event import Event, SlotOverwritten, SlotRemoved
from chaos.timeline.attempts import Attempt

REASONS = ("overwritten", "foreign-pop", "outlived-by-body", "leaked")


class Orphan(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One orphaned context, from `since` on."""

    reason: str
    attempt: Attempt
    since: Event

    @property
    def until(self) -> Event | None:
        """What ended it: the body's end, or for a leak the context's removal or the host's end."""
        attempt = self.attempt
        if self.reason == "leaked":
            return attempt.slot_gone or attempt.host_gone
        if attempt.body_began is None:
            return attempt.process_over
        return attempt.body_over


class Orphans:
    """The orphaned contexts of one variant, in the order in which they were orphaned."""

    def __init__(self) -> None:
        self._open: list[Orphan] = []
        self._over: list[Orphan] = []

    def slot_gone(self, attempt: Attempt, event: SlotOverwritten | SlotRemoved) -> None:
        """The attempt's context left the map; what is left of its body decides what that means."""
        if attempt.slot_gone is not None:
            return
        attempt.slot_gone = event
        if attempt.body_ended is not None or attempt.host_gone is not None:
            return
        by_itself = isinstance(event, SlotRemoved) and event.by == attempt.id
        if by_itself and attempt.body_began is not None:
            self._add("outlived-by-body", attempt, event)
        elif not by_itself and (attempt.body_began is not None or attempt.process_over is None):
            overwritten = isinstance(event, SlotOverwritten)
            self._add("overwritten" if overwritten else "foreign-pop", attempt, event)

    def attempt_over(self, attempt: Attempt, event: Event) -> None:
        """The attempt has ended by itself: its context should be gone."""
        if attempt.slot_set is not None and attempt.slot_gone is None and not attempt.host_gone:
            self._add("leaked", attempt, event)

    def host_gone(self, host: str, event: Event) -> None:
        """A host is gone, and with it whatever had leaked there."""
        for orphan in self._open:
            if orphan.reason == "leaked" and orphan.attempt.host == host:
                orphan.attempt.host_gone = event

    def all(self) -> list[Orphan]:
        """Every orphaned context so far that was one for longer than nothing."""
        self._settle()
        return sorted(self._over + self._open, key=lambda one: (one.since.t_us, one.since.n))

    def now(self) -> int:
        """How many contexts are orphaned now."""
        self._settle()
        return len(self._open)

    def counts(self) -> dict[str, int]:
        """How many there were, by reason; all reasons, also at 0."""
        self._settle()
        counts = dict.fromkeys(REASONS, 0)
        for orphan in (*self._over, *self._open):
            counts[orphan.reason] += 1
        return counts

    def _add(self, reason: str, attempt: Attempt, since: Event) -> None:
        self._open.append(Orphan(reason=reason, attempt=attempt, since=since))

    def _settle(self) -> None:
        still_open: list[Orphan] = []
        for orphan in self._open:
            until = orphan.until
            if until is None:
                still_open.append(orphan)
            elif until.t_us > orphan.since.t_us:
                self._over.append(orphan)
        self._open = still_open
