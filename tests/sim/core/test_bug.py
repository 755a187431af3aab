"""The bug that this project began with, found on virtual time, and known again by its digest."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.core.conftest import Scenarios


@pytest.fixture
def stock(scenarios: Scenarios) -> Any:
    return scenarios("bug", "stock@0.26.3", "1")


def test_seeds_of_stock_0_26_3_raise_the_key_error(stock: Any) -> None:
    assert stock["ended"] == 50
    assert 10 <= sum(count > 0 for count in stock["key_errors"]) <= 40


@pytest.mark.parametrize("variant", ["guarded@0.26.3", "by-id@0.26.3", "stock@0.26.4"])
def test_no_seed_of_a_repair_does(scenarios: Scenarios, variant: str) -> None:
    found = scenarios("bug", variant, "1")
    assert (found["ended"], sum(found["key_errors"])) == (50, 0)


def test_by_key_repairs_nothing(scenarios: Scenarios) -> None:
    assert sum(scenarios("bug", "by-key@0.26.3", "1")["key_errors"]) > 0


def test_the_same_seed_gives_the_same_digest_in_another_process(
    scenarios: Scenarios, stock: Any
) -> None:
    other = scenarios("bug", "stock@0.26.3", "2")
    for name in ("digests", "crowd", "counted", "key_errors"):
        assert other[name] == stock[name]


def test_that_test_can_fail_a_set_of_uncounted_tasks_shows(
    scenarios: Scenarios, stock: Any
) -> None:
    assert scenarios("bug", "stock@0.26.3", "2")["uncounted"] != stock["uncounted"]


def test_different_seeds_give_different_digests(stock: Any) -> None:
    assert len(set(stock["digests"])) == 50
    assert len(set(stock["crowd"])) == 4


def test_the_same_seed_gives_the_same_run_again_and_so_does_its_tape_alone(stock: Any) -> None:
    assert stock["again"] is True
    assert stock["by tape alone"] == [True, True]


def test_an_empty_tape_leaves_the_script_s_decisions_alone(stock: Any) -> None:
    assert stock["default"] == [{}, 2]
    assert stock["decisions"] is True


def test_a_history_is_numbered_ordered_folded_and_digested(stock: Any) -> None:
    assert stock["numbered"] is True
    assert stock["in order"] is True
    assert stock["folded"] is True
    assert stock["digest of the history"] is True
