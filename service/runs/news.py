"""What is new in the timelines of a running soak: faults that came and went, promises that broke.

    Timeline per variant ──faults()────► EventData for each injection and each healing, once
                         ──findings()──► EventData when a promise's count rises

What the checkers say comes from the run's `LiveFindings`, which asks them now and then and serves
its metrics too. A count never falls, and the judge has the last word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from chaos.clock import SECOND_US, Clock
from chaos.metrics import LiveFindings
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.timeline.hosts import FaultWindow
from chaos.verdict import PromiseVerdict, VariantVerdict
from service.models import EventData

EVERY_US = 2 * SECOND_US
AGAIN_US = 5 * SECOND_US
TEXT_MAX = 500


class News:
    """Reads the timelines of one run again and again, and says what it did not say before.

    Attributes:
        findings_so_far: what it asks about promises.
    """

    def __init__(self, plan: Plan, clock: Clock) -> None:
        self.findings_so_far = LiveFindings(plan, clock, EVERY_US)
        self._clock = clock
        self._seen: dict[str, int] = {}
        self._open: dict[str, list[tuple[str, int]]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._said_us: dict[tuple[str, str], int] = {}

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
        verdicts = self.findings_so_far.verdicts(timelines)
        for variant, promises in verdicts.items():
            for promise in promises:
                if self._is_due(variant, promise):
                    yield _finding(variant, promise)

    def last(self, verdicts: Sequence[VariantVerdict]) -> Iterator[EventData]:
        """What the judge found beyond what was said before."""
        for verdict in verdicts:
            for promise in verdict.promises:
                if promise.count > self._counts.get((verdict.variant, promise.promise), 0):
                    yield _finding(verdict.variant, promise)

    def _is_due(self, variant: str, promise: PromiseVerdict) -> bool:
        """Whether its count rose, and was not told just before; then it counts as told."""
        key, now_us = (variant, promise.promise), self._clock.now_us()
        rose = promise.count > self._counts.get(key, 0)
        if not rose or now_us - self._said_us.get(key, -AGAIN_US) < AGAIN_US:
            return False
        self._counts[key], self._said_us[key] = promise.count, now_us
        return True


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
