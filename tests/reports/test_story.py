"""Stories: for each kind of finding the right moment breaks, in plain words, within bounds."""

from __future__ import annotations

import msgspec
import pytest

from chaos.checkers import CHECKERS
from chaos.errors import UsageError
from chaos.history import History
from chaos.reports import story
from chaos.reports.story import Arrow, Choice, Lane, Step
from chaos.verdict import Finding, GateVerdict, Outcome, PromiseVerdict, VariantVerdict, Verdict
from tests.judge.histories import VARIANT, Story
from tests.reports import story_cases
from tests.reports.story_cases import CASES, finding, key_error, started, swept, told

BREAKS = {
    ("no-internal-errors", "KeyError"): (
        "How saq came to raise KeyError on job 'k'",
        "Attempt 2 fails in saq's own code with KeyError at worker.py:374 in process().",
    ),
    ("no-internal-errors", "TypeError"): (
        "How saq came to raise TypeError on stock@0.26.3",
        (
            "Worker 1 fails in saq's own code with TypeError at queue/redis.py:120 in sweep() (its "
            "upkeep task sweep)."
        ),
    ),
    ("no-internal-errors", "unknown-function"): (
        "How saq came to raise unknown-function on job 'k'",
        "Attempt 1 fails: the worker knows no function of that name.",
    ),
    ("no-orphaned-contexts", "overwritten"): (
        "How an attempt of job 'k' got out of an abort's reach",
        "Attempt 2 overwrites attempt 1's context in the slot with its own.",
    ),
    ("no-orphaned-contexts", "foreign-pop"): (
        "How an attempt of job 'k' got out of an abort's reach",
        "Attempt 1 empties the slot in its clean-up, although it holds attempt 2's context.",
    ),
    ("no-orphaned-contexts", "outlived-by-body"): (
        "How an attempt of job 'k' got out of an abort's reach",
        "Attempt 1 removes its context from the slot.",
    ),
    ("no-orphaned-contexts", "leaked"): (
        "How a context of job 'k' was left behind",
        "Attempt 1 is over.",
    ),
    ("aborts-honoured", "late"): (
        "How an abort of job 'k' went wrong: late",
        "Attempt 1 is cancelled for an abort.",
    ),
    ("aborts-honoured", "ignored"): (
        "How an abort of job 'k' went wrong: ignored",
        "Attempt 1 records the job as COMPLETE.",
    ),
    ("aborts-honoured", "lost"): (
        "How an abort of job 'k' went wrong: lost",
        "Attempt 1 ends its function well.",
    ),
    ("aborts-honoured", "misdirected"): (
        "How an abort of job 'k' went wrong: misdirected",
        "Attempt 2 is cancelled for an abort.",
    ),
    ("aborts-honoured", "stray"): (
        "How an abort of job 'k' went wrong: stray",
        "Attempt 1 is cancelled, although nothing says why.",
    ),
    ("no-lost-jobs", "lost"): (
        "How job 'k' was lost",
        (
            "The producer inspects the queue and finds the job QUEUED, in the queued list and the "
            "set of unfinished jobs."
        ),
    ),
    ("no-lost-jobs", "stuck"): (
        "How job 'k' got stuck",
        "The producer inspects the queue and finds the job ABORTING, in no list.",
    ),
    ("no-lost-jobs", "refused"): (
        "How an enqueue of job 'k' was refused",
        "The producer enqueues the job and is refused.",
    ),
    ("no-phantom-runs", "unknown-job"): (
        "How job 'k' ran although nobody enqueued that: unknown-job",
        "Attempt 1 of the job starts on worker 1.",
    ),
    ("no-phantom-runs", "wrong-kwargs"): (
        "How job 'k' ran although nobody enqueued that: wrong-kwargs",
        "Attempt 1 of the job starts on worker 1.",
    ),
    ("one-at-a-time", "same-host"): (
        "How job 'k' came to run twice at the same time",
        "Attempt 2 runs the job's function.",
    ),
    ("one-at-a-time", "across-hosts"): (
        "How job 'k' came to run twice at the same time",
        "Attempt 2 runs the job's function.",
    ),
    ("terminal-is-final", "ran-again"): (
        "How job 'k' ran again after its end",
        "Attempt 2 runs the job's function.",
    ),
    ("terminal-is-final", "requeued"): (
        "How job 'k' was queued again after its end",
        "A sweep on worker 2 puts the job back in the queue.",
    ),
    ("terminal-is-final", "overwritten"): (
        "How the end of job 'k' was overwritten",
        "The producer records the job as ABORTED.",
    ),
    ("bounded-attempts", "too-many"): (
        "How job 'k' came to run too often",
        "Attempt 3 runs the job's function.",
    ),
}


@pytest.mark.parametrize(("promise", "kind", "history"), CASES)
def test_each_kind_of_finding_breaks_at_its_own_moment(
    promise: str, kind: str, history: story_cases.Case
) -> None:
    it = told(promise, kind, history())
    assert (it.title, it.steps[it.breaks_at].text) == BREAKS[promise, kind]


def test_every_promise_has_a_case() -> None:
    told_of = {promise for promise, _, _ in CASES}
    assert [one.name for one in CHECKERS if one.name not in told_of] == []


@pytest.mark.parametrize(("promise", "kind", "history"), CASES)
def test_a_story_is_whole(promise: str, kind: str, history: story_cases.Case) -> None:
    events = history().history()
    it = told(promise, kind, history())
    assert 1 <= len(it.steps) <= 40
    assert 1 <= len(it.summary) <= 9
    assert it.steps[0].t_us == 0
    assert [step.t_us for step in it.steps] == sorted(step.t_us for step in it.steps)
    numbers = [n for step in it.steps for n in step.events]
    assert len(numbers) == len(set(numbers))
    assert max(numbers) <= len(events)
    assert set(finding(promise, kind, history()).events) <= set(numbers)
    for step in it.steps:
        places = [step.lane, *(n for one in step.arrows for n in (one.start, one.end))]
        assert all(0 <= place < len(it.lanes) for place in places)
        assert (len(step.bars), len(step.slots)) == (len(it.lanes), len(it.slot_lanes))
    assert it.means
    assert "stock@0.26.3/" not in " ".join([*it.summary, it.why])


# --- the bug that started it all, word by word ----------------------------------------------------


def test_the_summary_of_the_key_error_tells_the_two_attempts_the_sweep_and_the_line() -> None:
    it = told("no-internal-errors", "KeyError", key_error())
    assert it.summary == (
        "The producer enqueues the job.",
        (
            "Attempt 1 of the job starts on worker 1, registers its context in the slot, and runs "
            "the job's function."
        ),
        (
            "489 ms later a sweep on the producer aborts the job as stuck and 20 ms later puts the "
            "job back in the queue."
        ),
        (
            "Attempt 2 of the job starts on worker 1, overwrites attempt 1's context in the slot "
            "with its own, and runs the job's function."
        ),
        (
            "174 ms later attempt 1 is cancelled for an abort, ends its function because of the "
            "cancel, and empties the slot in its clean-up, although it holds attempt 2's context."
        ),
        (
            "799 ms later attempt 2 ends its function well, finds no context in the slot, fails in "
            "saq's own code with KeyError at worker.py:374 in process(), and puts the job back in "
            "the queue (KeyError)."
        ),
    )
    assert it.means == (
        "This error comes from saq's own code: the job's function did not raise it. The function "
        "had ended well, and still its job is put back in the queue."
    )


def test_the_lanes_and_the_slot_of_the_key_error() -> None:
    it = told("no-internal-errors", "KeyError", key_error())
    worker = f"{VARIANT}/worker-1.1"
    assert it.lanes == (
        Lane(kind="producer", label="producer", code="P", full=f"{VARIANT}/producer-1.1"),
        Lane(kind="redis", label="Redis", code="R", full=f"{VARIANT}/redis"),
        Lane(kind="slot", label="slot", code="S", group="worker 1", full=worker),
        Lane(kind="attempt", label="attempt 1", code="A1", group="worker 1", full=f"{worker}#1"),
        Lane(kind="attempt", label="attempt 2", code="A2", group="worker 1", full=f"{worker}#2"),
    )
    assert [step.slots for step in it.steps] == [
        ("",), ("attempt 1",), ("attempt 1",), ("attempt 1",), ("attempt 2",), ("",), ("",), ("",),
        ("",),
    ]  # fmt: skip
    assert it.steps[4] == Step(
        t_us=520_000,
        lane=4,
        text="Attempt 2 of the job starts on worker 1, overwrites attempt 1's context in the slot "
        "with its own, and runs the job's function.",
        events=(13, 14, 15, 16),
        arrows=(Arrow(1, 4), Arrow(4, 2)),
        bars=("", "", "", "runs", "runs"),
        slots=("attempt 2",),
        detail="queue.dequeue(), job.attempts was 1 of 3; job_task_contexts[job] = …",
    )
    assert it.steps[6].arrows == (Arrow(4, 2, missed=True),)


# --- what is told, and what is left out -----------------------------------------------------------


def test_what_does_not_fit_is_counted() -> None:
    history = Story()
    run = started(history, history.worker(1))
    history.aborted("k", at=100)
    for beat in range(500):
        run.call("update", at=200 + beat)
    run.is_aborted(at=2000)
    it = told("aborts-honoured", "late", history)
    assert [step.left_out for step in it.steps if step.left_out] == ["500 updates"]
    assert len(it.steps) == 5


def test_a_job_with_a_long_life_is_told_in_at_most_forty_steps() -> None:
    history = Story()
    worker = history.worker(1)
    history.enqueued("k", at=1)
    for turn in range(60):
        at = 10 + turn * 1000
        run = worker.begins("k", at=at, tries=turn, retries=2)
        run.runs(at=at + 60)
        swept(history, at=at + 200)
        run.body_ends(at=at + 400)
        run.unregisters(at=at + 401)
        run.ends(at=at + 401)
    it = told("bounded-attempts", "too-many", history)
    assert len(it.steps) == 40
    assert len(it.summary) == 9
    assert "(… and so on: " in it.summary[4]
    assert it.steps[it.breaks_at].text == "Attempt 12 runs the job's function."
    assert [lane.label for lane in it.lanes if lane.kind == "attempt"] == [
        "attempts 1, 2, 3, 4, 5, 6, 7, 8", "attempts 9, 10, 11, 12",
    ]  # fmt: skip
    assert it.notes == ("48 more attempts of the job were alive meanwhile and left out.",)


def test_bystanders_are_shown_while_there_is_room_and_counted_after_that() -> None:
    history = Story()
    workers = [history.worker(slot) for slot in range(1, 9)]
    history.enqueued("k", at=5)
    runs = []
    for turn, worker in enumerate(workers):
        run = worker.begins("k", at=10 + turn, tries=turn)
        run.runs(at=10 + turn)
        runs.append(run)
    runs[0].cancelled(at=300)
    runs[0].body_ends(at=300, outcome="cancelled")
    runs[0].ends(at=301)
    it = told("aborts-honoured", "stray", history)
    assert [lane.label for lane in it.lanes if lane.kind == "attempt"] == [
        "attempt 1", "attempt 2", "attempt 3", "attempt 4",
    ]  # fmt: skip
    assert it.notes == ("4 more attempts of the job were alive meanwhile and left out.",)


def test_earlier_attempts_of_the_job_are_mentioned() -> None:
    history = Story()
    worker = history.worker(1)
    history.enqueued("k", at=5)
    first = worker.begins("k", at=10)
    first.runs(at=11)
    first.body_ends(at=20, outcome="raised")
    first.puts_back(at=20, why="ValueError")
    first.unregisters(at=22)
    first.ends(at=22)
    second = worker.begins("k", at=1000, tries=1)
    second.runs(at=1001)
    second.cancelled(at=1300)
    second.body_ends(at=1300, outcome="cancelled")
    second.ends(at=1301)
    it = told("aborts-honoured", "stray", history)
    assert it.notes == (
        (
            "1 earlier attempt of this job had been made before; attempts are numbered within this "
            "story."
        ),
    )
    assert it.summary[0] == "The producer enqueues the job."


def test_a_sweep_that_catches_a_job_before_it_is_marked_active_shows_the_mark() -> None:
    history = Story()
    worker, sweeper = history.worker(1), history.worker(2)
    history.enqueued("k", at=5)
    run = worker.begins("k", at=10)
    sweep = sweeper.sweeps(at=11, until=400)
    sweeper.call("abort", "k", at=12, parent=sweep)
    run.call("update", at=15, status="active")
    run.runs(at=17)
    run.completes(at=60)
    sweeper.call("retry", "k", at=200, parent=sweep, detail="swept")
    it = told("terminal-is-final", "requeued", history)
    assert it.steps[3].text == ("Attempt 1 marks the job as ACTIVE and runs the job's function.")


def test_signals_of_other_workers_are_not_told() -> None:
    history = story_cases.stuck()
    history.killed(history.worker(9), at=150, gone=151)
    it = told("no-lost-jobs", "stuck", history)
    assert "worker 9" not in " ".join(step.text for step in it.steps)


def test_a_call_that_was_never_answered_is_told_as_unknown() -> None:
    history = Story()
    run = started(history, history.worker(1))
    history.aborted("k", at=1000)
    run.body_ends(at=3000)
    run.finishes(at=3000, outcome="")
    it = told("aborts-honoured", "lost", history)
    assert it.steps[-1].text == (
        "Attempt 1 records the job as COMPLETE (nobody knows whether that happened: no answer "
        "came)."
    )


def test_two_processes_in_one_place_have_two_names() -> None:
    history = Story()
    first_worker, second_worker = history.worker(1), history.worker(1, incarnation=2)
    first = started(history, first_worker)
    swept(history, at=500)
    second_worker.begins("k", at=530, tries=1).runs(at=531)
    first.completes(at=900)
    it = told("one-at-a-time", "across-hosts", history)
    assert [lane.group for lane in it.lanes if lane.kind == "attempt"] == [
        "worker 1.1", "worker 1.2",
    ]  # fmt: skip


def test_only_the_words_that_the_story_uses_are_explained() -> None:
    it = told("no-lost-jobs", "refused", story_cases.refused())
    assert [word for word, _ in it.words] == ["job", "producer"]


def test_the_stacks_of_a_standstill_are_shown_below() -> None:
    history = key_error().history()
    stuck = Finding(kind="deadlock", message="nobody has anything to do")
    it = story.of(
        history, stuck, promise="no-standstill", variant=VARIANT, notes=("worker-1.1\n  process()",)
    )
    assert it.title == "How a run came to wait for ever"
    assert it.notes == ("worker-1.1\n  process()",)
    assert "nobody has anything to do" in story.text(it).lower()
    assert "process()" in story.html(it)


def test_a_finding_whose_events_are_not_there_is_told_as_far_as_it_goes() -> None:
    gone = Finding(kind="KeyError", message="it was there", job="k", events=(900,))
    it = story.of(History([]), gone, promise="no-internal-errors", variant=VARIANT)
    assert (it.steps, it.breaks_at, it.why) == ((), -1, "It was there.")
    assert "The history holds none of the events" in story.text(it)
    assert "The history holds none of the events" in story.html(it)


# --- choosing a finding ---------------------------------------------------------------------------


def _variant(name: str, promise: str, *kinds: str) -> VariantVerdict:
    findings = tuple(Finding(kind=kind, message=kind) for kind in kinds)
    broken = PromiseVerdict(promise=promise, outcome=Outcome.INVALID, findings=findings)
    sound = PromiseVerdict(promise="no-phantom-runs", outcome=Outcome.VALID)
    return VariantVerdict(variant=name, outcome=Outcome.INVALID, promises=(sound, broken))


def _verdict(*variants: VariantVerdict, outcome: Outcome = Outcome.INVALID) -> Verdict:
    return Verdict(
        run="r", plan="p", world="sim", seed=1, version="1", history_digest="", variants=variants,
        gate=GateVerdict(gate="baseline", outcome=outcome, baseline="a@1"),
    )  # fmt: skip


def test_a_failing_gate_is_told_by_the_variant_that_fails_it() -> None:
    base, worse = _variant("a@1", "one-at-a-time", "x"), _variant("b@1", "no-lost-jobs", "y")
    assert story.choose(_verdict(base, worse)) == Choice(
        variant="b@1", promise="no-lost-jobs", finding=Finding(kind="y", message="y")
    )
    passed = story.choose(_verdict(base, worse, outcome=Outcome.VALID))
    assert (passed.variant, passed.promise) == ("a@1", "one-at-a-time")


def test_any_finding_can_be_chosen_by_promise_variant_and_number() -> None:
    verdict = _verdict(
        _variant("a@1", "one-at-a-time", "x", "y"), _variant("b@1", "no-lost-jobs", "z")
    )
    chosen = story.choose(verdict, promise="one-at-a-time", number=2)
    assert (chosen.finding.kind, chosen.number) == ("y", 2)
    assert story.choose(verdict, variant="b@1").finding.kind == "z"


def test_a_finding_that_is_not_there_is_answered_with_those_that_are() -> None:
    verdict = _verdict(_variant("a@1", "one-at-a-time", "x", "y"))
    with pytest.raises(UsageError) as raised:
        story.choose(verdict, promise="one-at-a-time", number=3)
    assert str(raised.value) == (
        "there is no finding one-at-a-time number 3; there are: a@1 one-at-a-time (1 to 2)"
    )
    sound = msgspec.structs.replace(verdict, variants=())
    with pytest.raises(UsageError, match="no promise was broken"):
        story.choose(sound)
