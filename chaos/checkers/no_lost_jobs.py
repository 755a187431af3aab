"""no-lost-jobs: every acknowledged enqueue ends in a terminal state or can still move.

Judged on the last inspection, after the drain: without one (an interrupted run) it is UNKNOWN,
since jobs may have been on their way. A job can still move if it is queued, scheduled, has a live
attempt, or is in the hands of a sweep: one that aborted it waits up to 5 s before it retries or
finishes it, and the job was looked at meanwhile. Kinds:

    lost      its record is in no list, is gone without a finish, or belongs to a later enqueue
    stuck     ABORTING, or ACTIVE (or in the active list) without a live attempt
    refused   an enqueue was refused while its own queue held nothing of that key

A record that has gone after a finish, also one whose reply never came, has reached its end: only a
finish gives a record a time to live. An enqueue that never came back may or may not exist, so
nothing is asked of it. What a restart of the server without its data destroyed is excused.

Exposure: acknowledged enqueues.
"""

from __future__ import annotations

from chaos.checkers.evidence import numbers
from chaos.event import JobState
from chaos.plan import Plan, RedisRestartFault
from chaos.timeline import Timeline
from chaos.timeline.calls import Call
from chaos.timeline.jobs import TERMINAL, Job
from chaos.verdict import Finding, Judgement

SWEEP_WAITS_US = 5_000_000  # for the attempt to end, after the abort: saq's `sweep(abort=5.0)`
NO_INSPECTION = "the queue was not inspected after the drain, so jobs may have been on their way"


class NoLostJobs:
    """Every acknowledged enqueue that ended nowhere, and every groundless refusal, is a finding."""

    name = "no-lost-jobs"
    claim = (
        "every acknowledged enqueue ends in a terminal state or can still move, and one is refused "
        "only while its own queue holds that key"
    )
    exposure = "enqueues"

    def check(self, plan: Plan, timeline: Timeline) -> Judgement:
        findings = [_refused(call) for call in timeline.keys.groundless]
        if timeline.inspection.made:
            excused_us = _data_lost_us(plan, timeline)
            findings += [
                finding
                for job in timeline.jobs.all()
                if job.acknowledged and not _is_excused(job, excused_us)
                for finding in _fate(job, timeline)
            ]
        unseen = "" if timeline.inspection.made else NO_INSPECTION
        blind = timeline.hosts.blind("queue:enqueue", "queue:finish", "process")
        return Judgement(
            findings=tuple(findings),
            exposure=timeline.tally.enqueues["accepted"],
            unknown=blind or unseen,
        )


def _fate(job: Job, timeline: Timeline) -> list[Finding]:
    """The finding of a job that has not ended and cannot move; none otherwise."""
    if any(attempt.over is None for attempt in job.attempts):
        return []
    state = timeline.inspection.states.get(job.key)
    if state is None or not state.status:
        return [] if job.finishes else [_lost(job, state, "its record is gone, without a finish")]
    if job.enqueue and state.enqueue not in (0, job.enqueue):
        return [] if job.finishes else [_lost(job, state, "another enqueue took its record")]
    if state.status in TERMINAL or state.queued:
        return []
    if state.status == "queued" and state.score:
        return []
    if state.status in ("active", "aborting") or state.active:
        if _is_being_swept(job, state, timeline):
            return []
        place = "in the active list" if state.active else "in no list"
        return [_finding("stuck", job, state, f"{state.status}, {place}, without a live attempt")]
    return [_lost(job, state, f"{state.status}, but in no list")]


def _is_being_swept(job: Job, state: JobState, timeline: Timeline) -> bool:
    """Whether a sweep that aborted the job may have been waiting when the job was looked at."""
    for abort in job.aborts:
        sweep = abort.inside("sweep")
        if sweep is not None:
            aborted = abort.returned or abort.invoked
            waits_until_us = aborted.t_us + SWEEP_WAITS_US + timeline.slack_us
            over = sweep.returned or timeline.hosts[sweep.host].gone
            if state.t_us <= waits_until_us and (over is None or over.t_us > state.t_us):
                return True
    return False


def _lost(job: Job, state: JobState | None, why: str) -> Finding:
    return _finding("lost", job, state, why)


def _finding(kind: str, job: Job, state: JobState | None, why: str) -> Finding:
    last = job.attempts[-1].over if job.attempts else None
    calls = [call.invoked for calls in (job.requeues, job.aborts) for call in calls[-1:]]
    enqueued = job.enqueued.returned if job.enqueued else None
    return Finding(
        kind=kind,
        job=job.key,
        message=f"{job.key!r} (enqueue {job.enqueue}) at the end: {why}",
        events=numbers(enqueued, last, *calls, state),
    )


def _refused(call: Call) -> Finding:
    return Finding(
        kind="refused",
        job=call.job,
        message=f"an enqueue of {call.job!r} was refused while the queue held nothing of it",
        events=numbers(call.invoked, call.returned),
    )


def _data_lost_us(plan: Plan, timeline: Timeline) -> int | None:
    """Until when whatever was enqueued may have been destroyed by a restart without its data."""
    specs = [fault for fault in plan.faults if isinstance(fault, RedisRestartFault)]
    windows = timeline.faults.of("redis_restart")
    if not windows or all(spec.data == "kept" for spec in specs):
        return None
    healed = windows[-1].healed
    return timeline.now_us if healed is None else healed.t_us + timeline.slack_us


def _is_excused(job: Job, excused_us: int | None) -> bool:
    returned = job.enqueued.returned if job.enqueued else None
    return excused_us is not None and returned is not None and returned.t_us <= excused_us
