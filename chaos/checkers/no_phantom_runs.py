"""no-phantom-runs: what ran is what was enqueued: known job, same function, same kwargs.

An attempt is known if an enqueue in this history was acknowledged with its key and enqueue id. An
enqueue that never came back may have happened, so an attempt of its key is no phantom; one whose
key was not even known yet makes a job that nobody else enqueued UNKNOWN. Kwargs are compared by
digest.

Exposure: attempts.
"""

from __future__ import annotations

from chaos.checkers.evidence import numbers
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.timeline.attempts import Attempt
from chaos.timeline.jobs import Job
from chaos.verdict import Finding, Judgement


class NoPhantomRuns:
    """Every attempt of something that nobody enqueued like that is a finding."""

    name = "no-phantom-runs"
    claim = "what ran is what was enqueued: known job, same function, same kwargs"
    exposure = "attempts"

    def check(self, plan: Plan, timeline: Timeline) -> Judgement:
        unclear = _unclear_keys(timeline)
        findings: list[Finding] = []
        unknown = timeline.hosts.blind("queue:enqueue", "process")
        for job in timeline.jobs.all():
            if job.acknowledged:
                findings += filter(None, (_differs(job, attempt) for attempt in job.attempts))
            elif job.attempts and "" in unclear and job.key not in unclear:
                unknown = unknown or (
                    f"an enqueue without a key never came back, so {job.key!r} may be its job"
                )
            elif job.key not in unclear:
                findings += [_unknown(attempt) for attempt in job.attempts]
        return Judgement(
            findings=tuple(findings), exposure=len(timeline.attempts.by_id), unknown=unknown
        )


def _unclear_keys(timeline: Timeline) -> frozenset[str]:
    """The keys of enqueues that may or may not have happened; empty text for one without a key."""
    in_flight = [call.job for call in timeline.calls.in_flight("enqueue")]
    return frozenset((*timeline.jobs.unclear, *in_flight))


def _unknown(attempt: Attempt) -> Finding:
    began = attempt.began
    return Finding(
        kind="unknown-job",
        job=attempt.job,
        message=f"attempt {attempt.id} ran {attempt.job!r} (enqueue {began.enqueue}), "
        "which nobody enqueued",
        events=numbers(began),
    )


def _differs(job: Job, attempt: Attempt) -> Finding | None:
    began = attempt.began
    for kind, ran, wanted in (
        ("wrong-function", began.function, job.function()),
        ("wrong-kwargs", began.digest, job.digest()),
    ):
        if ran and wanted and ran != wanted:
            return Finding(
                kind=kind,
                job=job.key,
                message=f"attempt {attempt.id} ran {job.key!r} with {ran}, enqueued with {wanted}",
                events=numbers(job.enqueued.returned if job.enqueued else None, began),
            )
    return None
