"""one-at-a-time on literal histories. The slack is 50 ms."""

from __future__ import annotations

from chaos.checkers.one_at_a_time import OneAtATime
from chaos.verdict import Finding, Judgement
from tests.judge.histories import VARIANT, Story, judged

CHECKER = OneAtATime()
A, B, C = (f"{VARIANT}/worker-1.1#{number}" for number in (1, 2, 3))


def test_a_retry_of_an_attempt_whose_body_has_ended_risks_nothing() -> None:
    """The second one begins while the first one's process() still awaits its retry."""
    story = Story()
    worker = story.worker()
    first = worker.begins("k", at=10)
    first.runs(at=11)
    first.body_ends(at=20, outcome="raised")
    first.puts_back(at=20, until=22)
    second = worker.begins("k", at=21)
    second.runs(at=22)
    first.ends(at=30)
    second.completes(at=40)
    assert judged(CHECKER, story) == Judgement(exposure=0)


def test_a_job_that_waits_for_the_running_attempt_was_at_risk_and_is_sound() -> None:
    """A sweep puts it back while it runs; its next attempt begins after that."""
    story = Story()
    worker = story.worker(1)
    first = worker.begins("k", at=10)
    first.runs(at=11)
    story.worker(2).call("retry", "k", at=20)
    first.completes(at=30)
    second = worker.begins("k", at=40)
    second.runs(at=41)
    second.completes(at=50)
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_an_enqueue_of_a_key_that_runs_is_a_risk_too() -> None:
    story = Story()
    first = story.worker().begins("k", at=10)
    first.runs(at=11)
    story.enqueued("k", at=20, enqueue=2)
    first.completes(at=30)
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_bodies_on_two_hosts_that_overlap_by_no_more_than_the_slack_are_sound() -> None:
    story = Story()
    first = story.worker(1).begins("k", at=10)
    first.runs(at=11)
    second = story.worker(2).begins("k", at=50)
    second.runs(at=51)
    first.completes(at=101)
    second.completes(at=200)
    assert judged(CHECKER, story) == Judgement()


def test_a_body_on_a_killed_host_ends_with_it() -> None:
    story = Story()
    worker = story.worker(1)
    worker.begins("k", at=10).runs(at=11)
    story.killed(worker, at=20, gone=22)
    story.worker(2).begins("k", at=500).runs(at=501)
    story.empty(at=900)
    assert judged(CHECKER, story) == Judgement()


def test_different_keys_may_run_at_once() -> None:
    story = Story()
    worker = story.worker()
    worker.begins("k", at=10).runs(at=11)
    worker.begins("other", at=10).runs(at=11)
    story.empty(at=900)
    assert judged(CHECKER, story) == Judgement()


def test_bodies_of_one_key_on_one_worker_that_run_at_once_are_found() -> None:
    story = Story()
    worker = story.worker()
    first = worker.begins("k", at=10)
    first.runs(at=11)
    worker.call("retry", "k", at=15)
    second = worker.begins("k", at=20)
    second.runs(at=21)
    first.completes(at=22)
    second.completes(at=40)
    finding = Finding(
        kind="same-host",
        job="k",
        message=f"'k': {B} began while {A} ran; both ran for 1.0 ms on one host",
        events=(4, 9, 10, 15),
    )
    assert judged(CHECKER, story) == Judgement(findings=(finding,), exposure=1)


def test_an_attempt_that_runs_beside_two_others_is_found_once() -> None:
    story = Story()
    worker = story.worker()
    runs = [worker.begins("k", at=10 * place) for place in (1, 2, 3)]
    for place, run in enumerate(runs):
        run.runs(at=100 + place)
    for run in runs:
        run.completes(at=200)
    assert [one.message for one in judged(CHECKER, story).findings] == [
        f"'k': {B} began while {A} ran; both ran for 99.0 ms on one host",
        f"'k': {C} began while {A} and 1 more ran; both ran for 98.0 ms on one host",
    ]


def test_bodies_on_two_hosts_that_overlap_by_more_than_the_slack_are_found() -> None:
    story = Story()
    first = story.worker(1).begins("k", at=10)
    first.runs(at=11)
    second = story.worker(2).begins("k", at=50)
    second.runs(at=51)
    first.completes(at=102)
    second.completes(at=200)
    found = judged(CHECKER, story).findings
    assert [(one.kind, one.message.endswith("51.0 ms on two hosts")) for one in found] == [
        ("across-hosts", True)
    ]


def test_a_thread_that_outlives_its_attempt_overlaps_the_next_one() -> None:
    story = Story()
    worker = story.worker()
    first = worker.begins("k", at=10)
    first.runs(at=11, thread=True)
    first.unregisters(at=20)
    first.ends(at=20)
    second = worker.begins("k", at=30)
    second.runs(at=31)
    second.completes(at=40)
    first.body_ends(at=90)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["same-host"]


def test_a_thread_that_begins_after_its_process_has_ended_overlaps_the_next_one() -> None:
    """It waited for a free thread of the pool until its job had timed out."""
    story = Story()
    worker = story.worker()
    first = worker.begins("k", at=10)
    first.registers(at=11)
    first.unregisters(at=20)
    first.ends(at=20)
    first.starts(at=25, thread=True)
    second = worker.begins("k", at=30)
    second.runs(at=31)
    second.completes(at=40)
    first.body_ends(at=90)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["same-host"]


def test_bodies_that_still_overlap_at_the_end_are_found() -> None:
    story = Story()
    story.worker(1).begins("k", at=10).runs(at=11)
    story.worker(2).begins("k", at=50).runs(at=51)
    story.empty(at=900)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["across-hosts"]


def test_bodies_that_could_not_be_seen_make_it_unknown() -> None:
    story = Story()
    story.worker().blind("bodies", "functions is no dict")
    assert judged(CHECKER, story) == Judgement(
        unknown=f"{VARIANT}/worker-1.1 could not see bodies: functions is no dict"
    )
