"""Sync functions: virtual time, no cancel, a shutdown that blocks as the real one does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.core.conftest import Scenarios


@pytest.fixture
def told(scenarios: Scenarios) -> Any:
    """What became of each scenario, by name."""
    return scenarios("pools")


def test_threads_sleep_side_by_side_while_the_loop_goes_on(told: Any) -> None:
    assert told["threads_take_virtual_time_side_by_side"] == [
        [0.0, "a", "began"], [0.0, "a", "began"], [0.0, "a", "began"], [1.0, "a", "slept 0.001"],
        [1.5, "a", "the loop goes on"], [2.0, "a", "slept 0.002"], [3.0, "a", "slept 0.003"],
        [3.0, "a", [0.003, 0.001, 0.002]],
    ]  # fmt: skip


def test_work_waits_for_a_free_thread_and_a_pool_s_block_for_all_of_it(told: Any) -> None:
    assert told["work_waits_for_a_free_thread"] == [
        [0.0, "h", "submitted"], [2.0, "h", "a"], [2.0, "h", "b"], [4.0, "h", "c"],
        [4.0, "h", "d"], [6.0, "h", "e"], [6.0, "h", "left the block"],
    ]  # fmt: skip


def test_a_shutdown_that_waits_blocks_its_host_and_no_other(told: Any) -> None:
    assert told["a_shutdown_that_waits_blocks_the_loop"] == [
        [3.0, "b", "another host"], [5.0, "a", "body ended"], [5.0, "a", [True, True]],
        [5.0, "a", "cannot schedule new futures after shutdown"], [5.0, "a", "held up"],
    ]  # fmt: skip


def test_a_cancel_does_not_reach_a_thread(told: Any) -> None:
    assert told["a_cancel_does_not_reach_a_thread"] == [
        [1.0, "a", "cancelled"], [5.0, "a", "body ended"],
    ]  # fmt: skip


def test_results_errors_and_context_cross_between_thread_and_loop(told: Any) -> None:
    assert told["results_and_errors_come_back"] == [
        [0.0, "a", "context: no running event loop"], [0.0, "a", "KeyError('mine')"],
        [2.0, "a", None], [5.0, "a", "timed out"],
    ]  # fmt: skip


def test_a_killed_host_takes_its_threads_along_and_no_real_one_was_there(told: Any) -> None:
    assert told["a_killed_host_takes_its_threads_along"] == [
        [[2000.0, "a", "later"]], ["GreenletExit"], 1,
    ]  # fmt: skip


def test_a_paused_host_pauses_its_threads(told: Any) -> None:
    assert told["a_paused_host_pauses_its_threads"] == [
        [2.0, "a", "beat"], [9.0, "a", "beat"], [11.0, "a", "beat"],
    ]  # fmt: skip
