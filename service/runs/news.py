"""What is new in the timelines of a running soak: faults that came and went, promises that broke.

    Timeline per variant ──faults()────► EventData for each injection and each healing, once
                         ──findings()──► EventData when a promise's count rises

Checkers read a whole timeline, so they are asked only so often that they take a small share of the
time, at least `EVERY_US` apart, and no more once a single look takes too long: the judge has the
last word anyway. A count never falls, as in the metrics of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from chaos import judge
from chaos.checkers import by_name
from chaos.clock import SECOND_US, Clock
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.timeline.hosts import FaultWindow
from chaos.verdict import PromiseVerdict, VariantVerdict
from service.models import EventData

EVERY_US = 2 * SECOND_US
AGAIN_US = 5 * SECOND_US
SHARE = 50
TOO_LONG_US = SECOND_US
TEXT_MAX = 500


class News:
    """Reads the timelines of one run again and again, and says what it did not say before."""

    def __init__(self, plan: Plan, clock: Clock) -> None:
        self._clock = clock
        self._plan = plan
        self._checkers = [by_name(name) for name in plan.promises]
        self._seen: dict[str, int] = {}
        self._open: dict[str, list[tuple[str, int]]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._said_us: dict[tuple[str, str], int] = {}
        self._next_us = 0

    def faults(self, timelines: Sequence[Timeline]) -> Iterator[EventData]:
        """Injections and healings since the last call."""
        for timeline in timelines:
            variant, windows = timeline.variant, timeline.faults.windows
            seen = self._seen.get(variant, 0)
            fresh = list(islice(windows, seen, None))
            self._seen[variant] = seen + len(fresh)
            yield from (_injected(variant, windows[key]) for key in fresh)
            waiting = [*self._open.get(variant, ()), *fresh]
            yield from (_healed(variant, windows[key]) for key in waiting if windows[key].healed)
            self._open[variant] = [key for key in waiting if windows[key].healed is None]

    def findings(self, timelines: Sequence[Timeline]) -> Iterator[EventData]:
        """Promises whose count rose; each at once the first time, later at most now and then."""
        began_us = self._clock.now_us()
        if began_us < self._next_us:
            return
        for timeline in timelines:
            yield from self._look(timeline, began_us)
        spent_us = self._clock.now_us() - began_us
        pause_us = max(EVERY_US, SHARE * spent_us)
        self._next_us = 1 << 62 if spent_us > TOO_LONG_US else began_us + spent_us + pause_us

    def last(self, verdicts: Sequence[VariantVerdict]) -> Iterator[EventData]:
        """What the judge found beyond what was said before."""
        for verdict in verdicts:
            for promise in verdict.promises:
                if promise.count > self._counts.get((verdict.variant, promise.promise), 0):
                    yield _finding(verdict.variant, promise)

    def _look(self, timeline: Timeline, now_us: int) -> Iterator[EventData]:
        for checker in self._checkers:
            with timeline.lock:
                found = judge.judge_promise(self._plan, timeline, checker)
            key = (timeline.variant, checker.name)
            is_due = now_us - self._said_us.get(key, -AGAIN_US) >= AGAIN_US
            if found.count > self._counts.get(key, 0) and is_due:
                self._counts[key], self._said_us[key] = found.count, now_us
                yield _finding(timeline.variant, found)


def _finding(variant: str, found: PromiseVerdict) -> EventData:
    text = found.findings[-1].message[:TEXT_MAX] if found.findings else None
    return EventData(variant=variant, promise=found.promise, count=found.count, text=text)


def _injected(variant: str, window: FaultWindow) -> EventData:
    event = window.injected
    return EventData(
        variant=variant,
        fault=event.fault,
        number=event.number,
        change="injected",
        by=event.by or None,
    )


def _healed(variant: str, window: FaultWindow) -> EventData:
    event = window.injected
    error = window.healed.error if window.healed else ""
    return EventData(
        variant=variant,
        fault=event.fault,
        number=event.number,
        change="healed",
        by=event.by or None,
        error=error or None,
    )
