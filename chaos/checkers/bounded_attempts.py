"""bounded-attempts: executions of a job ≤ max(1, retries) + graceful cancels.

An execution is a body that began. A graceful cancel is an attempt that a stopping worker put back
with the error "cancelled": saq does not count it against the job, so neither do we.

Exposure: jobs that ran at all.
"""

from __future__ import annotations

from chaos.checkers.evidence import numbers
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.timeline.attempts import Attempt
from chaos.timeline.jobs import Job
from chaos.verdict import Finding, Judgement

CANCELLED = "cancelled"


class BoundedAttempts:
    """Every job that ran more often than it may is a finding."""

    name = "bounded-attempts"
    claim = "executions ≤ max(1, retries) + graceful cancels"
    exposure = "jobs_run"

    def check(self, plan: Plan, timeline: Timeline) -> Judgement:
        jobs = [job for job in timeline.jobs.all() if job.runs()]
        return Judgement(
            findings=tuple(finding for job in jobs for finding in _too_many(job, timeline)),
            exposure=len(jobs),
            unknown=timeline.hosts.blind("bodies", "queue:retry"),
        )


def _too_many(job: Job, timeline: Timeline) -> list[Finding]:
    runs = job.runs()
    graceful = sum(_was_put_back(attempt, timeline) for attempt in job.attempts)
    allowed = max(1, job.retries) + graceful
    if len(runs) <= allowed:
        return []
    return [
        Finding(
            kind="too-many",
            job=job.key,
            message=f"{job.key!r} (enqueue {job.enqueue}) ran {len(runs)} times; retries "
            f"{job.retries} and {graceful} graceful cancels allow {allowed}",
            events=numbers(*(attempt.body_began for attempt in runs)),
        )
    ]


def _was_put_back(attempt: Attempt, timeline: Timeline) -> bool:
    """Whether a stopping worker re-queued it as cancelled."""
    host = timeline.hosts[attempt.host]
    return any(
        call.op == "retry" and call.invoked.detail == CANCELLED and host.stopping_at(call.invoked)
        for call in attempt.calls
    )
