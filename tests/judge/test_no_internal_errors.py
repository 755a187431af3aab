"""no-internal-errors on literal histories."""

from __future__ import annotations

from chaos import event as e
from chaos.checkers.no_internal_errors import NoInternalErrors
from chaos.verdict import Finding, Judgement
from tests.judge.histories import VARIANT, Story, judged

CHECKER = NoInternalErrors()


def _collision(story: Story) -> None:
    """B registers its context while A, on the same worker, is still in process()."""
    worker = story.worker()
    story.enqueued("k", at=1)
    first = worker.begins("k", at=10)
    first.runs(at=11)
    second = worker.begins("k", at=20)
    second.registers(at=21)
    first.overwritten(at=21, by=second)
    second.starts(at=21)
    first.completes(at=30)
    second.completes(at=40)


def test_a_job_that_raises_a_key_error_itself_is_no_finding() -> None:
    story = Story()
    worker = story.worker()
    run = worker.begins("k", at=10)
    run.runs(at=11)
    run.body_ends(at=20, outcome="raised")
    run.raises(at=21, error="KeyError", origin="body")
    run.puts_back(at=22)
    run.unregisters(at=23)
    run.ends(at=23)
    assert judged(CHECKER, story) == Judgement(exposure=1, exposure_name="attempts")


def test_a_body_s_exception_that_leaves_process_is_no_finding_whoever_reports_first() -> None:
    story = Story()
    worker = story.worker()
    early = worker.begins("early", at=10)
    early.raises(at=11, error="ConnectionError", origin="redis")
    early.ends(at=12, outcome="raised", error="ConnectionError: gone")
    late = worker.begins("late", at=10)
    late.ends(at=12, outcome="raised", error="ConnectionError")
    late.raises(at=13, error="ConnectionError", origin="redis", where="loop")
    assert judged(CHECKER, story) == Judgement(exposure=2, exposure_name="attempts")


def test_slot_collisions_are_the_exposure_where_there_are_any() -> None:
    story = Story()
    _collision(story)
    assert judged(CHECKER, story) == Judgement(exposure=1, exposure_name="slot_collisions")


def test_a_key_error_in_the_log_and_out_of_process_is_one_finding() -> None:
    story = Story()
    worker = story.worker()
    run = worker.begins("k", at=10)
    run.raises(at=20, error="KeyError", message="Job<k>", line="worker.py:374 process")
    run.ends(at=21, outcome="raised", error="KeyError")
    finding = Finding(
        kind="KeyError",
        job="k",
        message=f"attempt {VARIANT}/worker-1.1#1 of 'k': KeyError in log at "
        "worker.py:374 process: Job<k>",
        events=(3, 4),
    )
    assert judged(CHECKER, story) == Judgement(
        findings=(finding,), exposure=1, exposure_name="attempts"
    )


def test_an_assertion_that_only_process_shows_is_a_finding() -> None:
    story = Story()
    run = story.worker().begins("k", at=10)
    run.ends(at=21, outcome="raised", error="AssertionError")
    finding = Finding(
        kind="AssertionError",
        job="k",
        message=f"attempt {VARIANT}/worker-1.1#1 of 'k': AssertionError in process: AssertionError",
        events=(3,),
    )
    assert judged(CHECKER, story).findings == (finding,)


def test_two_types_of_one_attempt_are_two_findings() -> None:
    story = Story()
    run = story.worker().begins("k", at=10)
    run.raises(at=20, error="KeyError")
    run.raises(at=21, error="AssertionError")
    run.ends(at=22, outcome="raised", error="AssertionError")
    found = judged(CHECKER, story).findings
    assert [(one.kind, one.events) for one in found] == [
        ("KeyError", (3,)),
        ("AssertionError", (4, 5)),
    ]


def test_an_upkeep_task_that_ends_is_one_finding_with_what_ended_it() -> None:
    story = Story()
    name = story.worker().name
    story.tell(e.UpkeepEnded, 20, name, task="abort", error="ValueError")
    story.tell(
        e.ErrorRaised, 20, name, origin="internal", where="abort", error="ValueError", message="no"
    )
    finding = Finding(kind="ValueError", message=f"{name}: ValueError in abort: no", events=(2, 3))
    assert judged(CHECKER, story) == Judgement(
        findings=(finding,), exposure=0, exposure_name="attempts"
    )


def test_an_upkeep_task_s_error_may_be_seen_before_its_end() -> None:
    story = Story()
    name = story.worker().name
    for place, (task, error) in enumerate((("abort", "ValueError"), ("sweep", "TypeError"))):
        story.tell(
            e.ErrorRaised, 10 + place, name, origin="internal", where=task, error=error,
        )  # fmt: skip
    story.tell(e.UpkeepEnded, 20, name, task="abort", error="ValueError")
    found = judged(CHECKER, story).findings
    assert [(one.kind, one.events) for one in found] == [
        ("ValueError", (2, 4)),
        ("TypeError", (3,)),
    ]


def test_the_loop_s_report_of_a_logged_exception_is_no_second_finding() -> None:
    story = Story()
    name = story.worker().name
    seen = {"origin": "internal", "error": "RuntimeError", "message": "gone"}
    story.tell(e.ErrorRaised, 10, name, where="log", **seen)
    story.tell(e.ErrorRaised, 90, name, where="loop", **seen)
    story.tell(e.ErrorRaised, 95, name, where="loop", **seen)
    found = judged(CHECKER, story).findings
    assert [(one.kind, one.events) for one in found] == [
        ("RuntimeError", (2, 3)),
        ("RuntimeError", (4,)),
    ]


def test_the_loop_s_report_of_another_exception_is_a_finding_of_its_own() -> None:
    story = Story()
    name = story.worker().name
    for at, where, message in ((10, "log", "gone"), (90, "loop", "other")):
        story.tell(
            e.ErrorRaised, at, name, origin="internal", error="RuntimeError", where=where,
            message=message,
        )  # fmt: skip
    assert [one.events for one in judged(CHECKER, story).findings] == [(2,), (3,)]


def test_a_function_that_is_not_registered_is_not_called_a_key_error() -> None:
    story = Story()
    run = story.worker().begins("k", at=10)
    run.raises(at=20, error="KeyError", origin="unknown-function")
    assert [one.kind for one in judged(CHECKER, story).findings] == ["unknown-function"]


def test_a_worker_whose_process_was_not_seen_makes_it_unknown() -> None:
    story = Story()
    worker = story.worker()
    worker.blind("process", "process is a property")
    assert judged(CHECKER, story) == Judgement(
        exposure_name="attempts",
        unknown=f"{worker.name} could not see process: process is a property",
    )
