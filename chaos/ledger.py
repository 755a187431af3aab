"""The ledger: events as they arrive from many hosts, put in order and folded while the run goes on.

    EventFile ─┐
    EventFile ─┼─► arrive() ─► waiting heap ─► settle(now) ─► Timeline per variant ─► counters
    EventFile ─┘

Hosts are read one after the other, so what arrives is not in order. The ledger holds events back
for `LAG_US` and folds what is older in the order of its stamps. The live counters come from this
fold; the verdict comes from the same fold over the finished history, so the two differ by the lag
and nothing else. It does not write the history: the recorder files already hold it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from chaos.event import CONTROLLER, Event
from chaos.history import concerns
from chaos.plan import Limits
from chaos.timeline import Timeline

LAG_US = 300_000


class Ledger:
    """Live timelines of a run's variants, and what they cost so far."""

    def __init__(self, variants: Iterable[str], slack_us: int, limits: Limits) -> None:
        self.timelines = {variant: Timeline(variant, slack_us) for variant in variants}
        self.events = 0
        self._limits = limits
        self._arrived = 0
        self._waiting: list[tuple[int, int, Event]] = []

    def arrive(self, events: Iterable[Event]) -> None:
        """Take events of one host, in that host's order."""
        for event in events:
            self._arrived += 1
            heapq.heappush(self._waiting, (event.t_us, self._arrived, event))

    def settle(self, now_us: int) -> None:
        """Fold every event stamped more than the lag before `now_us`."""
        before_us = now_us - LAG_US
        while self._waiting and self._waiting[0][0] <= before_us:
            self._fold(heapq.heappop(self._waiting)[2])

    def limit_reached(self, history_bytes: int) -> str:
        """The limit that this run has reached, in words; empty while there is none."""
        limits = self._limits
        if self._arrived >= limits.events:
            return f"events: {self._arrived} of at most {limits.events}"
        if history_bytes >= limits.history_bytes:
            return f"history_bytes: {history_bytes} of at most {limits.history_bytes}"
        return ""

    def _fold(self, event: Event) -> None:
        self.events += 1
        if event.host != CONTROLLER:
            timeline = self.timelines.get(event.variant)
            if timeline is not None:
                timeline.feed(event)
            return
        for variant, timeline in self.timelines.items():
            if concerns(event, variant):
                timeline.feed(event)
