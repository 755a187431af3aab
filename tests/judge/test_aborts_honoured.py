"""aborts-honoured on literal histories. The abort interval is 200 ms and the slack 50: 450 ms."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chaos import event as e
from chaos.checkers.aborts_honoured import AbortsHonoured
from chaos.verdict import Finding, Judgement
from tests.judge.histories import VARIANT, Run, Story, Worker, judged

CHECKER = AbortsHonoured()
A, B = f"{VARIANT}/worker-1.1#1", f"{VARIANT}/worker-1.1#2"


def _running(story: Story, *, thread: bool = False) -> tuple[Worker, Run]:
    """An attempt whose body has run for a while when a user's abort comes at 1000 (ack at 1001)."""
    worker = story.worker()
    run = worker.begins("k", at=10)
    run.runs(at=11, thread=thread)
    story.aborted("k", at=1000)
    return worker, run


def _shutdown(story: Story) -> None:
    worker, run = _running(story)
    worker.stops(at=1050)
    run.cancelled(at=1100)
    run.body_ends(at=1101, outcome="cancelled")
    run.finishes(at=1102, status="aborted")
    run.ends(at=1103)


def _swallowed(story: Story) -> None:
    """The body swallows the cancel; the worker's finish_abort records it ABORTED all the same."""
    worker, run = _running(story)
    run.cancelled(at=1200, aborted="aborted")
    run.body_ends(at=1201)
    run.ends(at=1202)
    worker.call("finish_abort", "k", at=1203)


def _thread(story: Story) -> None:
    _, run = _running(story, thread=True)
    run.body_ends(at=2000)
    run.finishes(at=2001, status="aborted")
    run.ends(at=2002)


def _before_the_reply(story: Story) -> None:
    """The worker saw the abort before its caller had the reply."""
    story.call("abort", "k", 900, until=1200, enqueue=1)
    run = story.worker().begins("k", at=10)
    run.runs(at=11)
    run.cancelled(at=1000, aborted="aborted")
    run.body_ends(at=1300, outcome="cancelled")
    run.finishes(at=1301, status="aborted")
    run.ends(at=1302)


def _extended(story: Story) -> None:
    """A pause of the server is in the way; the bound counts anew from its end."""
    _, run = _running(story)
    story.fault("redis_pause", at=1100, until=2000)
    run.is_aborted(at=2400)


def _honoured(story: Story) -> None:
    _running(story)[1].is_aborted(at=1400)


@pytest.mark.parametrize(
    "tell", [_honoured, _shutdown, _swallowed, _thread, _before_the_reply, _extended]
)
def test_an_abort_that_reached_its_attempt_in_time_is_honoured(
    tell: Callable[[Story], None],
) -> None:
    story = Story()
    tell(story)
    assert judged(CHECKER, story) == Judgement(exposure=1)


def _by_itself(story: Story) -> None:
    _running(story)[1].completes(at=1400)


def _killed(story: Story) -> None:
    worker, _ = _running(story)
    story.killed(worker, at=1100, gone=1102)


def _own_timeout(story: Story) -> None:
    _, run = _running(story)
    run.cancelled(at=1300)
    run.raises(at=1300, error="TimeoutError", origin="timeout")
    run.body_ends(at=1301, outcome="cancelled")
    run.puts_back(at=1302)
    run.ends(at=1303)


def _winding_down(story: Story) -> None:
    """It was being cancelled for its timeout when the abort came."""
    _, run = _running(story)
    run.cancelled(at=900)
    run.raises(at=900, error="TimeoutError", origin="timeout")
    run.body_ends(at=1900, outcome="cancelled")
    run.puts_back(at=1901)
    run.ends(at=1902)


def _began_with_it(story: Story) -> None:
    """Its body began within the slack of the acknowledgement: perhaps after it."""
    run = story.worker().begins("k", at=970)
    run.runs(at=971)
    story.aborted("k", at=1000)
    run.completes(at=3000)


def _restarted(story: Story) -> None:
    """The server was restarted meanwhile, and may have forgotten the abort."""
    _, run = _running(story)
    story.fault("redis_restart", at=1100, until=1200)
    run.completes(at=3000)


def _killed_while_it_wound_down(story: Story) -> None:
    worker, run = _running(story)
    run.cancelled(at=1200, aborted="aborted")
    story.killed(worker, at=1300, gone=1301)


def _not_acknowledged(story: Story) -> None:
    run = story.worker().begins("k", at=10)
    run.runs(at=11)
    story.call("abort", "k", 1000, outcome="fail", enqueue=1)
    run.completes(at=3000)


def _other_key(story: Story) -> None:
    run = story.worker().begins("other", at=10)
    run.runs(at=11)
    story.aborted("k", at=1000)
    run.completes(at=3000)


def _finish_unclear(story: Story) -> None:
    """It was cancelled, and nobody knows what was recorded."""
    _, run = _running(story)
    run.cancelled(at=1200, aborted="aborted")
    run.body_ends(at=1201, outcome="cancelled")
    run.finishes(at=1202, status="aborted", outcome="fail")
    run.ends(at=1204)


def _frozen(story: Story) -> None:
    """Its own worker was stopped, and ended by itself right after."""
    worker, run = _running(story)
    story.paused(worker, at=1100, until=2000)
    run.completes(at=2300)


def _frozen_to_its_end(story: Story) -> None:
    """Its own worker was stopped, and killed before it went on."""
    worker, _ = _running(story)
    story.tell(e.HostSignalled, 1100, target=worker.name, signal="SIGSTOP")
    story.killed(worker, at=2000, gone=2001)


@pytest.mark.parametrize(
    "tell",
    [
        _by_itself,
        _killed,
        _own_timeout,
        _winding_down,
        _began_with_it,
        _restarted,
        _killed_while_it_wound_down,
        _not_acknowledged,
        _other_key,
        _finish_unclear,
        _frozen,
        _frozen_to_its_end,
    ],
)
def test_what_cannot_be_blamed_on_saq_is_neither_finding_nor_exposure(
    tell: Callable[[Story], None],
) -> None:
    story = Story()
    tell(story)
    assert judged(CHECKER, story) == Judgement()


@pytest.mark.parametrize(("at", "until"), [(500, 900), (1510, 1600)])
def test_a_pause_of_another_worker_or_at_another_time_excuses_nothing(at: int, until: int) -> None:
    story = Story()
    worker, run = _running(story)
    other = story.worker(2)
    story.paused(other, at=1100, until=1600)
    story.paused(worker, at=at, until=until, number=2)
    run.completes(at=1700)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["lost"]


def test_an_abort_that_its_own_worker_acknowledges_needs_no_slack() -> None:
    """On one host the order is exact: a body that began 1 ms before was running."""
    story = Story()
    worker = story.worker()
    run = worker.begins("k", at=998)
    run.runs(at=999)
    worker.call("abort", "k", at=1000)
    run.completes(at=3000)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["lost"]


def test_a_cancel_after_the_bound_is_late() -> None:
    story = Story()
    _running(story)[1].is_aborted(at=1452)
    finding = Finding(
        kind="late",
        job="k",
        message=f"attempt {A} of 'k', running when {story.producer} aborted it, was cancelled only "
        "451.0 ms after the acknowledgement",
        events=(4, 6, 7, 8, 9),
    )
    assert judged(CHECKER, story) == Judgement(findings=(finding,), exposure=1)


def test_an_attempt_that_outruns_the_bound_without_a_cancel_lost_its_abort() -> None:
    story = Story()
    _running(story)[1].completes(at=1452)
    finding = Finding(
        kind="lost",
        job="k",
        message=f"attempt {A} of 'k', running when {story.producer} aborted it, ran on: "
        "no cancel for it came within the bound",
        events=(4, 6, 7, 8),
    )
    assert judged(CHECKER, story) == Judgement(findings=(finding,), exposure=1)


def test_an_attempt_that_still_runs_past_the_bound_lost_its_abort() -> None:
    story = Story()
    _running(story)
    story.empty(at=1452)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["lost"]


def test_an_attempt_that_still_runs_within_the_bound_is_not_judged_yet() -> None:
    story = Story()
    _running(story)
    story.empty(at=1400)
    assert judged(CHECKER, story) == Judgement()


def test_a_cancelled_attempt_that_is_recorded_otherwise_ignored_its_abort() -> None:
    story = Story()
    worker, run = _running(story)
    run.cancelled(at=1200, aborted="aborted")
    run.body_ends(at=1210, outcome="raised")
    run.puts_back(at=1211)
    run.ends(at=1212)
    worker.call("finish_abort", "k", at=1213)
    finding = Finding(
        kind="ignored",
        job="k",
        message=f"attempt {A} of 'k', running when {story.producer} aborted it, was cancelled "
        "199.0 ms after the acknowledgement but not recorded ABORTED",
        events=(4, 6, 7, 8, 9),
    )
    assert judged(CHECKER, story) == Judgement(findings=(finding,), exposure=1)


def test_an_aborted_attempt_that_a_stopping_worker_puts_back_ignored_its_abort() -> None:
    story = Story()
    worker, run = _running(story)
    worker.stops(at=1050)
    run.cancelled(at=1100)
    run.body_ends(at=1101, outcome="cancelled")
    run.puts_back(at=1102, why="cancelled")
    run.ends(at=1103)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["ignored"]


def test_a_sweep_s_abort_counts_like_a_user_s() -> None:
    story = Story()
    worker = story.worker(1)
    run = worker.begins("k", at=10)
    run.runs(at=11)
    sweep = story.worker(2).sweeps(at=990, until=1300)
    sweeper = f"{VARIANT}/worker-2.1"
    story.call("abort", "k", 1000, host=sweeper, enqueue=1, parent=sweep)
    story.call("retry", "k", 1200, host=sweeper, enqueue=1, parent=sweep)
    run.completes(at=3000)
    found = judged(CHECKER, story).findings
    assert [(one.kind, "when a sweep aborted it" in one.message) for one in found] == [
        ("lost", True)
    ]


def test_a_cancel_for_an_abort_acknowledged_before_the_attempt_began_is_misdirected() -> None:
    story = Story()
    worker, first = _running(story)
    first.is_aborted(at=1100)
    second = worker.begins("k", at=1200, enqueue=2)
    second.runs(at=1201)
    second.is_aborted(at=1300)
    finding = Finding(
        kind="misdirected",
        job="k",
        message=f"attempt {B} of 'k' was cancelled for an abort that was acknowledged before it "
        "began",
        events=(6, 13, 16),
    )
    assert judged(CHECKER, story) == Judgement(findings=(finding,), exposure=1)


def test_a_cancel_without_a_cause_of_its_own_is_stray() -> None:
    story = Story()
    run = story.worker().begins("k", at=10)
    run.runs(at=11)
    run.cancelled(at=20)
    run.body_ends(at=21, outcome="cancelled")
    run.ends(at=22)
    finding = Finding(
        kind="stray",
        job="k",
        message=f"attempt {A} of 'k' was cancelled with no abort, timeout or shutdown of its own",
        events=(2, 5),
    )
    assert judged(CHECKER, story) == Judgement(findings=(finding,))


def test_an_internal_error_does_not_explain_a_cancel() -> None:
    story = Story()
    run = story.worker().begins("k", at=10)
    run.runs(at=11)
    run.raises(at=19, error="KeyError")
    run.cancelled(at=20)
    run.body_ends(at=21, outcome="cancelled")
    run.ends(at=22)
    assert [one.kind for one in judged(CHECKER, story).findings] == ["stray"]


def test_another_attempt_s_timeout_does_not_explain_a_cancel() -> None:
    story = Story()
    worker = story.worker()
    first = worker.begins("k", at=10)
    first.runs(at=11)
    second = worker.begins("k", at=12)
    second.runs(at=13)
    first.cancelled(at=20)
    first.raises(at=20, error="TimeoutError", origin="timeout")
    second.cancelled(at=21)
    for run in (first, second):
        run.body_ends(at=22, outcome="cancelled")
        run.ends(at=23)
    assert [(one.kind, B in one.message) for one in judged(CHECKER, story).findings] == [
        ("stray", True)
    ]
