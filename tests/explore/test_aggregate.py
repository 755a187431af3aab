"""Many seeds become one verdict: what adds up, what one seed decides, what proves nothing."""

from __future__ import annotations

from typing import Any

from chaos.explore.aggregate import FINDINGS_KEPT, VariantTally
from chaos.explore.protocol import Summary
from chaos.explore.results import Changed, SeedFailure, changed_seeds
from chaos.plan import Plan
from chaos.verdict import (
    ExposureVerdict,
    Finding,
    Outcome,
    PromiseVerdict,
    ThresholdVerdict,
    VariantVerdict,
)

PROMISE = "no-internal-errors"


def plan(**changes: Any) -> Plan:
    fields: dict[str, Any] = {
        "plan": "p", "workload": {"kind": "same_key"}, "duration": "1s", "promises": (PROMISE,),
        **changes,
    }  # fmt: skip
    return Plan.model_validate(fields)


def promise(count: int = 0, exposure: int = 1, reason: str = "", **fields: Any) -> PromiseVerdict:
    outcome = Outcome.INVALID if count else Outcome.UNKNOWN if reason else Outcome.VALID
    finding = Finding(kind="KeyError", message="attempt 1", events=(3,))
    return PromiseVerdict(
        promise=PROMISE, outcome=outcome, count=count, exposure=exposure, reason=reason,
        kinds={"KeyError": count} if count else {}, findings=(finding,) * min(count, 3),
        **{"exposure_name": "slot_collisions", **fields},
    )  # fmt: skip


def summary(seed: int, judged: PromiseVerdict, ended: str = "finished", **fields: Any) -> Summary:
    verdict = VariantVerdict(
        variant="v", outcome=judged.outcome, promises=(judged,),
        exposures=(ExposureVerdict(exposure="slot_collisions", count=judged.exposure),),
        counters={"attempts": 4.0, "job_wait_p99": 0.2}, **fields,
    )  # fmt: skip
    return Summary(
        seed=seed, verdict=verdict, ended=ended, digest="d", decisions=5, events=10, steps=20,
        virtual_us=1_000, spent_us=100, interleavings=(f"pair {seed % 2}",),
    )  # fmt: skip


def tally(*summaries: Summary, **changes: Any) -> VariantTally:
    made = VariantTally(plan(**changes), "v")
    for number, one in enumerate(summaries):
        made.add(number, one, found_us=(number + 1) * 10)
    return made


def test_counts_and_exposures_of_all_seeds_add_up() -> None:
    verdict = tally(summary(1, promise(2, 10)), summary(2, promise(0, 5))).verdict()
    (found,) = verdict.promises
    assert (found.outcome, found.count, found.exposure) == (Outcome.INVALID, 2, 15)
    assert found.kinds == {"KeyError": 2}
    assert verdict.counters == {"attempts": 8.0}
    assert verdict.outcome is Outcome.INVALID


def test_a_finding_among_many_seeds_names_its_seed_and_no_events() -> None:
    (found,) = tally(summary(17, promise(1))).verdict().promises
    assert found.findings == (Finding(kind="KeyError", message="seed 17: attempt 1"),)


def test_a_seed_that_never_met_the_danger_says_nothing_against_the_others() -> None:
    unmet = promise(exposure=0, reason="the danger was never met: no slot collisions")
    assert tally(summary(1, unmet), summary(2, promise(0, 5))).verdict().outcome is Outcome.VALID


def test_no_seed_that_met_the_danger_is_unknown() -> None:
    unmet = promise(exposure=0, reason="the danger was never met: no slot collisions")
    (found,) = tally(summary(1, unmet), summary(2, unmet)).verdict().promises
    assert found.outcome is Outcome.UNKNOWN
    assert found.reason == "the danger was never met: no slot collisions"


def test_a_seed_that_could_not_be_judged_makes_all_of_them_unknown() -> None:
    blind = promise(exposure=3, reason="the probe cannot see process")
    (found,) = tally(summary(1, blind), summary(2, promise(0, 5))).verdict().promises
    assert found.outcome is Outcome.UNKNOWN
    assert found.reason == "the probe cannot see process (in 1 seeds)"


def test_the_exposure_that_the_plan_wants_is_met_over_all_seeds() -> None:
    few = tally(summary(1, promise(0, 5)), exposures={"slot_collisions": 10})
    enough = tally(
        summary(1, promise(0, 5)), summary(2, promise(0, 5)), exposures={"slot_collisions": 10}
    )
    assert (few.verdict().outcome, enough.verdict().outcome) == (Outcome.UNKNOWN, Outcome.VALID)


def test_collisions_count_before_attempts_where_only_some_seeds_collided() -> None:
    per_attempt = promise(0, 100, exposure_name="attempts")
    (found,) = tally(summary(1, per_attempt), summary(2, promise(0, 5))).verdict().promises
    assert (found.exposure_name, found.exposure) == ("slot_collisions", 5)


def test_a_run_that_was_cut_short_proves_nothing_and_says_in_how_many_seeds() -> None:
    short = summary(1, promise(0, 5), ended="limit", incomplete=("a limit ended the run",))
    verdict = tally(short, summary(2, promise(0, 5))).verdict()
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.incomplete == ("a limit ended the run (in 1 of 2 seeds)",)


def test_a_standstill_is_a_finding_and_no_unfinished_business() -> None:
    stuck = summary(1, promise(1), ended="livelock", incomplete=("the run was cut short",))
    assert tally(stuck).verdict().incomplete == ()


def test_seeds_in_which_nothing_ran_are_fine_beside_one_in_which_something_did() -> None:
    idle = summary(1, promise(0, 0), incomplete=("nothing ran: the history holds no attempt",))
    assert tally(idle, summary(2, promise(0, 5))).verdict().incomplete == ()
    assert tally(idle).verdict().incomplete == (
        "nothing ran: the history holds no attempt (in 1 of 1 seeds)",
    )


def test_no_seed_at_all_is_unknown() -> None:
    verdict = tally().verdict()
    assert (verdict.outcome, verdict.incomplete) == (Outcome.UNKNOWN, ("no seed ran",))


def test_one_failed_threshold_fails_and_one_that_was_not_measured_does_not() -> None:
    def one(outcome: Outcome, value: float | None) -> ThresholdVerdict:
        return ThresholdVerdict(threshold="kills == 0", outcome=outcome, value=value)

    held, failed = one(Outcome.VALID, 0.0), one(Outcome.INVALID, 2.0)
    missing = one(Outcome.UNKNOWN, None)
    seeds = [summary(1, promise(0, 5), thresholds=(each,)) for each in (missing, held, failed)]
    assert tally(*seeds[:2]).verdict().thresholds == (held,)
    assert tally(*seeds).verdict().thresholds == (failed,)


def test_the_first_failure_is_that_of_the_lowest_number_and_the_earliest_time() -> None:
    made = VariantTally(plan(), "v")
    made.add(5, summary(105, promise(1)), found_us=10)
    made.add(2, summary(102, promise(1)), found_us=30)
    first = made.first[PROMISE]
    assert (first.number, first.seed, first.found_us) == (2, 102, 10)


def test_new_interleavings_are_dated() -> None:
    explored = tally(*(summary(seed, promise(0, 5)) for seed in (2, 3, 4))).explored()
    assert explored.interleavings == ("pair 0", "pair 1")
    assert (explored.new_at, explored.new_us) == (1, 20)


def test_seeds_that_differ_between_variants_are_listed_with_what_each_broke() -> None:
    def failing(number: int, kind: str = "KeyError") -> SeedFailure:
        return SeedFailure(number=number, seed=number + 100, promise=PROMISE, kind=kind)

    stock = {0: failing(0), 1: failing(1), 9: failing(9)}
    guarded = {1: failing(1)}
    changed, count = changed_seeds([stock, guarded], compared=5)
    assert changed == (Changed(number=0, seed=100, broken=("no-internal-errors KeyError", "")),)
    assert count == 1


def test_the_findings_that_are_kept_do_not_depend_on_which_seed_was_done_first() -> None:
    seeds = [(number, summary(100 + number, promise(1))) for number in range(FINDINGS_KEPT + 5)]
    forwards, backwards = VariantTally(plan(), "v"), VariantTally(plan(), "v")
    for number, one in seeds:
        forwards.add(number, one, found_us=0)
    for number, one in reversed(seeds):
        backwards.add(number, one, found_us=0)
    kept = forwards.verdict().promises[0].findings
    assert len(kept) == FINDINGS_KEPT
    assert kept[0].message.startswith("seed 100")
    assert backwards.verdict().promises[0].findings == kept
