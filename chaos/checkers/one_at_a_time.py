"""one-at-a-time: attempts of one key never run at the same time.

Running means the body, from its begin to its end: two attempts whose bookkeeping overlaps have not
run twice at once. One finding per overlapping pair. On one host the order is exact; across hosts
two bodies overlap only if they did for longer than the plan's slack.

Exposure: attempts after the first of their enqueue, or that overlapped another attempt of their
key, since only such an attempt can meet one that is still running.
"""

from __future__ import annotations

from chaos.checkers.evidence import milliseconds, numbers
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.timeline.attempts import Overlap
from chaos.verdict import Finding, Judgement


class OneAtATime:
    """Every pair of bodies of one key that ran at once is a finding."""

    name = "one-at-a-time"
    claim = "attempts of one key never run at the same time"
    exposure = "repeats"

    def check(self, plan: Plan, timeline: Timeline) -> Judgement:
        pairs = timeline.attempts.body_overlaps.pairs(timeline.now_us)
        return Judgement(
            findings=tuple(_finding(pair, timeline) for pair in pairs),
            exposure=timeline.repeats(),
            unknown=timeline.hosts.blind("bodies"),
        )


def _finding(pair: Overlap, timeline: Timeline) -> Finding:
    earlier, later = pair.earlier, pair.later
    lasted_us = timeline.attempts.body_overlaps.lasted_us(pair, timeline.now_us)
    where = "on one host" if earlier.host == later.host else "on two hosts"
    return Finding(
        kind="same-host" if earlier.host == later.host else "across-hosts",
        job=later.job,
        message=f"{later.job!r}: {later.id} began while {earlier.id} ran; both ran for "
        f"{milliseconds(lasted_us)} {where}",
        events=numbers(earlier.body_began, later.body_began, earlier.body_over, later.body_over),
    )
