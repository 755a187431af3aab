"""When a search for the first failure may end a run: what was broken stays broken.

An internal error of saq is a finding as soon as the attempt that it came from, or the upkeep task,
is over: whose it was is known by then, and nothing later takes it back. So a search until the first
failure need not run such a seed through the rest of its load and its drain, which is most of its
time. Other promises are judged at the end: what looks broken may still come right until then.

The run's history then says that it was cut short, and what it says of other promises is what had
come by then. The failing seed is run again to its end before anything is shown of it.
"""

from __future__ import annotations

from collections.abc import Callable

from chaos.checkers.no_internal_errors import NoInternalErrors
from chaos.plan import Plan
from chaos.timeline import Timeline


def watch(plan: Plan) -> Callable[[Timeline], bool] | None:
    """What is asked while a run of this plan goes on: is it enough? None: nothing can be so."""
    return has_internal_error if NoInternalErrors.name in plan.promises else None


def has_internal_error(timeline: Timeline) -> bool:
    """Whether saq itself raised something, in an attempt or a task that is over."""
    alive = timeline.attempts.by_id
    return any(
        not error.attempt or error.attempt not in alive or alive[error.attempt].process_ended
        for error in timeline.errors.all()
    )
