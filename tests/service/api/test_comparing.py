"""Two verdicts side by side: what is worse, what is not, and what nobody can say."""

from __future__ import annotations

from chaos.verdict import GateVerdict, Outcome, PromiseVerdict, VariantVerdict, Verdict
from service.api.comparing import rows
from service.models import ComparisonRow

NAME = "no-internal-errors"


def verdict(outcome: Outcome, count: int = 0, exposure: int = 1_000, **counters: float) -> Verdict:
    promise = PromiseVerdict(
        promise=NAME, outcome=outcome, count=count, exposure=exposure, exposure_name="attempts"
    )
    variant = VariantVerdict(
        variant="stock@0.26.3", outcome=outcome, promises=(promise,), counters=counters
    )
    return Verdict(
        run="r", plan="p", world="sim", seed=1, version="1", history_digest="d",
        variants=(variant,), gate=GateVerdict(gate="strict", outcome=outcome),
    )  # fmt: skip


def row(name: str, a: str | float | None, b: str | float | None, **more: object) -> ComparisonRow:
    what = "promise" if name == NAME else "counter"
    return ComparisonRow.model_validate(
        {"variant": "stock@0.26.3", "what": what, "name": name, "a": a, "b": b, **more}
    )


def test_a_promise_that_held_and_is_broken_is_worse() -> None:
    assert rows(verdict(Outcome.VALID), verdict(Outcome.INVALID, 1)) == [
        row(NAME, "VALID", "INVALID", worse=True)
    ]


def test_a_promise_that_is_kept_now_is_not_worse() -> None:
    assert rows(verdict(Outcome.INVALID, 9), verdict(Outcome.VALID)) == [
        row(NAME, "INVALID", "VALID", worse=False)
    ]


def test_where_either_side_is_unknown_nothing_is_said() -> None:
    assert rows(verdict(Outcome.UNKNOWN), verdict(Outcome.INVALID, 9)) == [
        row(NAME, "UNKNOWN", "INVALID")
    ]
    assert rows(verdict(Outcome.VALID), verdict(Outcome.UNKNOWN)) == [row(NAME, "VALID", "UNKNOWN")]


def test_broken_on_both_is_worse_where_the_rate_is_clearly_higher() -> None:
    (found,) = rows(verdict(Outcome.INVALID, 10), verdict(Outcome.INVALID, 40))
    assert found.worse is True
    assert found.p is not None
    assert found.p < 1e-4
    (found,) = rows(verdict(Outcome.INVALID, 10), verdict(Outcome.INVALID, 12))
    assert found.worse is False
    assert found.p is not None
    assert 0.1 < found.p < 0.5


def test_a_rate_without_exposure_is_no_rate() -> None:
    found = rows(verdict(Outcome.INVALID, 10, exposure=0), verdict(Outcome.INVALID, 40))
    assert found == [row(NAME, "INVALID", "INVALID")]


def test_counters_of_errors_are_rated_and_others_only_shown() -> None:
    a = verdict(Outcome.VALID, attempts=1_000, key_errors=0, jobs_run=900)
    b = verdict(Outcome.VALID, attempts=1_000, key_errors=30, jobs_run=900)
    found = rows(a, b)
    assert [(one.name, one.worse) for one in found] == [
        ("key_errors", True),
        (NAME, False),
        ("attempts", None),
        ("jobs_run", None),
    ]


def test_what_differs_comes_first() -> None:
    a = verdict(Outcome.VALID, attempts=10, sweeps=1)
    b = verdict(Outcome.VALID, attempts=10, sweeps=2)
    assert [one.name for one in rows(a, b)] == ["sweeps", NAME, "attempts"]


def test_the_level_is_shared_over_all_tests_of_a_comparison() -> None:
    """p = 0.0077 alone is under 0.01; among two tests the level is 0.005."""
    alone = rows(
        verdict(Outcome.VALID, attempts=1_000, key_errors=0),
        verdict(Outcome.VALID, attempts=1_000, key_errors=7),
    )
    shared = rows(
        verdict(Outcome.VALID, attempts=1_000, key_errors=0, internal_errors=0),
        verdict(Outcome.VALID, attempts=1_000, key_errors=7, internal_errors=0),
    )
    assert [one.worse for one in alone if one.name == "key_errors"] == [True]
    assert [one.worse for one in shared if one.name == "key_errors"] == [False]


def test_a_variant_of_one_side_is_shown_without_an_answer() -> None:
    nothing = verdict(Outcome.VALID)
    empty = Verdict(
        run="r", plan="p", world="sim", seed=1, version="1", history_digest="d", variants=(),
        gate=nothing.gate,
    )  # fmt: skip
    assert rows(nothing, empty) == [row(NAME, "VALID", None)]
