"""How often each promise was broken so far, while a run goes on.

Findings need the checkers, which read the whole timeline; they are drawn again only so often that
they cost at most a twentieth of the run's time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaos.checkers import CHECKERS
from chaos.clock import SECOND_US, MonotonicClock
from chaos.plan import Plan
from chaos.timeline import Timeline

FINDINGS_EVERY_US = 10 * SECOND_US
FINDINGS_SHARE = 20

Findings = Mapping[str, Mapping[str, int]]  # variant ─► promise ─► count


class LiveFindings:
    """The counts of the last time, or new ones if that is long enough ago.

    Counts never fall: a finding that a later event explains stays counted until the run is judged.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._clock = MonotonicClock()
        self._next_us = 0
        self._counts: dict[str, dict[str, int]] = {}

    def counts(self, timelines: Sequence[Timeline]) -> Findings:
        """How often each promise of the plan was broken, by variant."""
        began_us = self._clock.now_us()
        if began_us >= self._next_us:
            for timeline in timelines:
                self._draw(timeline)
            ended_us = self._clock.now_us()
            pause_us = max(FINDINGS_EVERY_US, FINDINGS_SHARE * (ended_us - began_us))
            self._next_us = ended_us + pause_us
        return self._counts

    def _draw(self, timeline: Timeline) -> None:
        counts = self._counts.setdefault(timeline.variant, {})
        for checker in CHECKERS:
            if checker.name in self._plan.promises:
                with timeline.lock:
                    found = len(checker.check(self._plan, timeline).findings)
                counts[checker.name] = max(found, counts.get(checker.name, 0))
