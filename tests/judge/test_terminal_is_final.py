"""terminal-is-final on literal histories. The slack is 50 ms."""

from __future__ import annotations

from chaos.checkers.terminal_is_final import TerminalIsFinal
from chaos.verdict import Finding, Judgement
from tests.judge.histories import Story, Worker, judged

CHECKER = TerminalIsFinal()


def _complete(story: Story) -> Worker:
    """A job that completes on worker 1: its finish comes back at 31."""
    story.enqueued("k", at=1)
    worker = story.worker(1)
    run = worker.begins("k", at=10)
    run.runs(at=11)
    run.completes(at=30)
    return worker


def test_a_finished_job_is_sound() -> None:
    story = Story()
    _complete(story)
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_the_key_s_next_enqueue_is_another_job() -> None:
    story = Story()
    worker = _complete(story)
    story.enqueued("k", at=100, enqueue=2)
    run = worker.begins("k", at=110, enqueue=2)
    run.runs(at=111)
    run.completes(at=130)
    assert judged(CHECKER, story) == Judgement(exposure=2)


def test_what_another_host_does_within_the_slack_of_the_finish_is_not_judged() -> None:
    story = Story()
    _complete(story)
    other = story.worker(2)
    other.call("retry", "k", at=80)
    other.call("finish", "k", at=81, status="aborted")
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_the_same_status_twice_is_sound() -> None:
    """A worker's finish_abort repeats what its process() has recorded."""
    story = Story()
    run = story.worker().begins("k", at=10)
    run.runs(at=11)
    run.is_aborted(at=30)
    again = story.worker().call("finish_abort", "k", at=200, until=210)
    story.worker().call("finish", "k", at=201, status="aborted", parent=again)
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_an_aborted_that_a_sweep_asked_for_is_not_final_until_the_sweep_decides() -> None:
    story = Story()
    story.enqueued("k", at=1)
    worker = story.worker(1)
    run = worker.begins("k", at=10)
    run.runs(at=11)
    sweeper = story.worker(2)
    sweep = sweeper.sweeps(at=990, until=1500)
    sweeper.call("abort", "k", at=1000, parent=sweep)
    run.is_aborted(at=1200, why="swept")
    sweeper.call("retry", "k", at=1300, parent=sweep)
    again = worker.begins("k", at=1310)
    again.runs(at=1311)
    again.completes(at=1400)
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_an_aborted_within_the_slack_of_a_sweep_s_decision_is_its_answer_on_another_host() -> None:
    """On the sweeper's own host the order is exact, so there it is final."""
    story = Story()
    owner, sweeper = story.worker(1), story.worker(2)
    for key, host in (("here", sweeper), ("there", owner)):
        owner.begins(key, at=10).runs(at=11)
        sweep = sweeper.sweeps(at=990, until=5000)
        sweeper.call("abort", key, at=1000, parent=sweep)
        sweeper.call("retry", key, at=1100, parent=sweep)
        host.call("finish", key, at=1120, status="aborted")
        owner.call("retry", key, at=1300)
    found = judged(CHECKER, story).findings
    assert [(one.job, one.kind) for one in found] == [("here", "requeued")]


def test_a_finish_or_retry_that_was_not_acknowledged_may_not_have_happened() -> None:
    story = Story()
    worker = _complete(story)
    worker.call("finish", "k", at=200, status="failed", outcome="fail")
    worker.call("retry", "k", at=300, outcome="")
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_a_complete_job_that_a_sweep_puts_back_and_that_runs_again_is_found_twice() -> None:
    story = Story()
    worker = _complete(story)
    sweeper = story.worker(2)
    sweep = sweeper.sweeps(at=20, until=500)
    sweeper.call("abort", "k", at=25, parent=sweep)
    sweeper.call("retry", "k", at=400, parent=sweep, detail="swept")
    run = worker.begins("k", at=410)
    run.runs(at=411)
    run.completes(at=450)
    requeued = Finding(
        kind="requeued",
        job="k",
        message="'k' (enqueue 1) was COMPLETE; then a retry (swept) re-queued it on "
        "stock@0.26.3/worker-2.1",
        events=(12, 13, 16),
    )
    ran_again = Finding(
        kind="ran-again",
        job="k",
        message="'k' (enqueue 1) was COMPLETE; then attempt stock@0.26.3/worker-1.1#2 ran it on "
        "stock@0.26.3/worker-1.1",
        events=(12, 13, 20),
    )
    assert judged(CHECKER, story) == Judgement(findings=(requeued, ran_again), exposure=1)


def test_a_complete_job_that_becomes_aborted_is_found() -> None:
    story = Story()
    _complete(story)
    sweeper = story.worker(2)
    sweep = sweeper.sweeps(at=20, until=500)
    sweeper.call("abort", "k", at=25, parent=sweep)
    sweeper.call("finish", "k", at=400, parent=sweep, status="aborted")
    finding = Finding(
        kind="overwritten",
        job="k",
        message="'k' (enqueue 1) was COMPLETE; then COMPLETE became ABORTED on "
        "stock@0.26.3/worker-2.1",
        events=(12, 13, 16),
    )
    assert judged(CHECKER, story) == Judgement(findings=(finding,), exposure=1)


def test_an_abort_s_second_finish_after_the_sweep_decided_is_final() -> None:
    """The owner's late finish_abort ends the job that the sweep has put back, and it runs on."""
    story = Story()
    story.enqueued("k", at=1)
    worker = story.worker(1)
    run = worker.begins("k", at=10)
    run.runs(at=11)
    sweeper = story.worker(2)
    sweep = sweeper.sweeps(at=990, until=5000)
    sweeper.call("abort", "k", at=1000, parent=sweep)
    run.is_aborted(at=1200, why="swept")
    sweeper.call("retry", "k", at=1300, parent=sweep)
    again = worker.begins("k", at=1310)
    again.runs(at=1311)
    late = worker.call("finish_abort", "k", at=1390, until=1410)
    worker.call("finish", "k", at=1400, status="aborted", parent=late)
    again.completes(at=1500)
    found = judged(CHECKER, story).findings
    assert [(one.kind, "ABORTED became COMPLETE" in one.message) for one in found] == [
        ("overwritten", True)
    ]


def test_an_aborted_left_behind_by_a_dead_sweeper_is_final() -> None:
    story = Story()
    worker = story.worker(1)
    run = worker.begins("k", at=10)
    run.runs(at=11)
    sweeper = story.worker(2)
    sweep = sweeper.sweeps(at=990, until=None)
    sweeper.call("abort", "k", at=1000, parent=sweep)
    story.killed(sweeper, at=1100, gone=1101)
    run.is_aborted(at=1200, why="swept")
    worker.call("retry", "k", at=1300)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["requeued"]


def test_a_job_that_runs_again_and_again_is_found_once_a_kind() -> None:
    story = Story()
    worker = _complete(story)
    for place in (1, 2, 3):
        worker.call("retry", "k", at=100 * place)
        run = worker.begins("k", at=100 * place + 10)
        run.runs(at=100 * place + 11)
        run.completes(at=100 * place + 30)
    found = judged(CHECKER, story).findings
    assert [(one.kind, one.events[-1]) for one in found] == [("requeued", 12), ("ran-again", 16)]
