"""Writes the ten events of an ordinary job as four records, since a record is what watching costs.

Most events of an attempt state a fact that is past: `dequeue` returned, the slot is set, the
function returned. Nothing outside the process follows from it before the attempt's next step that
does reach out, which comes in the same turn of the event loop or the next. Such a fact waits for
that step and is written with it, as one record:

    attempt-began + update invoked                           JOB_STARTED
    update returned + slot-set + body-began                  JOB_RUNNING
    body-ended + finish invoked                              JOB_FINISHING
    finish returned + slot-removed + process-ended           JOB_FINISHED

What reaches out (a call to Redis, the job's own function) is still recorded before it happens, so a
process that is killed loses no more than if it had been killed a moment earlier. An attempt that
leaves this path by one event (a cancel, a heartbeat, an overwrite, an error, a thread) has what
waits written at once, and is recorded event by event from then on. Facts carry the stamp of the
record that they travel in.

The path is that of saq's own `process()` without hooks, and the sink must know these records: the
probe joins for no other. An attempt's `place` is its place on the path; 0: it is not on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .events import Kind, Op, Outcome

if TYPE_CHECKING:
    from .state import Attempt

OFF_THE_PATH = 0
BEGAN = 1  # attempt-began waits
STARTED = 2
ACTIVE = 3  # update returned waits
REGISTERED = 4  # and slot-set
RUNNING = 5
RETURNED = 6  # body-ended waits
FINISHING = 7
COMPLETE = 8  # finish returned waits
REMOVED = 9  # and slot-removed


class Step(NamedTuple):
    """One event on the path after attempt-began. `writes`: the record that it completes, or 0."""

    kind: int
    code: int
    text: str
    writes: int


UPDATED = int(Op.UPDATE | Outcome.OK << 4)
FINISHED = int(Op.FINISH | Outcome.OK << 4)
PATH = (
    Step(Kind.CALL_INVOKED, Op.UPDATE, "active", Kind.JOB_STARTED),
    Step(Kind.CALL_RETURNED, UPDATED, "", 0),
    Step(Kind.SLOT_SET, 0, "", 0),
    Step(Kind.BODY_BEGAN, 0, "", Kind.JOB_RUNNING),
    Step(Kind.BODY_ENDED, Outcome.OK, "", 0),
    Step(Kind.CALL_INVOKED, Op.FINISH, "complete", Kind.JOB_FINISHING),
    Step(Kind.CALL_RETURNED, FINISHED, "", 0),
    Step(Kind.SLOT_REMOVED, 0, "", 0),
    Step(Kind.PROCESS_ENDED, Outcome.OK, "", Kind.JOB_FINISHED),
)


class Join(NamedTuple):
    """A call on the path: where it comes, the text that it must have, the record it completes."""

    place: int
    text: str
    kind: int


THE_UPDATE = Join(BEGAN, "active", int(Kind.JOB_STARTED))
THE_FINISH = Join(RETURNED, "complete", int(Kind.JOB_FINISHING))
NEVER = Join(-1, "", 0)


def settle(attempt: Attempt) -> None:
    """Write what waits; from now on this attempt is recorded event by event."""
    place, attempt.place = attempt.place, OFF_THE_PATH
    write, job, number = attempt.probe.record, attempt.job, attempt.number
    if place == BEGAN:
        text, _, tries = attempt.text.rpartition("\x1f")
        write(Kind.ATTEMPT_BEGAN, job, number, int(tries), attempt.stamp, text)
    elif place in (ACTIVE, REGISTERED, COMPLETE, REMOVED):
        code = FINISHED if place >= COMPLETE else UPDATED
        write(Kind.CALL_RETURNED, job, number, attempt.call, attempt.stamp, "", code)
        if place == REGISTERED:
            write(Kind.SLOT_SET, job, number)
        elif place == REMOVED:
            write(Kind.SLOT_REMOVED, job, number, 0, number)
    elif place == RETURNED:
        write(Kind.BODY_ENDED, job, number, code=Outcome.OK)
