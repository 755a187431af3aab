"""no-phantom-runs on literal histories."""

from __future__ import annotations

from chaos.checkers.no_phantom_runs import NoPhantomRuns
from chaos.verdict import Finding, Judgement
from tests.judge.histories import VARIANT, Story, judged

CHECKER = NoPhantomRuns()
A = f"{VARIANT}/worker-1.1#1"


def test_an_enqueued_job_with_its_function_and_kwargs_is_sound() -> None:
    story = Story()
    story.enqueued("k", at=1)
    story.worker().begins("k", at=10)
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_an_attempt_may_begin_before_its_enqueue_comes_back() -> None:
    story = Story()
    story.call("enqueue", "k", 1, until=50, enqueue=1, answer="f\x1fd")
    story.worker().begins("k", at=10)
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_an_attempt_of_an_enqueue_that_never_came_back_is_sound() -> None:
    story = Story()
    story.call("enqueue", "k", 1, outcome="")
    story.call("enqueue", "other", 1, outcome="fail")
    worker = story.worker()
    worker.begins("k", at=10)
    worker.begins("other", at=11)
    assert judged(CHECKER, story) == Judgement(exposure=2)


def test_a_history_by_hand_without_ids_is_judged_by_key() -> None:
    story = Story()
    story.enqueued("k", at=1, enqueue=0)
    story.worker().begins("k", at=10, enqueue=0)
    assert judged(CHECKER, story) == Judgement(exposure=1)


def test_a_job_that_nobody_enqueued_is_found() -> None:
    story = Story()
    story.enqueued("k", at=1, enqueue=1)
    story.worker().begins("k", at=10, enqueue=2)
    finding = Finding(
        kind="unknown-job",
        job="k",
        message=f"attempt {A} ran 'k' (enqueue 2), which nobody enqueued",
        events=(4,),
    )
    assert judged(CHECKER, story) == Judgement(findings=(finding,), exposure=1)


def test_another_function_is_found() -> None:
    story = Story()
    story.enqueued("k", at=1)
    story.worker().begins("k", at=10, function="g")
    finding = Finding(
        kind="wrong-function",
        job="k",
        message=f"attempt {A} ran 'k' with g, enqueued with f",
        events=(3, 4),
    )
    assert judged(CHECKER, story) == Judgement(findings=(finding,), exposure=1)


def test_other_kwargs_are_found() -> None:
    story = Story()
    story.enqueued("k", at=1)
    story.worker().begins("k", at=10, digest="e")
    assert [one.kind for one in judged(CHECKER, story).findings] == ["wrong-kwargs"]


def test_an_enqueue_without_a_key_that_never_came_back_makes_an_unknown_job_unknown() -> None:
    story = Story()
    story.call("enqueue", "", 1, outcome="")
    story.worker().begins("k", at=10)
    assert judged(CHECKER, story) == Judgement(
        exposure=1, unknown="an enqueue without a key never came back, so 'k' may be its job"
    )
