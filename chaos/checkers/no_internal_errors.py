"""no-internal-errors: saq's own code raises nothing.

A finding is one exception, however often it was seen (`chaos.timeline.internal_errors`): a KeyError
in the log and the same attempt's `process()` ending with it are one. Its kind is the exception's
type; `unknown-function` is a job whose function is not registered, which is not the seed bug's
KeyError. What a body, a hook, a timeout or the connection to Redis raised is not saq's.

Exposure: slot collisions, or attempts where there was none. The danger of the seed bug is the slot
collision: "0 failures" is worth as much as the collisions it was met over, and a rate per collision
compares two variants that collide differently often. A run without collisions still says something
about everything else that it did, so there a rate is per attempt; a plan that wants collisions
names them among its exposures, and is UNKNOWN without them.
"""

from __future__ import annotations

from chaos.checkers.evidence import numbers
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.timeline.internal_errors import InternalError
from chaos.verdict import Finding, Judgement


class NoInternalErrors:
    """Every exception that saq itself raised is a finding."""

    name = "no-internal-errors"
    claim = (
        "saq's own code raises nothing: no KeyError or assertion out of process(), no exception "
        "that ends an upkeep task"
    )
    exposure = "slot_collisions"

    def check(self, plan: Plan, timeline: Timeline) -> Judgement:
        name, count = "attempts", len(timeline.attempts.by_id)
        if timeline.attempts.collisions:
            name, count = "slot_collisions", len(timeline.attempts.collisions)
        return Judgement(
            findings=tuple(map(_finding, timeline.errors.all())),
            exposure=count,
            exposure_name=name,
            unknown=timeline.hosts.blind("process"),
        )


def _finding(error: InternalError) -> Finding:
    whose = f"attempt {error.attempt} of {error.job!r}" if error.attempt else error.host
    where = error.where + (f" at {error.line}" if error.line else "")
    message = f": {error.message}" if error.message else ""
    return Finding(
        kind=error.kind,
        job=error.job,
        message=f"{whose}: {error.kind} in {where}{message}",
        events=numbers(*error.events),
    )
