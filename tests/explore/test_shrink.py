"""Shrinking, on toy runs: what is cut, what stays, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.errors import UsageError
from chaos.explore.rerun import Candidate, RerunResult, Sight, Wanted, decisions
from chaos.explore.shrink import NotRepeatable, Shrunk, shrink
from chaos.script import Injection
from tests.explore.toys import FOUND_US, WANTED, Toy, candidate, enqueue

ENQUEUES = tuple(enqueue(n * 50_000, f"key-{n % 7}") for n in range(100))
SWEEPS = tuple(Injection(n * 300_000 + 123, 0) for n in range(1, 30))
ABORTS = tuple(Injection(n * 1_000_000, 1) for n in range(1, 9))
TAPE = {f"worker-1.1/c2|{n}|request": 500 + n for n in range(300)}


def shrunk(toy: Toy, start: Candidate, limit: int = 200) -> Shrunk:
    return shrink(start, WANTED, toy, limit=limit)


def test_a_long_run_shrinks_to_what_its_failure_needs() -> None:
    toy = Toy(keys=("key-1",), faults=("sweep",), tape=("worker-1.1/c2|77|request",))
    result = shrunk(toy, candidate(ENQUEUES, (*SWEEPS, *ABORTS), TAPE))
    left = result.candidate
    assert [one.command.key for one in left.script.timed_enqueues] == ["key-1"]
    assert [one.at_us for one in left.script.timed_enqueues] == [0]
    assert [spec.fault for spec in left.plan.faults] == ["sweep"]
    assert [one.fault for one in left.script.timed_injections] == [0]
    assert left.tape == {"worker-1.1/c2|77|request": 577}
    assert (left.plan.workers.count, left.plan.workers.concurrency) == (1, 2)
    assert (result.before, result.after, result.minimal) == (100 + 29 + 8 + 300, 3, True)
    assert result.reruns == len(toy.asked) < 80


def test_the_shrunk_plan_says_when_its_faults_come() -> None:
    toy = Toy()
    plan = shrunk(toy, candidate(ENQUEUES, (*SWEEPS, *ABORTS), TAPE)).candidate.plan
    spec = plan.faults[0]
    assert spec.every_us is None
    assert len(spec.at_us) == 1
    assert plan.duration_us > spec.at_us[0]


def test_bodies_are_cut_to_those_of_one_attempt_and_made_plain() -> None:
    left = shrunk(Toy(), candidate(ENQUEUES, SWEEPS)).candidate
    assert left.script.timed_enqueues[0].command.kwargs == {
        "bodies": [{"profile": "quick", "takes_us": 1_000_000}]
    }


def test_what_a_failure_needs_stays_several_keys_workers_and_its_time() -> None:
    toy = Toy(
        keys=("key-1", "key-1", "key-3"),
        faults=("sweep", "abort", "abort"),
        workers=2,
        concurrency=5,
        duration_us=1_950_000,
    )
    start = candidate(ENQUEUES, (*SWEEPS, *ABORTS))
    result = shrunk(toy, replace(start, plan=start.plan))
    script = result.candidate.script
    assert sorted(str(one.command.key) for one in script.timed_enqueues) == [
        "key-1", "key-1", "key-3",
    ]  # fmt: skip
    assert len(script.timed_injections) == 3
    assert result.candidate.plan.workers.count == 2
    assert result.candidate.plan.workers.concurrency == 6
    assert result.candidate.plan.duration_us == FOUND_US + 50_000


def test_the_limit_is_kept_the_two_that_verify_included() -> None:
    toy = Toy(tape=tuple(TAPE)[::3])
    result = shrunk(toy, candidate(ENQUEUES, SWEEPS, TAPE), limit=40)
    assert len(toy.asked) == result.reruns == 40
    assert not result.minimal
    assert toy.fails(result.candidate)


def test_the_same_failure_shrinks_to_the_same_run_by_the_same_reruns() -> None:
    first, second = Toy(tape=tuple(TAPE)[:5]), Toy(tape=tuple(TAPE)[:5])
    start = candidate(ENQUEUES, (*SWEEPS, *ABORTS), TAPE)
    assert shrunk(first, start) == shrunk(second, start)
    assert first.asked == second.asked


def test_no_candidate_is_rerun_twice_before_the_last_two() -> None:
    toy = Toy(keys=("key-1", "key-2"))
    shrunk(toy, candidate(ENQUEUES, SWEEPS, TAPE))
    searched = [one.key() for one in toy.asked[:-2]]
    failed = [one.key() for one in toy.asked[:-2] if not toy.fails(one)]
    assert len(failed) == len(set(failed))
    assert len(searched) - len(set(searched)) <= 1


def test_tape_entries_that_a_run_does_not_ask_for_are_dropped_without_a_rerun() -> None:
    toy = Toy(asks=("worker-1.1/c2|5|request",), tape=("worker-1.1/c2|6|request",))
    start = candidate((enqueue(0, "key-1", bodies=1),), (Injection(500_000, 0),), TAPE)
    result = shrunk(toy, start)
    assert result.candidate.tape == {"worker-1.1/c2|6|request": 506}
    assert result.reruns < 30


def test_another_finding_is_not_taken_for_the_wanted_one() -> None:
    """Without its sweeps this run fails too, but at another line of saq."""

    def rerun(one: Candidate) -> RerunResult:
        line = WANTED.line if one.script.timed_injections else "worker.py:401 process"
        sight = Sight(promise=WANTED.promise, kind=WANTED.kind, line=line, job="key-1")
        return RerunResult(one.key(), one.tape, (sight,))

    result = shrink(candidate(ENQUEUES, SWEEPS), WANTED, rerun)
    assert len(result.candidate.script.timed_injections) == 1
    assert result.candidate.script.timed_enqueues == ()


def test_a_run_that_does_not_fail_is_no_failure() -> None:
    with pytest.raises(UsageError, match="no-internal-errors KeyError"):
        shrunk(Toy(keys=("key-99",)), candidate(ENQUEUES))


def test_too_few_reruns_are_refused() -> None:
    with pytest.raises(UsageError, match="2 reruns are too few"):
        shrunk(Toy(), candidate(ENQUEUES, SWEEPS), limit=2)


def test_a_result_that_gives_another_digest_is_refused() -> None:
    toy, count = Toy(), iter(range(1_000))

    def rerun(one: Candidate) -> RerunResult:
        return replace(toy(one), digest=f"{next(count):064d}")

    with pytest.raises(NotRepeatable, match="not repeatable"):
        shrink(candidate(ENQUEUES, SWEEPS), WANTED, rerun)


def test_the_finding_is_the_earliest_one_of_its_kind() -> None:
    late = Sight(promise="p", kind="k", at_us=9, events=(9,))
    early = Sight(promise="p", kind="k", at_us=5, events=(5,))
    other = Sight(promise="p", kind="another", at_us=1)
    assert Wanted("p", "k").first_in((late, other, early)) == early
    assert Wanted("p", "k", "line").first_in((late, other, early)) is None


@st.composite
def runs(draw: st.DrawFn) -> tuple[Toy, Candidate]:
    """A failing toy run, and what it needs of it."""
    enqueues = tuple(
        enqueue(at_us, f"key-{draw(st.integers(0, 3))}")
        for at_us in sorted(draw(st.lists(st.integers(0, 3_000_000), min_size=1, max_size=12)))
    )
    injections = tuple(
        Injection(at_us, draw(st.integers(0, 1)))
        for at_us in sorted(draw(st.lists(st.integers(0, 3_000_000), max_size=8)))
    )
    tape = {f"c|{n}": n + 1 for n in range(draw(st.integers(0, 12)))}
    names = ("sweep", "abort")
    toy = Toy(
        keys=tuple(str(enqueues[n].command.key) for n in draw(some_of(enqueues))),
        faults=tuple(names[injections[n].fault] for n in draw(some_of(injections))),
        tape=tuple(tuple(tape)[n] for n in draw(some_of(tuple(tape)))),
        asks=tuple(name for name in tape if draw(st.booleans())),
        workers=draw(st.integers(1, 3)),
        concurrency=draw(st.integers(1, 8)),
    )
    return toy, candidate(enqueues, injections, tape)


def some_of(items: tuple[object, ...]) -> st.SearchStrategy[list[int]]:
    """Up to three places of these items."""
    if not items:
        return st.just([])
    return st.lists(st.integers(0, len(items) - 1), max_size=3, unique=True)


@settings(max_examples=150, deadline=None)
@given(runs(), st.integers(3, 200))
def test_whatever_comes_back_was_rerun_fails_and_is_within_the_limit(
    run: tuple[Toy, Candidate], limit: int
) -> None:
    toy, start = run
    result = shrunk(toy, start, limit)
    assert result.candidate in toy.asked
    assert toy.fails(result.candidate)
    assert len(toy.asked) == result.reruns <= limit
    assert result.after == decisions(result.candidate.script, result.candidate.tape)
    assert result.after <= result.before


@settings(max_examples=100, deadline=None)
@given(runs())
def test_with_reruns_enough_nothing_is_left_that_the_failure_does_not_need(
    run: tuple[Toy, Candidate],
) -> None:
    toy, start = run
    result = shrunk(toy, start, limit=2_000)
    assert result.minimal
    assert result.after == len(toy.keys) + len(toy.faults) + len(toy.tape)
    assert result.candidate.plan.workers.count == toy.workers
