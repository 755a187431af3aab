"""aborts-honoured: an acknowledged abort reaches every attempt that was running at that moment.

Each acknowledged abort × each attempt of its key whose body was running is honoured, late,
ignored, lost or moot; a cancel that its attempt should not have had is misdirected or stray. What
each means, and where the bound is extended or a pair not judged, stands in `chaos.timeline.aborts`,
which the counters read too. Aborts by a sweep count like a user's: a sweep whose wait is shorter
than the bound re-queues jobs before their worker looks, and such aborts are lost.

Exposure: the pairs that could be judged (moot ones are not among them).
"""

from __future__ import annotations

from chaos.checkers.evidence import milliseconds, numbers
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.timeline.aborts import JUDGED, VIOLATIONS, Pair, WrongCancel
from chaos.verdict import Finding, Judgement


class AbortsHonoured:
    """Every violated pair and every wrong cancel is a finding."""

    name = "aborts-honoured"
    claim = (
        "an acknowledged abort of a key reaches every attempt of it that was running then: "
        "cancelled within 2 × the abort interval plus slack, and recorded ABORTED"
    )
    exposure = "aborts_running"

    def check(self, plan: Plan, timeline: Timeline) -> Judgement:
        pairs = timeline.aborts.pairs(timeline.now_us)
        wrong = timeline.aborts.wrong_cancels(timeline.now_us)
        findings = [_violated(pair) for pair in pairs if pair.outcome in VIOLATIONS]
        findings += [_wrong_cancel(one) for one in wrong]
        return Judgement(
            findings=tuple(sorted(findings, key=lambda finding: finding.events)),
            exposure=sum(pair.outcome in JUDGED for pair in pairs),
            unknown=timeline.hosts.blind("queue:abort", "queue:finish", "process", "bodies"),
        )


def _violated(pair: Pair) -> Finding:
    attempt, abort = pair.attempt, pair.abort
    cancel = attempt.cancels[0] if attempt.cancels else None
    by = "a sweep" if pair.by_sweep else abort.host
    after = "" if cancel is None else f" {milliseconds(cancel.t_us - pair.ack_us)} after"
    said = {
        "late": f"was cancelled only{after} the acknowledgement",
        "ignored": f"was cancelled{after} the acknowledgement but not recorded ABORTED",
        "lost": "ran on: no cancel for it came within the bound",
    }[pair.outcome]
    recorded = [call.invoked for call in attempt.calls[-1:]]
    return Finding(
        kind=pair.outcome,
        job=attempt.job,
        message=f"attempt {attempt.id} of {attempt.job!r}, running when {by} aborted it, {said}",
        events=numbers(attempt.body_began, abort.returned, cancel, attempt.body_over, *recorded),
    )


def _wrong_cancel(wrong: WrongCancel) -> Finding:
    attempt, abort = wrong.attempt, wrong.abort
    if abort is None:
        why = "with no abort, timeout or shutdown of its own"
    else:
        why = "for an abort that was acknowledged before it began"
    return Finding(
        kind=wrong.outcome,
        job=attempt.job,
        message=f"attempt {attempt.id} of {attempt.job!r} was cancelled {why}",
        events=numbers(abort.returned if abort else None, attempt.began, wrong.cancel),
    )
