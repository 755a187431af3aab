"""How often each promise was broken so far, while a run goes on.

Findings need the checkers, which read the whole timeline; they are drawn again only so often that
they cost at most a twentieth of the run's time. Whoever wants to know during one run asks the same
`LiveFindings`, so that they are drawn once for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaos.checkers import by_name
from chaos.clock import SECOND_US, Clock, MonotonicClock
from chaos.judge import judge_promise
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.verdict import PromiseVerdict

FINDINGS_EVERY_US = 10 * SECOND_US
FINDINGS_SHARE = 20

Findings = Mapping[str, Mapping[str, int]]  # variant ─► promise ─► count


class LiveFindings:
    """What the checkers said the last time, or say now if that is long enough ago.

    Args:
        plan: whose promises are judged.
        clock: what tells when it is time again; none: the machine's.
        every_us: the shortest time between two looks.
    """

    def __init__(
        self, plan: Plan, clock: Clock | None = None, every_us: int = FINDINGS_EVERY_US
    ) -> None:
        self._plan = plan
        self._checkers = [by_name(name) for name in plan.promises]
        self._clock = clock or MonotonicClock()
        self._every_us = every_us
        self._next_us = 0
        self._verdicts: dict[str, tuple[PromiseVerdict, ...]] = {}
        self._counts: dict[str, dict[str, int]] = {}

    def verdicts(self, timelines: Sequence[Timeline]) -> Mapping[str, tuple[PromiseVerdict, ...]]:
        """The promises of the plan as they stand, by variant."""
        began_us = self._clock.now_us()
        if began_us >= self._next_us:
            for timeline in timelines:
                self._draw(timeline)
            ended_us = self._clock.now_us()
            pause_us = max(self._every_us, FINDINGS_SHARE * (ended_us - began_us))
            self._next_us = ended_us + pause_us
        return self._verdicts

    def counts(self, timelines: Sequence[Timeline]) -> Findings:
        """How often each was broken, by variant.

        Counts never fall: a finding that a later event explains stays counted until the run is
        judged.
        """
        self.verdicts(timelines)
        return self._counts

    def _draw(self, timeline: Timeline) -> None:
        verdicts: list[PromiseVerdict] = []
        for checker in self._checkers:
            with timeline.lock:  # for one checker at a time, so that the fold can go on
                verdicts.append(judge_promise(self._plan, timeline, checker))
        counts = self._counts.setdefault(timeline.variant, {})
        for verdict in verdicts:
            counts[verdict.promise] = max(verdict.count, counts.get(verdict.promise, 0))
        self._verdicts[timeline.variant] = tuple(verdicts)
