"""no-orphaned-contexts: abort() can reach every live attempt, no context outlives its own.

The kinds and what counts as reach stand in `chaos.timeline.orphans`. In short: overwritten (another
attempt took its slot while its body ran), foreign-pop (something else removed its context then),
outlived-by-body (its own `finally` removed it while its body still ran), leaked (still there after
the attempt ended). An attempt whose body has ended has nothing left to abort, so losing its slot
then is no violation. A worker whose map or bodies the probe could not see makes this UNKNOWN.

Exposure: contexts of attempts in a slot collision (each can be orphaned once), or all contexts that
were registered where there was no collision.
"""

from __future__ import annotations

from chaos.checkers.evidence import milliseconds, numbers
from chaos.event import SlotOverwritten, SlotRemoved
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.timeline.orphans import Orphan
from chaos.verdict import Finding, Judgement


class NoOrphanedContexts:
    """Every context that was orphaned for longer than nothing is a finding."""

    name = "no-orphaned-contexts"
    claim = "every live attempt is reachable by abort(), and no context outlives its attempt"
    exposure = "contexts_collided"

    def check(self, plan: Plan, timeline: Timeline) -> Judgement:
        attempts = timeline.attempts
        name, count = "contexts", attempts.contexts
        if attempts.contexts_collided:
            name, count = "contexts_collided", attempts.contexts_collided
        blind = timeline.hosts.blind("contexts", "bodies")
        orphans = [] if blind else timeline.orphans.all()
        return Judgement(
            findings=tuple(_finding(orphan, timeline.now_us) for orphan in orphans),
            exposure=count,
            exposure_name=name,
            unknown=blind,
        )


def _finding(orphan: Orphan, now_us: int) -> Finding:
    attempt, until = orphan.attempt, orphan.until
    lasted = milliseconds((now_us if until is None else until.t_us) - orphan.since.t_us)
    still = "" if until is not None else " and still is"
    return Finding(
        kind=orphan.reason,
        job=attempt.job,
        message=f"attempt {attempt.id} of {attempt.job!r}: {_what(orphan)} for {lasted}{still}",
        events=numbers(attempt.slot_set, orphan.since, until),
    )


def _what(orphan: Orphan) -> str:
    event = orphan.since
    match orphan.reason, event:
        case "overwritten", SlotOverwritten():
            return f"{event.by} took its slot while its body ran, out of abort()'s reach"
        case "foreign-pop", SlotRemoved():
            by = event.by or "something outside any attempt"
            return f"{by} removed its context while its body ran, out of abort()'s reach"
        case "outlived-by-body", _:
            return "its context was removed while its body still ran, out of abort()'s reach"
    return "its context was still in the map after it had ended,"
