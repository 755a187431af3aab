"""The judge: promises, exposures, thresholds and cut-short runs become one verdict per variant."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos import event as e
from chaos import judge as judging
from chaos.checkers import by_name
from chaos.errors import UsageError
from chaos.event import AnyEvent
from chaos.history import History
from chaos.judge import judge, judge_promise
from chaos.plan import Plan
from chaos.timeline import Timeline
from chaos.verdict import (
    ExposureVerdict,
    Finding,
    Judgement,
    Outcome,
    PromiseVerdict,
    ThresholdVerdict,
    VariantVerdict,
)
from tests.judge.histories import VARIANT, Story, plan

NO_COLLISIONS = ExposureVerdict(exposure="slot_collisions", count=0)


def _sound() -> Story:
    story = Story()
    story.enqueued("k", at=10)
    run = story.worker().begins("k", at=20)
    run.runs(at=21)
    run.completes(at=50)
    return story


def _verdict(story: Story, **changes: object) -> VariantVerdict:
    (verdict,) = judge(plan(**changes), story.history()).variants
    return verdict


def test_a_sound_history_by_hand_is_valid() -> None:
    verdict = _verdict(_sound())
    assert verdict == VariantVerdict(
        variant=VARIANT,
        outcome=Outcome.VALID,
        promises=(
            PromiseVerdict(
                promise="no-internal-errors",
                outcome=Outcome.VALID,
                exposure=1,
                exposure_name="attempts",
            ),
        ),
        exposures=(NO_COLLISIONS,),
        counters=verdict.counters,
    )
    assert verdict.counters["attempts"] == 1


def test_a_broken_promise_is_invalid_with_its_findings_kinds_and_reason() -> None:
    story = _sound()
    for place in range(30):
        run = story.worker().begins(f"k{place}", at=100 + place)
        run.raises(at=101 + place, error="KeyError" if place % 3 else "AssertionError")
    verdict = _verdict(story)
    (promise,) = verdict.promises
    assert (promise.outcome, promise.count, len(promise.findings)) == (Outcome.INVALID, 30, 20)
    assert promise.kinds == {"AssertionError": 10, "KeyError": 20}
    assert verdict.reasons == (
        "no-internal-errors was broken 30 times (KeyError 20, AssertionError 10)",
    )
    assert verdict.first_key_error_us == 92_000


def test_an_exposure_that_the_plan_requires_and_the_run_never_met_is_unknown() -> None:
    verdict = _verdict(_sound(), exposures={"slot_collisions": 300, "attempts": 1})
    assert (verdict.outcome, verdict.reasons) == (
        Outcome.UNKNOWN,
        ("too little danger: 0 slot collisions, and the plan wants 300",),
    )
    assert verdict.exposures == (
        ExposureVerdict(exposure="slot_collisions", count=0, required=300),
        ExposureVerdict(exposure="attempts", count=1, required=1),
    )


def test_a_promise_whose_danger_was_never_met_is_unknown() -> None:
    verdict = _verdict(_sound(), promises=("one-at-a-time",))
    assert (verdict.outcome, verdict.reasons) == (
        Outcome.UNKNOWN,
        ("one-at-a-time is UNKNOWN: the danger was never met: no requeued live",),
    )


def test_a_history_in_which_nothing_ran_is_unknown() -> None:
    story = Story()
    story.worker()
    verdict = _verdict(story)
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.incomplete == ("nothing ran: the history holds no attempt",)


def test_a_variant_that_the_run_names_but_that_has_no_events_is_unknown() -> None:
    story = _sound()
    _began(story, VARIANT, "guarded@0.26.3")
    story.tell(e.RunEnded, 900, reason="finished")
    first, second = judge(plan(), story.history()).variants
    assert (first.outcome, first.server, second.server) == (Outcome.VALID, "valkey 7.2.4", "")
    assert (second.variant, second.outcome) == ("guarded@0.26.3", Outcome.UNKNOWN)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ((e.RunEnded, {"reason": "interrupted"}), "the run was cut short: interrupted"),
        ((e.RunEnded, {"reason": "failed"}), "the run was cut short: failed"),
        (
            (e.LimitReached, {"limit": "events: 9 of at most 9"}),
            "a limit of the plan ended the run: events: 9 of at most 9",
        ),
    ],
)
def test_a_run_that_was_cut_short_is_unknown(
    told: tuple[type[AnyEvent], dict[str, str]], said: str
) -> None:
    story = _sound()
    kind, fields = told
    story.tell(kind, 900, **fields)
    verdict = _verdict(story)
    assert (verdict.outcome, verdict.reasons, verdict.incomplete) == (
        Outcome.UNKNOWN, (said,), (said,),
    )  # fmt: skip


def test_a_recorded_run_without_its_end_is_unknown() -> None:
    story = _sound()
    _began(story, VARIANT)
    assert _verdict(story).incomplete == ("the history has no end: the run was cut short",)


def test_a_fault_that_did_not_heal_as_planned_makes_it_unknown() -> None:
    story = _sound()
    story.tell(e.FaultInjected, 60, fault="pause", number=3, of=VARIANT)
    story.tell(e.FaultHealed, 70, fault="pause", number=3, of=VARIANT, error="host is gone")
    assert _verdict(story).incomplete == ("fault pause 3 did not go as planned: host is gone",)


def test_a_failed_threshold_is_invalid_and_an_unmeasured_one_unknown() -> None:
    story = _sound()
    verdict = _verdict(story, thresholds=({"that": "attempts == 0"}, {"that": "queue_queued == 0"}))
    assert verdict.outcome is Outcome.INVALID
    assert verdict.thresholds == (
        ThresholdVerdict(threshold="attempts == 0", outcome=Outcome.INVALID, value=1.0),
        ThresholdVerdict(threshold="queue_queued == 0", outcome=Outcome.UNKNOWN),
    )
    assert verdict.reasons == (
        "threshold attempts == 0 failed: it is 1",
        "threshold queue_queued == 0 is UNKNOWN: nothing was measured",
    )


class _Raising:
    """A checker that fails itself."""

    name = "no-internal-errors"
    claim = "none"
    exposure = "attempts"

    def check(self, plan: Plan, timeline: Timeline) -> Judgement:
        raise ZeroDivisionError("a bug of ours")


def test_a_checker_that_raises_is_unknown_with_its_error() -> None:
    assert judge_promise(plan(), _sound().timeline(), _Raising()) == PromiseVerdict(
        promise="no-internal-errors",
        outcome=Outcome.UNKNOWN,
        exposure_name="attempts",
        reason="the checker raised ZeroDivisionError: a bug of ours",
    )


def test_a_checker_that_raises_makes_its_variant_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "by_name", lambda name: _Raising())
    verdict = _verdict(_sound())
    assert (verdict.outcome, verdict.reasons) == (
        Outcome.UNKNOWN,
        ("no-internal-errors is UNKNOWN: the checker raised ZeroDivisionError: a bug of ours",),
    )


def test_findings_beside_a_blind_spot_are_invalid_all_the_same() -> None:
    class Half(_Raising):
        def check(self, plan: Plan, timeline: Timeline) -> Judgement:
            return Judgement(findings=(Finding(kind="x", message="y"),), unknown="half was hidden")

    verdict = judge_promise(plan(), _sound().timeline(), Half())
    assert (verdict.outcome, verdict.reason) == (Outcome.INVALID, "half was hidden")


def test_an_unknown_promise_is_a_usage_error_that_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no promise is called 'no-error'; there are: no-internal"):
        by_name("no-error")


def test_variants_are_judged_apart_from_each_other() -> None:
    broken, sound = Story(variant="a@1"), Story(variant="b@1")
    broken.worker().begins("k", at=10).raises(at=20, error="KeyError")
    run = sound.worker().begins("k", at=10)
    run.ends(at=20)
    merged = History.merge([broken.history(), sound.history()])
    outcomes = [(one.variant, one.outcome) for one in judge(plan(), merged).variants]
    assert outcomes == [("a@1", Outcome.INVALID), ("b@1", Outcome.VALID)]


def test_a_stored_history_gets_the_same_verdict(tmp_path: Path) -> None:
    history = _sound().history()
    history.write(tmp_path / "history.jsonl")
    stored = History.read(tmp_path / "history.jsonl")
    assert judge(plan(), stored).variants == judge(plan(), history).variants


def _began(story: Story, *variants: str) -> None:
    story.tell(e.RunBegan, 0, run="r", plan="p", world="live", seed=1, variants=variants)
    story.tell(e.ServerFound, 0, server="valkey 7.2.4", of=VARIANT)
