"""Delta debugging, on sets of numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chaos.explore.ddmin import ddmin


class Asked:
    """Holds if all of `needed` are there; remembers what it was asked and what held."""

    def __init__(self, needed: frozenset[int], limit: int = 1_000_000) -> None:
        self.needed = needed
        self.limit = limit
        self.asked: list[tuple[int, ...]] = []
        self.held: list[tuple[int, ...]] = []

    def __call__(self, items: tuple[int, ...]) -> bool:
        if len(self.asked) >= self.limit:
            return False
        self.asked.append(items)
        if self.needed <= set(items):
            self.held.append(items)
            return True
        return False


def test_of_sixteen_items_the_two_that_matter_are_left() -> None:
    asked = Asked(frozenset({3, 12}))
    assert ddmin(tuple(range(16)), asked) == (3, 12)
    assert len(asked.asked) <= 24


def test_nothing_is_left_if_nothing_matters_and_one_question_is_enough() -> None:
    asked = Asked(frozenset())
    assert ddmin(tuple(range(1_000)), asked) == ()
    assert asked.asked == [()]


def test_of_no_items_nothing_is_asked() -> None:
    asked = Asked(frozenset())
    assert ddmin((), asked) == ()
    assert asked.asked == []


def test_all_are_left_if_all_matter() -> None:
    assert ddmin((1, 2, 3), Asked(frozenset({1, 2, 3}))) == (1, 2, 3)


def test_an_item_that_can_go_only_after_a_later_one_goes_too() -> None:
    def holds(items: tuple[int, ...]) -> bool:
        return 2 in items and (1 in items or 3 not in items)

    assert ddmin((1, 2, 3), holds) == (2,)


@given(st.integers(0, 60), st.data())
def test_the_result_is_exactly_what_is_needed(size: int, data: st.DataObject) -> None:
    needed = data.draw(st.frozensets(st.integers(0, size - 1), max_size=8)) if size else frozenset()
    assert set(ddmin(tuple(range(size)), Asked(needed))) == needed


@given(st.integers(1, 40), st.integers(0, 30), st.data())
def test_with_a_budget_the_result_is_one_that_held_or_the_first(
    size: int, limit: int, data: st.DataObject
) -> None:
    items = tuple(range(size))
    asked = Asked(data.draw(st.frozensets(st.integers(0, size - 1), max_size=8)), limit)
    result = ddmin(items, asked)
    assert result == items or result in asked.held
    assert len(asked.asked) <= limit


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.integers(0, 1 << 20))
def test_no_single_item_of_a_result_can_go_whatever_holds(bits: list[bool], salt: int) -> None:
    """Also if what holds is no matter of needed items, such as here, where a hash decides."""
    items = tuple(range(len(bits)))

    def holds(kept: tuple[int, ...]) -> bool:
        return kept == items or hash((salt, kept)) % 3 == 0

    result = ddmin(items, holds)
    assert [kept for n in range(len(result)) if holds(kept := result[:n] + result[n + 1 :])] == []
