"""bounded-attempts on literal histories."""

from __future__ import annotations

from chaos.checkers.bounded_attempts import BoundedAttempts
from chaos.verdict import Finding, Judgement
from tests.judge.histories import Story, judged

CHECKER = BoundedAttempts()


def _runs(story: Story, times: int, retries: int) -> None:
    worker = story.worker()
    for place in range(times):
        run = worker.begins("k", at=100 * place + 10, retries=retries)
        run.runs(at=100 * place + 11)
        run.body_ends(at=100 * place + 20, outcome="raised")
        run.puts_back(at=100 * place + 21)
        run.ends(at=100 * place + 30)


def test_as_many_runs_as_retries_are_sound() -> None:
    story = Story()
    _runs(story, times=3, retries=3)
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_a_job_without_retries_may_run_once() -> None:
    story = Story()
    _runs(story, times=1, retries=0)
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_an_attempt_whose_body_never_began_is_no_execution() -> None:
    story = Story()
    _runs(story, times=1, retries=1)
    run = story.worker().begins("k", at=500, retries=1)
    run.ends(at=510, outcome="empty")
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_a_graceful_cancel_allows_one_more() -> None:
    story = Story()
    old, new = story.worker(1), story.worker(1, incarnation=2)
    run = old.begins("k", at=10, retries=1)
    run.runs(at=11)
    old.stops(at=20)
    run.cancelled(at=30)
    run.puts_back(at=31, why="cancelled")
    run.ends(at=32)
    new.begins("k", at=40, retries=1).runs(at=41)
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_one_run_more_than_retries_is_found() -> None:
    story = Story()
    _runs(story, times=3, retries=2)
    finding = Finding(
        kind="too-many",
        job="k",
        message="'k' (enqueue 1) ran 3 times; retries 2 and 0 graceful cancels allow 2",
        events=(4, 11, 18),
    )
    assert judged(CHECKER, story) == Judgement(findings=(finding,), exposure=1)


def test_a_cancel_on_a_worker_that_was_not_stopping_is_no_graceful_one() -> None:
    story = Story()
    worker = story.worker()
    first = worker.begins("k", at=10, retries=1)
    first.runs(at=11)
    first.puts_back(at=31, why="cancelled")
    first.ends(at=32)
    worker.begins("k", at=40, retries=1).runs(at=41)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["too-many"]
