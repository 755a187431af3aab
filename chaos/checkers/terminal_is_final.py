"""terminal-is-final: nothing runs, overwrites or re-queues a job after its terminal state.

The terminal state is the first finish that was acknowledged, except an ABORTED that was written in
answer to a sweep's abort while that sweep had not yet decided (its own retry or finish of the job):
there the sweep's decision is the state.

Kinds, each found once a job, all about the same enqueue and after that finish:

    ran-again     a body began
    overwritten   a finish wrote another status
    requeued      a retry put it back

After means by order on one host, by more than the plan's slack across hosts; what overlaps the
finish is not judged. A finish or retry that was not acknowledged may not have happened: no finding.

Exposure: jobs that reached a terminal state.
"""

from __future__ import annotations

from chaos.checkers.evidence import numbers
from chaos.event import Event
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.timeline.calls import Call, later
from chaos.timeline.jobs import Job
from chaos.verdict import Finding, Judgement


class TerminalIsFinal:
    """Everything that moved a job after its terminal state is a finding."""

    name = "terminal-is-final"
    claim = "nothing runs, overwrites or re-queues a job after its terminal state"
    exposure = "jobs_finished"

    def check(self, plan: Plan, timeline: Timeline) -> Judgement:
        slack_us = timeline.slack_us
        findings: list[Finding] = []
        for job in timeline.jobs.all():
            terminal = job.terminal(slack_us)
            if terminal is not None:
                findings += _afterwards(job, terminal, slack_us)
        return Judgement(
            findings=tuple(sorted(findings, key=lambda finding: finding.events[-1])),
            exposure=timeline.jobs_finished(),
            unknown=timeline.hosts.blind("queue:finish", "queue:retry", "queue:sweep", "bodies"),
        )


def _afterwards(job: Job, terminal: Call, slack_us: int) -> list[Finding]:
    """The first of each kind: what follows from it is the same violation, not another one."""
    first: dict[str, Finding] = {}
    for finding in _everything_after(job, terminal, slack_us):
        first.setdefault(finding.kind, finding)
    return list(first.values())


def _everything_after(job: Job, terminal: Call, slack_us: int) -> list[Finding]:
    findings: list[Finding] = []
    for attempt in job.runs():
        began = attempt.body_began
        if began is not None and later(began, terminal, slack_us):
            did = f"attempt {attempt.id} ran it"
            findings.append(_finding("ran-again", job, terminal, did, began))
    for call in job.requeues:
        if call.happened and later(call.invoked, terminal, slack_us):
            did = f"a retry ({call.invoked.detail or 'no reason given'}) re-queued it"
            findings.append(_finding("requeued", job, terminal, did, call.invoked))
    state = terminal.invoked.status
    for call in job.finishes:
        status = call.invoked.status
        if status != state and call.happened and later(call.invoked, terminal, slack_us):
            did = f"{state.upper()} became {status.upper()}"
            findings.append(_finding("overwritten", job, terminal, did, call.invoked))
            state = status
    return findings


def _finding(kind: str, job: Job, terminal: Call, did: str, event: Event) -> Finding:
    status = terminal.invoked.status.upper()
    return Finding(
        kind=kind,
        job=job.key,
        message=f"{job.key!r} (enqueue {job.enqueue}) was {status}; then {did} on {event.host}",
        events=numbers(terminal.invoked, terminal.returned, event),
    )
