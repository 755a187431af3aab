"""one-at-a-time: attempts of one key never run at the same time.

Running means the body, from its begin to its end: two attempts whose bookkeeping overlaps have not
run twice at once. One finding per attempt that began while others of its key ran. On one host the
order is exact; across hosts two bodies overlap only if they did for longer than the plan's slack.

Exposure: how often a job was put into the queue while an attempt of its key ran elsewhere, since
without that no two can run at once. A retry of an attempt whose body has ended risks nothing.
"""

from __future__ import annotations

from chaos.checkers.evidence import milliseconds, numbers
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.timeline.attempts import Overlap
from chaos.verdict import Finding, Judgement


class OneAtATime:
    """Every attempt that ran while another one of its key ran is a finding."""

    name = "one-at-a-time"
    claim = "attempts of one key never run at the same time"
    exposure = "requeued_live"

    def check(self, plan: Plan, timeline: Timeline) -> Judgement:
        begun: dict[str, list[Overlap]] = {}
        for pair in timeline.attempts.body_overlaps.pairs(timeline.now_us):
            begun.setdefault(pair.later.id, []).append(pair)
        return Judgement(
            findings=tuple(_finding(pairs, timeline) for pairs in begun.values()),
            exposure=timeline.tally.requeued_live,
            unknown=timeline.hosts.blind("bodies", "queue:enqueue", "queue:retry"),
        )


def _finding(pairs: list[Overlap], timeline: Timeline) -> Finding:
    """`pairs` are those of one attempt; the oldest of the others stands for all of them."""
    earlier, later = pairs[0].earlier, pairs[0].later
    lasted_us = timeline.attempts.body_overlaps.lasted_us(pairs[0], timeline.now_us)
    others = f" and {len(pairs) - 1} more" if len(pairs) > 1 else ""
    same = earlier.host == later.host
    return Finding(
        kind="same-host" if same else "across-hosts",
        job=later.job,
        message=f"{later.job!r}: {later.id} began while {earlier.id}{others} ran; both ran for "
        f"{milliseconds(lasted_us)} on {'one host' if same else 'two hosts'}",
        events=numbers(earlier.body_began, later.body_began, earlier.body_over, later.body_over),
    )
