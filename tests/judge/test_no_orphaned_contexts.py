"""no-orphaned-contexts on literal histories."""

from __future__ import annotations

from chaos.checkers.no_orphaned_contexts import NoOrphanedContexts
from chaos.verdict import Finding, Judgement
from tests.judge.histories import VARIANT, Run, Story, Worker, judged

CHECKER = NoOrphanedContexts()
A, B = f"{VARIANT}/worker-1.1#1", f"{VARIANT}/worker-1.1#2"


def _two(story: Story) -> tuple[Worker, Run, Run]:
    """A runs; B has begun on the same worker and not registered yet."""
    worker = story.worker()
    first = worker.begins("k", at=10)
    first.runs(at=11)
    return worker, first, worker.begins("k", at=20)


def test_an_attempt_that_ends_before_the_next_one_registers_is_sound() -> None:
    story = Story()
    _, first, second = _two(story)
    first.completes(at=21)
    second.runs(at=30)
    second.completes(at=40)
    assert judged(CHECKER, story) == Judgement(exposure=2, exposure_name="contexts")


def test_losing_the_slot_after_the_body_has_ended_is_sound() -> None:
    """process() still awaits the publish of its retry: there is nothing left to abort."""
    story = Story()
    _, first, second = _two(story)
    first.body_ends(at=21)
    second.registers(at=22)
    first.overwritten(at=22, by=second)
    second.starts(at=22)
    first.ends(at=25)
    second.completes(at=40)
    assert judged(CHECKER, story) == Judgement(exposure=2, exposure_name="contexts_collided")


def test_an_orphan_for_no_time_at_all_is_sound() -> None:
    story = Story()
    _, first, second = _two(story)
    second.registers(at=30)
    first.overwritten(at=30, by=second)
    first.body_ends(at=30)
    first.ends(at=31)
    second.starts(at=30)
    second.completes(at=40)
    assert judged(CHECKER, story).findings == ()


def test_a_context_that_a_task_cancelled_before_its_body_began_removes_is_sound() -> None:
    story = Story()
    run = story.worker().begins("k", at=10)
    run.registers(at=11)
    run.unregisters(at=12)
    run.ends(at=12, outcome="cancelled")
    assert judged(CHECKER, story) == Judgement(exposure=1, exposure_name="contexts")


def test_a_context_that_is_removed_only_after_its_attempt_has_ended_is_leaked_until_then() -> None:
    story = Story()
    _, _, second = _two(story)
    second.registers(at=21)
    second.ends(at=22)
    second.unregisters(at=23)
    found = judged(CHECKER, story).findings
    assert [(one.kind, one.events) for one in found] == [("leaked", (6, 7, 8))]


def test_an_attempt_that_loses_its_slot_before_its_body_begins_is_orphaned_all_the_same() -> None:
    story = Story()
    worker = story.worker()
    first = worker.begins("k", at=10)
    first.registers(at=11)
    second = worker.begins("k", at=10)
    second.registers(at=11)
    first.overwritten(at=11, by=second)
    first.starts(at=12)
    first.body_ends(at=50)
    first.ends(at=51)
    found = judged(CHECKER, story).findings
    assert [(one.kind, one.events) for one in found] == [("overwritten", (4, 6, 8))]


def test_an_overwritten_attempt_whose_body_runs_on_is_orphaned() -> None:
    story = Story()
    _, first, second = _two(story)
    second.registers(at=30)
    first.overwritten(at=30, by=second)
    second.starts(at=30)
    first.body_ends(at=80)
    first.ends(at=81)
    second.completes(at=90)
    finding = Finding(
        kind="overwritten",
        job="k",
        message=f"attempt {A} of 'k': {B} took its slot while its body ran, out of abort()'s reach "
        "for 50.0 ms",
        events=(3, 7, 9),
    )
    assert judged(CHECKER, story) == Judgement(
        findings=(finding,), exposure=2, exposure_name="contexts_collided"
    )


def test_a_context_popped_by_another_attempt_is_orphaned_until_its_host_is_killed() -> None:
    story = Story()
    worker, first, second = _two(story)
    first.body_ends(at=21)
    second.registers(at=22)
    first.overwritten(at=22, by=second)
    second.starts(at=22)
    second.unregisters(at=30, by=first)
    first.ends(at=30)
    story.killed(worker, at=60, gone=62)
    finding = Finding(
        kind="foreign-pop",
        job="k",
        message=f"attempt {B} of 'k': {A} removed its context while its body ran, out of abort()'s "
        "reach for 32.0 ms",
        events=(7, 10, 13),
    )
    assert judged(CHECKER, story) == Judgement(
        findings=(finding,), exposure=2, exposure_name="contexts_collided"
    )


def test_a_thread_that_outlives_its_context_is_orphaned() -> None:
    story = Story()
    run = story.worker().begins("k", at=10)
    run.runs(at=11, thread=True)
    run.unregisters(at=20)
    run.ends(at=20)
    run.body_ends(at=70)
    finding = Finding(
        kind="outlived-by-body",
        job="k",
        message=f"attempt {A} of 'k': its context was removed while its body still ran, out of "
        "abort()'s reach for 50.0 ms",
        events=(3, 5, 7),
    )
    assert judged(CHECKER, story) == Judgement(
        findings=(finding,), exposure=1, exposure_name="contexts"
    )


def test_a_context_that_stays_after_its_attempt_has_ended_is_leaked() -> None:
    story = Story()
    worker = story.worker()
    run = worker.begins("k", at=10)
    run.runs(at=11)
    run.body_ends(at=20)
    run.ends(at=21)
    worker.begins("other", at=50)
    finding = Finding(
        kind="leaked",
        job="k",
        message=f"attempt {A} of 'k': its context was still in the map after it had ended, "
        "for 29.0 ms and still is",
        events=(3, 6),
    )
    assert judged(CHECKER, story).findings == (finding,)


def test_contexts_that_could_not_be_seen_make_it_unknown_whatever_else_was_seen() -> None:
    story = Story()
    worker, first, second = _two(story)
    worker.blind("contexts", "no job_task_contexts")
    second.registers(at=30)
    first.overwritten(at=30, by=second)
    assert judged(CHECKER, story) == Judgement(
        exposure=2,
        exposure_name="contexts_collided",
        unknown=f"{worker.name} could not see contexts: no job_task_contexts",
    )
