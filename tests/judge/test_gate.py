"""Both gates over literal verdicts."""

from __future__ import annotations

import pytest

from chaos.errors import UsageError
from chaos.gate import EXIT_CODES, against, decide, strict
from chaos.verdict import (
    ExposureVerdict,
    GateVerdict,
    Outcome,
    PromiseVerdict,
    ThresholdVerdict,
    VariantVerdict,
    rate_is_higher_p,
    rate_upper_bound,
    worst,
)
from tests.judge.histories import plan

VALID, UNKNOWN, INVALID = Outcome.VALID, Outcome.UNKNOWN, Outcome.INVALID
BASE, OTHER = "stock@0.26.3", "guarded@0.26.3"
HERE = f"{OTHER}: one-at-a-time"
MORE = "more often (p = 8.1e-08 < 0.01)"


def _promise(
    outcome: Outcome,
    count: int = 0,
    exposure: int = 100,
    name: str = "one-at-a-time",
    per: str = "aborts",
) -> PromiseVerdict:
    reason = "it was hidden" if outcome is UNKNOWN else ""
    return PromiseVerdict(
        promise=name, outcome=outcome, count=count, exposure=exposure, exposure_name=per,
        reason=reason,
    )  # fmt: skip


def _variant(name: str, *promises: PromiseVerdict, **fields: object) -> VariantVerdict:
    outcome = worst(promise.outcome for promise in promises)
    return VariantVerdict(variant=name, outcome=outcome, promises=promises, **fields)  # type: ignore[arg-type]


def _gate(base: PromiseVerdict, other: PromiseVerdict) -> GateVerdict:
    return against(BASE, (_variant(BASE, base), _variant(OTHER, other)))


def test_the_exit_codes_are_those_of_the_design() -> None:
    assert EXIT_CODES == {VALID: 0, INVALID: 1, UNKNOWN: 3}


# --- strict ---------------------------------------------------------------------------------------


def test_strict_passes_if_every_variant_is_valid() -> None:
    assert strict([_variant(BASE, _promise(VALID))]) == GateVerdict(gate="strict", outcome=VALID)


def test_strict_gives_the_worst_answer_and_every_reason() -> None:
    variants = (
        _variant(BASE, _promise(INVALID, 3), reasons=("a was broken",)),
        _variant(OTHER, _promise(UNKNOWN), reasons=("b is UNKNOWN",)),
    )
    assert strict(variants) == GateVerdict(
        gate="strict",
        outcome=INVALID,
        reasons=(f"{BASE}: a was broken", f"{OTHER}: b is UNKNOWN"),
    )


def test_nothing_judged_is_unknown() -> None:
    assert strict([]) == GateVerdict(
        gate="strict", outcome=UNKNOWN, reasons=("no variant was judged",)
    )


# --- baseline -------------------------------------------------------------------------------------


def test_a_promise_that_held_there_and_is_broken_here_is_worse() -> None:
    assert _gate(_promise(VALID), _promise(INVALID, 1)) == GateVerdict(
        gate="baseline",
        outcome=INVALID,
        baseline=BASE,
        reasons=(f"{HERE} is broken (1 in 100 aborts); on {BASE} it held over 100 aborts",),
    )


def test_a_promise_that_is_kept_here_is_never_worse() -> None:
    for there in (VALID, UNKNOWN, INVALID):
        assert _gate(_promise(there, 5), _promise(VALID)).outcome is VALID


def test_a_gate_that_passes_says_so() -> None:
    assert _gate(_promise(INVALID, 5), _promise(VALID)).reasons == (
        f"no promise and no threshold is worse than on {BASE} on {OTHER}",
    )


def test_a_higher_rate_of_the_same_failure_is_worse() -> None:
    assert _gate(_promise(INVALID, 10), _promise(INVALID, 50)) == GateVerdict(
        gate="baseline",
        outcome=INVALID,
        baseline=BASE,
        reasons=(f"{HERE} is broken 50 times in 100 aborts, on {BASE} 10 times in 100: {MORE}",),
    )


def test_a_rate_that_is_not_clearly_higher_is_no_worse() -> None:
    gate = _gate(_promise(INVALID, 50), _promise(INVALID, 60))
    assert (gate.outcome, gate.reasons[0]) == (
        VALID,
        f"{HERE} is broken 60 times in 100 aborts, on {BASE} 50 times in 100: no worse (p = 0.2)",
    )


def test_more_failures_over_as_much_more_danger_are_no_worse() -> None:
    assert _gate(_promise(INVALID, 10, 100), _promise(INVALID, 50, 500)).outcome is VALID


def test_an_unknown_promise_is_unknown_here_and_where_it_is_broken_also_there() -> None:
    here = _gate(_promise(INVALID, 9), _promise(UNKNOWN))
    there = _gate(_promise(UNKNOWN), _promise(INVALID, 9))
    assert (here.outcome, here.reasons) == (
        UNKNOWN, (f"{HERE} is UNKNOWN: it was hidden",),
    )  # fmt: skip
    assert (there.outcome, there.reasons) == (
        UNKNOWN,
        (f"{HERE} is broken (9 in 100 aborts); on {BASE} it is UNKNOWN: it was hidden",),
    )


@pytest.mark.parametrize(("there", "here", "nobody"), [(0, 100, BASE), (100, 0, OTHER)])
def test_no_exposure_on_either_side_is_unknown(there: int, here: int, nobody: str) -> None:
    gate = _gate(_promise(INVALID, 1, there), _promise(INVALID, 9, here))
    assert (gate.outcome, gate.reasons) == (
        UNKNOWN,
        (f"{HERE} is broken on both, and {nobody} met no aborts to rate it by",),
    )


def test_a_variant_that_met_no_collision_at_all_is_compared_by_attempts() -> None:
    base = _variant(
        BASE, _promise(INVALID, 5, 50, per="slot_collisions"), counters={"attempts": 1000.0}
    )
    other = _variant(OTHER, _promise(INVALID, 90, 1000), counters={"attempts": 1000.0})
    gate = against(BASE, (base, other))
    assert gate.outcome is INVALID
    assert "90 times in 1000 attempts, on stock@0.26.3 5 times in 1000" in gate.reasons[0]


def test_the_level_is_shared_over_all_comparisons() -> None:
    """p = 0.0083 is under 0.01 alone, and not under 0.01 / 2 beside a second comparison."""
    base, other = _promise(INVALID, 10), _promise(INVALID, 25)
    p = rate_is_higher_p(25, 100, 10, 100)
    assert 0.005 < p < 0.01
    assert _gate(base, other).outcome is INVALID
    kept = _promise(VALID, name="bounded-attempts")
    both = against(BASE, (_variant(BASE, base, kept), _variant(OTHER, other, kept)))
    assert both.outcome is VALID


def test_after_the_smallest_p_the_next_one_has_a_wider_level() -> None:
    """Holm steps down: with two comparisons the second p only has to be under 0.01."""
    clear = _promise(INVALID, 90, name="bounded-attempts")
    base = _variant(BASE, _promise(INVALID, 10), _promise(INVALID, 10, name="bounded-attempts"))
    gate = against(BASE, (base, _variant(OTHER, _promise(INVALID, 25), clear)))
    assert [reason.rpartition("< ")[2] for reason in gate.reasons] == ["0.01)", "0.005)"]


def test_32_comparisons_of_equal_variants_rarely_fail() -> None:
    """One of 32 at p = 0.0083: by chance, so the gate does not fail for it."""
    names = [f"promise-{place}" for place in range(8)]
    base = _variant(BASE, *(_promise(INVALID, 10, name=name) for name in names))
    unlucky = [_promise(INVALID, 25, name=names[0])]
    others = [
        _variant(f"v{place}@1", *(_promise(INVALID, 10, name=name) for name in names))
        for place in range(3)
    ]
    others.append(
        _variant("v3@1", *unlucky, *(_promise(INVALID, 10, name=name) for name in names[1:]))
    )
    assert against(BASE, (base, *others)).outcome is VALID


def test_an_exposure_that_was_not_met_on_either_side_is_unknown() -> None:
    few = ExposureVerdict(exposure="slot_collisions", count=9, required=300)
    kept = _promise(VALID)
    gate = against(BASE, (_variant(BASE, kept), _variant(OTHER, kept, exposures=(few,))))
    assert (gate.outcome, gate.reasons) == (
        UNKNOWN, (f"{OTHER}: only 9 slot collisions, and the plan wants 300",),
    )  # fmt: skip
    swapped = against(OTHER, (_variant(BASE, kept), _variant(OTHER, kept, exposures=(few,))))
    assert swapped.outcome is UNKNOWN


@pytest.mark.parametrize("cut", [BASE, OTHER])
def test_a_variant_that_was_cut_short_is_unknown(cut: str) -> None:
    variants = [
        _variant(
            name, _promise(VALID), incomplete=("the run was cut short",) if name == cut else ()
        )
        for name in (BASE, OTHER)
    ]
    gate = against(BASE, variants)
    assert (gate.outcome, gate.reasons) == (UNKNOWN, (f"{cut}: the run was cut short",))


@pytest.mark.parametrize(
    ("there", "here", "outcome"),
    [
        (VALID, INVALID, INVALID),
        (INVALID, INVALID, VALID),
        (UNKNOWN, INVALID, UNKNOWN),
        (VALID, UNKNOWN, UNKNOWN),
        (INVALID, VALID, VALID),
    ],
)
def test_a_threshold_that_only_fails_here_is_worse(
    there: Outcome, here: Outcome, outcome: Outcome
) -> None:
    base, other = (
        _variant(
            name,
            _promise(VALID),
            thresholds=(ThresholdVerdict(threshold="kills == 0", outcome=one, value=3.0),),
        )
        for name, one in ((BASE, there), (OTHER, here))
    )
    assert against(BASE, (base, other)).outcome is outcome


def test_a_bad_answer_is_not_hidden_by_an_unknown_one() -> None:
    base = _variant(BASE, _promise(VALID), _promise(INVALID, name="bounded-attempts"))
    other = _variant(OTHER, _promise(INVALID, 9), _promise(UNKNOWN, name="bounded-attempts"))
    gate = against(BASE, (base, other))
    assert gate.outcome is INVALID
    assert [("is broken" in reason) for reason in gate.reasons] == [True, False]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (None, "gate `baseline` needs a variant to compare with"),
        ("stock@0.22.4", "baseline 'stock@0.22.4' is no variant of this run; there are: stock@0"),
    ],
)
def test_a_missing_baseline_is_a_usage_error(name: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        against(name, (_variant(BASE, _promise(VALID)),))


def test_a_baseline_written_as_in_the_plan_is_found_by_its_label() -> None:
    base = _variant("mine_Worker@.._saq", _promise(VALID))
    gate = against("mine:Worker@../saq", (base, _variant(OTHER, _promise(VALID))))
    assert (gate.outcome, gate.baseline) == (VALID, "mine_Worker@.._saq")


def test_a_baseline_alone_has_nothing_to_be_compared_with() -> None:
    gate = against(BASE, (_variant(BASE, _promise(VALID)),))
    assert (gate.outcome, gate.reasons) == (UNKNOWN, (f"nothing to compare with {BASE}",))


def test_the_plan_says_which_gate() -> None:
    variants = (_variant(BASE, _promise(INVALID, 1)), _variant(OTHER, _promise(VALID)))
    assert decide(plan(), variants).outcome is INVALID
    assert decide(plan(gate="baseline", baseline=BASE), variants).outcome is VALID


# --- the figures ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "exposure", "bound"),
    [(0, 300, 0.01), (0, 2, 1.0), (10, 100, 0.16), (100, 100, 1.0), (0, 0, float("inf"))],
)
def test_the_95_percent_bound_of_a_rate(count: int, exposure: int, bound: float) -> None:
    assert round(rate_upper_bound(count, exposure), 3) == bound


def test_more_failures_than_exposures_have_a_bound_above_their_rate() -> None:
    """The exact Poisson bound of 150 is 171.85."""
    assert round(rate_upper_bound(150, 100), 3) == 1.718


def test_the_exact_test_agrees_with_the_binomial_tail() -> None:
    """3 of 3 failures on the side with half of the exposure: 1 in 8."""
    assert round(rate_is_higher_p(3, 100, 0, 100), 9) == 0.125
