"""The counters of a literal history, all of them."""

from __future__ import annotations

from chaos.checkers import CHECKERS
from chaos.counters import COUNTERS, EXPOSURES, values
from tests.judge.histories import Story


def _eventful() -> Story:
    """Two attempts collide, one is swept, one raises; a worker is killed and replaced."""
    story = Story()
    worker = story.worker(1)
    story.enqueued("k", at=10)
    first = worker.begins("k", at=20)
    first.runs(at=21)
    sweeper = story.worker(2)
    sweep = sweeper.sweeps(at=90, until=400)
    sweeper.call("abort", "k", at=100, parent=sweep)
    sweeper.call("retry", "k", at=150, parent=sweep)
    second = worker.begins("k", at=160)
    second.registers(at=161)
    first.overwritten(at=161, by=second)
    second.starts(at=161)
    first.is_aborted(at=200, why="swept")
    second.body_ends(at=211)
    second.raises(at=212, error="KeyError")
    second.finishes(at=213, status="failed")
    second.unregisters(at=215)
    second.ends(at=215)
    story.refused("k", at=300)
    story.killed(worker, at=500, gone=502)
    story.worker(1, incarnation=2, at=600)
    story.fault("kill", at=499, until=601)
    story.empty(at=900)
    return story


def test_every_counter_of_an_eventful_history() -> None:
    assert values(_eventful().timeline()) == {
        "attempts": 2,
        "slot_collisions": 1,
        "key_errors": 1,
        "internal_errors": 0,
        "orphaned_contexts": 1,
        "orphaned_contexts_now": 0,
        "orphaned_overwritten": 1,
        "orphaned_foreign_pop": 0,
        "orphaned_outlived_by_body": 0,
        "orphaned_leaked": 0,
        "overlaps": 1,
        "body_overlaps": 1,
        "repeats": 1,
        "requeued_live": 1,
        "contexts": 2,
        "contexts_collided": 2,
        "jobs_run": 1,
        "runs": 2,
        "attempts_complete": 0,
        "attempts_failed": 1,
        "attempts_aborted": 1,
        "attempts_retried": 0,
        "attempts_raised": 0,
        "attempts_killed": 0,
        "attempts_unrecorded": 0,
        "enqueues": 1,
        "enqueues_refused": 1,
        "enqueues_unclear": 0,
        "jobs_finished": 1,
        "jobs_complete": 0,
        "jobs_failed": 0,
        "jobs_aborted": 1,
        "retries": 1,
        "aborts": 1,
        "aborts_running": 1,
        "aborts_honoured": 1,
        "aborts_late": 0,
        "aborts_ignored": 0,
        "aborts_lost": 0,
        "aborts_moot": 0,
        "aborts_misdirected": 0,
        "aborts_stray": 0,
        "sweeps": 1,
        "swept": 1,
        "swept_live": 1,
        "restarts": 1,
        "kills": 1,
        "crashes": 0,
        "faults": 1,
        "faults_active": 0,
        "queue_queued": 0,
        "queue_active": 0,
        "queue_incomplete": 0,
        "job_wait_p50": 0.01,
        "job_wait_p95": 0.01,
        "job_wait_p99": 0.01,
        "job_run_p50": 0.05,
        "job_run_p95": 0.179,
        "job_run_p99": 0.179,
    }


def test_nothing_measured_is_absent_and_everything_else_is_zero() -> None:
    found = values(Story().timeline())
    assert set(COUNTERS) - set(found) == {
        "queue_queued", "queue_active", "queue_incomplete",
        "job_wait_p50", "job_wait_p95", "job_wait_p99",
        "job_run_p50", "job_run_p95", "job_run_p99",
    }  # fmt: skip
    assert set(found.values()) == {0}


def test_what_is_still_open_counts_now() -> None:
    """An orphaned context, an overlap and a fault, each while it lasts."""
    story = Story()
    worker = story.worker()
    first = worker.begins("k", at=10)
    first.runs(at=11)
    second = worker.begins("k", at=20)
    second.runs(at=21)
    first.overwritten(at=21, by=second)
    story.tell_injected("pause", at=30)
    found = values(story.timeline())
    assert (found["orphaned_contexts_now"], found["overlaps"], found["faults_active"]) == (1, 1, 1)


def test_looking_at_the_counters_while_the_run_goes_on_changes_nothing() -> None:
    story = _eventful()
    watched = Story().timeline()
    for event in story.history():
        watched.feed(event)
        values(watched)
    assert values(watched) == values(story.timeline())


def test_a_worker_that_ends_by_itself_and_is_replaced_crashed() -> None:
    story = Story()
    worker = story.worker(1)
    story.exited(worker, at=10, code=1, expected=False)
    story.worker(1, incarnation=2, at=20)
    stopped = story.worker(2)
    stopped.stops(at=30)
    stopped.ended(at=31)
    story.worker(2, incarnation=2, at=32)
    found = values(story.timeline())
    assert (found["restarts"], found["crashes"], found["kills"]) == (2, 1, 0)


def test_a_replacement_that_starts_before_the_old_one_is_stopped_is_no_crash() -> None:
    story = Story()
    story.worker(1)
    story.worker(1, incarnation=2, at=20)
    found = values(story.timeline())
    assert (found["restarts"], found["crashes"], found["kills"]) == (1, 0, 0)


def test_every_checker_s_exposure_may_be_required_by_a_plan() -> None:
    assert [one.name for one in CHECKERS if one.exposure not in EXPOSURES] == []
