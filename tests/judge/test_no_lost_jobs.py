"""no-lost-jobs on literal histories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chaos import event as e
from chaos.checkers.no_lost_jobs import NO_INSPECTION, NoLostJobs
from chaos.verdict import Finding, Judgement
from tests.judge.histories import Story, judged

CHECKER = NoLostJobs()


def _with_state(**state: Any) -> Callable[[Story], None]:
    """A job that no attempt has finished, and what the inspection saw of it."""

    def tell(story: Story) -> None:
        story.enqueued("k", at=10)
        story.found("k", at=9000, enqueue=1, **state)

    return tell


def _finished_and_expired(story: Story) -> None:
    story.enqueued("k", at=10)
    run = story.worker().begins("k", at=20)
    run.runs(at=21)
    run.completes(at=30)
    story.found("k", at=9000)


def _finish_never_came_back(story: Story) -> None:
    """The worker was killed in the middle of its finish: it may have happened."""
    worker = story.worker()
    story.enqueued("k", at=10)
    run = worker.begins("k", at=20)
    run.runs(at=21)
    run.body_ends(at=30)
    run.finishes(at=31, outcome="")
    story.killed(worker, at=32, gone=33)
    story.empty(at=9000)


def _still_runs(story: Story) -> None:
    """Swept out of every list, but its attempt is alive."""
    story.enqueued("k", at=10)
    story.worker().begins("k", at=20).runs(at=21)
    story.found("k", at=9000, status="aborting", enqueue=1)


def _aborted_in_the_queue(story: Story) -> None:
    story.enqueued("k", at=10)
    abort = story.call("abort", "k", 20, until=25, enqueue=1)
    story.call("finish", "k", 21, enqueue=1, status="aborted", parent=abort)
    story.empty(at=9000)


def _enqueued_again(story: Story) -> None:
    """The first job finished, so the second one may have its record."""
    _aborted_in_the_queue(story)
    story.enqueued("k", at=6000, enqueue=2)
    story.found("k", at=9000, status="queued", enqueue=2, queued=1)


SOUND = {
    "finished, its record expired": (_finished_and_expired, 1),
    "its finish never came back": (_finish_never_came_back, 1),
    "an attempt is alive": (_still_runs, 1),
    "aborted in the queue": (_aborted_in_the_queue, 1),
    "enqueued again": (_enqueued_again, 2),
    "queued": (_with_state(status="queued", queued=1, score=0), 1),
    "scheduled": (_with_state(status="queued", score=1.7e9), 1),
    "recorded complete": (_with_state(status="complete", ttl_us=60_000_000), 1),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_job_that_ended_or_can_still_move_is_sound(name: str) -> None:
    story = Story()
    tell, exposure = SOUND[name]
    tell(story)
    assert judged(CHECKER, story) == Judgement(exposure=exposure)


LOST = {
    "gone without a finish": (
        _with_state(),
        Finding(
            kind="lost",
            job="k",
            message="'k' (enqueue 1) at the end: its record is gone, without a finish",
            events=(2, 3),
        ),
    ),
    "queued in no list": (
        _with_state(status="queued", score=0),
        Finding(
            kind="lost",
            job="k",
            message="'k' (enqueue 1) at the end: queued, but in no list",
            events=(2, 3),
        ),
    ),
    "aborting for ever": (
        _with_state(status="aborting"),
        Finding(
            kind="stuck",
            job="k",
            message="'k' (enqueue 1) at the end: aborting, in no list, without a live attempt",
            events=(2, 3),
        ),
    ),
    "active without an attempt": (
        _with_state(status="active", active=1, score=0),
        Finding(
            kind="stuck",
            job="k",
            message="'k' (enqueue 1) at the end: active, in the active list, without a live "
            "attempt",
            events=(2, 3),
        ),
    ),
    "taken by a worker that died at once": (
        _with_state(status="queued", active=1, score=0),
        Finding(
            kind="stuck",
            job="k",
            message="'k' (enqueue 1) at the end: queued, in the active list, without a live "
            "attempt",
            events=(2, 3),
        ),
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_a_job_that_neither_ended_nor_can_move_is_found(name: str) -> None:
    story = Story()
    tell, finding = LOST[name]
    tell(story)
    assert judged(CHECKER, story) == Judgement(findings=(finding,), exposure=1)


def test_a_job_whose_record_another_enqueue_took_is_lost() -> None:
    story = Story()
    story.enqueued("k", at=10, enqueue=1)
    story.enqueued("k", at=6000, enqueue=2)
    story.found("k", at=9000, status="queued", enqueue=2, queued=1)
    finding = Finding(
        kind="lost",
        job="k",
        message="'k' (enqueue 1) at the end: another enqueue took its record",
        events=(2, 5),
    )
    assert judged(CHECKER, story) == Judgement(findings=(finding,), exposure=2)


def test_a_killed_attempt_is_not_alive() -> None:
    story = Story()
    worker = story.worker()
    story.enqueued("k", at=10)
    worker.begins("k", at=20).runs(at=21)
    story.killed(worker, at=30, gone=31)
    story.found("k", at=9000, status="active", enqueue=1, active=1)
    found = judged(CHECKER, story).findings
    assert [(one.kind, one.events) for one in found] == [("stuck", (3, 8, 9))]


@pytest.mark.parametrize(
    ("swept", "over", "kinds"),
    [
        (7000, 9500, []),  # it is at work still
        (7000, 8500, ["stuck"]),  # it is through, and left the job so
        (7000, None, []),  # it never came back
        (3000, None, ["stuck"]),  # it should have gone on with the job long ago
        (3000, 9500, ["stuck"]),  # it went on with others
    ],
)
def test_a_job_in_the_hands_of_a_sweep_can_still_move(
    swept: int, over: int | None, kinds: list[str]
) -> None:
    story = Story()
    story.enqueued("k", at=10, enqueue=1)
    worker = story.worker()
    sweep = worker.call("sweep", "", at=swept, outcome="")
    worker.call("abort", "k", at=swept + 1, enqueue=1, parent=sweep)
    story.found("k", at=9000, status="aborting", enqueue=1)
    if over is not None:
        returned = {"op": "sweep", "call": sweep, "outcome": "empty"}
        story.tell(e.CallReturned, over, host=worker.name, **returned)
    assert [one.kind for one in judged(CHECKER, story).findings] == kinds


def test_a_sweep_whose_worker_was_killed_has_no_hands() -> None:
    story = Story()
    story.enqueued("k", at=10, enqueue=1)
    worker = story.worker()
    sweep = worker.call("sweep", "", at=7000, outcome="")
    worker.call("abort", "k", at=7001, enqueue=1, parent=sweep)
    story.killed(worker, at=8000, gone=8001)
    story.found("k", at=9000, status="aborting", enqueue=1)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["stuck"]


def test_what_was_in_every_list_before_the_drain_is_not_the_last_word() -> None:
    story = Story()
    story.enqueued("k", at=10)
    story.found("k", at=20, enqueue=1, status="queued", queued=1)
    story.tell(e.PhaseBegan, 100, phase="liveness", of=story.variant)
    story.empty(at=9000)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["lost"]


def test_without_an_inspection_it_is_unknown() -> None:
    story = Story()
    story.enqueued("k", at=10)
    assert judged(CHECKER, story) == Judgement(exposure=1, unknown=NO_INSPECTION)


def test_an_enqueue_that_never_came_back_owes_nothing() -> None:
    story = Story()
    story.call("enqueue", "k", 10, outcome="")
    story.call("enqueue", "other", 10, outcome="fail")
    story.empty(at=9000)
    assert judged(CHECKER, story) == Judgement()


@pytest.mark.parametrize(("data", "kinds"), [("kept", ["lost", "lost"]), ("lost", ["lost"])])
def test_only_a_restart_without_the_data_excuses_what_came_before_it(
    data: str, kinds: list[str]
) -> None:
    story = Story()
    story.enqueued("before", at=10)
    story.fault("redis_restart", at=100, until=600)
    story.enqueued("after", at=700)
    story.empty(at=9000)
    fault = {"fault": "redis_restart", "data": data, "at": ("100ms",)}
    found = judged(CHECKER, story, faults=(fault,)).findings
    assert [one.kind for one in found] == kinds
    assert found[-1].job == "after"


# --- refusals -------------------------------------------------------------------------------------


def _unfinished(story: Story) -> None:
    story.enqueued("k", at=10)
    story.refused("k", at=100)


def _marker(story: Story) -> None:
    """5 s after an abort, and a slack of 50 ms."""
    _aborted_in_the_queue(story)
    story.refused("k", at=5074)


def _both_at_once(story: Story) -> None:
    story.call("enqueue", "k", 10, until=20, enqueue=1)
    story.call("enqueue", "k", 11, until=15, outcome="empty")


def _unclear(story: Story) -> None:
    story.call("enqueue", "k", 10, outcome="fail")
    story.refused("k", at=5000)


def _retried(story: Story) -> None:
    """A finish took it out, and a retry on another host put it back at about that time."""
    story.enqueued("k", at=10)
    story.call("finish", "k", 100, enqueue=1, status="aborted")
    story.worker().call("retry", "k", 120)
    story.call("finish", "k", 130, enqueue=1, status="aborted")
    story.refused("k", at=5000)


def _dead_host(story: Story) -> None:
    """A killed worker was re-queueing it."""
    worker = story.worker()
    story.enqueued("k", at=10)
    story.call("finish", "k", 100, enqueue=1, status="failed")
    worker.call("retry", "k", 200, outcome="")
    story.killed(worker, at=201, gone=202)
    story.refused("k", at=5000)


@pytest.mark.parametrize(
    "tell", [_unfinished, _marker, _both_at_once, _unclear, _retried, _dead_host]
)
def test_a_refusal_while_the_queue_may_hold_the_key_is_sound(tell: Callable[[Story], None]) -> None:
    story = Story()
    tell(story)
    assert judged(CHECKER, story).findings == ()


def test_a_refusal_of_a_key_that_was_never_enqueued_is_found() -> None:
    story = Story()
    story.refused("k", at=10)
    finding = Finding(
        kind="refused",
        job="k",
        message="an enqueue of 'k' was refused while the queue held nothing of it",
        events=(1, 2),
    )
    assert judged(CHECKER, story) == Judgement(findings=(finding,), unknown=NO_INSPECTION)


def test_a_refusal_after_the_abort_s_marker_is_found() -> None:
    story = Story()
    _aborted_in_the_queue(story)
    story.refused("k", at=5076)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["refused"]


def test_a_refusal_after_the_job_finished_is_found() -> None:
    story = Story()
    story.enqueued("k", at=10)
    run = story.worker().begins("k", at=20)
    run.runs(at=100)
    run.completes(at=200)
    story.refused("k", at=300)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["refused"]
