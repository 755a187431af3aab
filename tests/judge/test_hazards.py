"""The hazards of saq that are known (SAQ, "Hazards that remain"), each as the history it leaves.

No promise knows of any of them: each is caught by a general claim. The test names say what saq
does; what is asserted is which promises a run like that breaks, and how.
"""

from __future__ import annotations

from chaos.checkers import CHECKERS
from tests.judge.histories import Run, Story, Worker, plan


def _broken(story: Story) -> dict[str, list[str]]:
    """The kinds of findings, by promise, of all promises that the story breaks."""
    timeline = story.timeline()
    found = {one.name: one.check(plan(), timeline).findings for one in CHECKERS}
    return {name: [each.kind for each in findings] for name, findings in found.items() if findings}


def _running(story: Story, worker: Worker, at: float = 10) -> Run:
    story.enqueued("k", at=at - 5)
    run = worker.begins("k", at=at)
    run.runs(at=at + 1)
    return run


def _ended(run: Run, at: float) -> None:
    run.completes(at=at)


def test_a_sweep_that_does_not_look_at_its_wait_runs_a_completed_job_again() -> None:
    story = Story()
    owner, sweeper = story.worker(1), story.worker(2)
    run = _running(story, owner)
    sweep = sweeper.sweeps(at=12, until=400)
    sweeper.call("abort", "k", at=12, parent=sweep)
    _ended(run, at=60)
    sweeper.call("retry", "k", at=200, parent=sweep, detail="swept")
    again = owner.begins("k", at=210)
    again.runs(at=211)
    _ended(again, at=250)
    story.found("k", at=9000, status="complete", enqueue=1)
    assert _broken(story) == {"terminal-is-final": ["requeued", "ran-again"]}


def test_an_abort_s_second_finish_takes_the_next_attempt_s_entries_away() -> None:
    """process() records ABORTED, the waiting sweep retries, then the owner's finish_abort comes."""
    story = Story()
    owner, sweeper, other = story.worker(1), story.worker(2), story.worker(3)
    run = _running(story, owner)
    sweep = sweeper.sweeps(at=990, until=2000)
    sweeper.call("abort", "k", at=1000, parent=sweep)
    run.is_aborted(at=1100, why="swept")
    sweeper.call("retry", "k", at=1110, parent=sweep)
    again = other.begins("k", at=1120)
    again.runs(at=1121)
    late = owner.call("finish_abort", "k", at=1290, until=1310)
    owner.call("finish", "k", at=1300, status="aborted", parent=late)
    again.is_aborted(at=1400, why="swept")
    story.found("k", at=9000, status="aborted", enqueue=1)
    assert _broken(story) == {"aborts-honoured": ["misdirected"]}


def test_an_abort_of_a_scheduled_job_leaves_it_aborting_for_ever() -> None:
    story = Story()
    story.enqueued("k", at=10)
    story.aborted("k", at=20)
    story.found("k", at=9000, status="aborting", enqueue=1)
    assert _broken(story) == {"no-lost-jobs": ["stuck"]}


def test_a_sweeper_that_stops_between_its_abort_and_its_retry_loses_the_job() -> None:
    story = Story()
    dead, sweeper = story.worker(1), story.worker(2)
    _running(story, dead)
    story.killed(dead, at=100, gone=101)
    sweep = sweeper.sweeps(at=500, until=None)
    sweeper.call("abort", "k", at=501, parent=sweep)
    sweeper.stops(at=600)
    sweeper.ended(at=700)
    story.found("k", at=9000, status="aborting", enqueue=1)
    assert _broken(story) == {"no-lost-jobs": ["stuck"]}


def test_overlapping_sweeps_run_a_dead_worker_s_job_more_than_once() -> None:
    story = Story()
    dead, first, second = story.worker(1), story.worker(2), story.worker(3)
    _running(story, dead)
    story.killed(dead, at=100, gone=101)
    runs = []
    for sweeper, at in ((first, 500), (second, 510)):
        sweep = sweeper.sweeps(at=at, until=at + 300)
        sweeper.call("abort", "k", at=at + 1, parent=sweep)
        sweeper.call("retry", "k", at=at + 200, parent=sweep)
        run = sweeper.begins("k", at=at + 210)
        run.runs(at=at + 211)
        runs.append(run)
    for run in runs:
        _ended(run, at=900)
    story.found("k", at=9000, status="complete", enqueue=1)
    assert _broken(story) == {"one-at-a-time": ["across-hosts"]}


def test_an_update_that_overwrites_an_abort_loses_it() -> None:
    story = Story()
    run = _running(story, story.worker())
    story.aborted("k", at=1000)
    run.call("update", at=1001)
    _ended(run, at=3000)
    story.found("k", at=9000, status="complete", enqueue=1)
    assert _broken(story) == {"aborts-honoured": ["lost"]}


def test_a_stale_attempt_s_late_finish_acts_on_the_next_one() -> None:
    """A ignores its cancel and is swept; B starts elsewhere; A ends, and B is cancelled for it."""
    story = Story()
    owner, sweeper, other = story.worker(1), story.worker(2), story.worker(3)
    stale = _running(story, owner)
    sweep = sweeper.sweeps(at=990, until=1600)
    sweeper.call("abort", "k", at=1000, parent=sweep)
    stale.cancelled(at=1100, aborted="swept")
    sweeper.call("retry", "k", at=1500, parent=sweep)
    fresh = other.begins("k", at=1510)
    fresh.runs(at=1511)
    stale.body_ends(at=2000)
    stale.unregisters(at=2001)
    stale.ends(at=2001)
    late = owner.call("finish_abort", "k", at=2002, until=2005)
    owner.call("finish", "k", at=2003, status="aborted", parent=late)
    fresh.is_aborted(at=2100, why="swept")
    story.found("k", at=9000, status="aborted", enqueue=1)
    assert _broken(story) == {
        "aborts-honoured": ["misdirected"],
        "one-at-a-time": ["across-hosts"],
    }


def test_an_abort_in_another_queue_refuses_the_key_in_this_one() -> None:
    """The marker has no queue name; the other queue's abort is not in this history."""
    story = Story()
    story.refused("k", at=100)
    story.empty(at=9000)
    assert _broken(story) == {"no-lost-jobs": ["refused"]}


def test_a_function_that_raises_cancelled_error_itself_leaves_its_job_active() -> None:
    story = Story()
    run = _running(story, story.worker())
    run.body_ends(at=20, outcome="cancelled")
    run.unregisters(at=21)
    run.ends(at=21)
    story.found("k", at=9000, status="active", active=1, score=0, enqueue=1)
    assert _broken(story) == {"no-lost-jobs": ["stuck"]}


def test_a_stop_during_before_process_strands_the_job() -> None:
    story = Story()
    worker = story.worker()
    story.enqueued("k", at=5)
    run = worker.begins("k", at=10)
    worker.stops(at=15)
    run.ends(at=20, outcome="empty")
    worker.ended(at=30)
    story.found("k", at=9000, status="active", active=1, score=0, enqueue=1)
    assert _broken(story) == {"no-lost-jobs": ["stuck"]}


def test_a_thread_goes_on_while_its_job_is_put_back_and_runs_again() -> None:
    story = Story()
    worker = story.worker()
    story.enqueued("k", at=5)
    run = worker.begins("k", at=10)
    run.runs(at=11, thread=True)
    run.cancelled(at=1000)
    run.raises(at=1000, error="TimeoutError", origin="timeout")
    run.puts_back(at=1501)
    run.unregisters(at=1503)
    run.ends(at=1503)
    again = worker.begins("k", at=1510)
    again.runs(at=1511)
    _ended(again, at=1600)
    run.body_ends(at=3000)
    story.found("k", at=9000, status="complete", enqueue=1)
    assert _broken(story) == {
        "no-orphaned-contexts": ["outlived-by-body"],
        "one-at-a-time": ["same-host"],
    }


def test_a_finish_whose_reply_was_lost_is_followed_by_a_retry() -> None:
    """Nobody knows whether it was recorded, so only what follows for certain may be a finding."""
    story = Story()
    worker = story.worker()
    run = _running(story, worker)
    run.body_ends(at=20)
    run.finishes(at=21, outcome="fail")
    run.raises(at=23, error="ConnectionError", origin="redis")
    run.puts_back(at=24)
    run.unregisters(at=26)
    run.ends(at=26)
    again = worker.begins("k", at=30)
    again.runs(at=31)
    _ended(again, at=40)
    story.found("k", at=9000, status="complete", enqueue=1)
    assert _broken(story) == {}


def test_an_overwritten_attempt_is_never_polled_for_its_abort() -> None:
    """0.26.4: B took the slot, so the abort that is meant for A as well reaches B alone."""
    story = Story()
    worker = story.worker()
    first = _running(story, worker)
    second = worker.begins("k", at=100)
    second.registers(at=101)
    first.overwritten(at=101, by=second)
    second.starts(at=101)
    story.aborted("k", at=1000)
    second.is_aborted(at=1200)
    first.body_ends(at=5000)
    first.finishes(at=5001)
    first.ends(at=5003)
    story.found("k", at=9000, status="complete", enqueue=1)
    assert _broken(story) == {
        "no-orphaned-contexts": ["overwritten"],
        "aborts-honoured": ["lost"],
        "one-at-a-time": ["same-host"],
        "terminal-is-final": ["overwritten"],
    }


def test_the_seed_bug_breaks_what_a_user_sees_of_it() -> None:
    """A's `finally` pops B's context; B, whose body did well, dies with KeyError and is retried."""
    story = Story()
    worker = story.worker()
    first = _running(story, worker)
    worker.stops(at=15)
    second = worker.begins("k", at=20)
    second.registers(at=21)
    first.overwritten(at=21, by=second)
    first.cancelled(at=22)
    first.body_ends(at=22, outcome="cancelled")
    second.starts(at=23)
    second.unregisters(at=30, by=first)
    first.ends(at=30)
    second.body_ends(at=50)
    second.raises(at=51, error="KeyError", line="worker.py:374 process")
    second.puts_back(at=52)
    second.ends(at=54)
    story.found("k", at=9000, status="queued", queued=1, score=0, enqueue=1)
    assert _broken(story) == {
        "no-internal-errors": ["KeyError"],
        "no-orphaned-contexts": ["overwritten", "foreign-pop"],
    }
