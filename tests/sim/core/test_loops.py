"""The kernel and a host's event loop: order, time, what blocks, what ends, what is not there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.core.conftest import Scenarios


@pytest.fixture
def told(scenarios: Scenarios) -> Any:
    """What became of each scenario, by name."""
    return scenarios("loops")


def test_callbacks_run_in_order_and_timers_by_time(told: Any) -> None:
    assert told["callbacks_run_in_order"] == [
        [0.0, "a", "soon 1"], [0.0, "a", "soon 3"], [1.0, "a", "later 1"], [1.5, "a", "at 1.5"],
        [2.0, "a", "later 2"], [2.5, "a", "0.0025"],
    ]  # fmt: skip


def test_asyncio_s_own_primitives_work_as_they_are(told: Any) -> None:
    assert told["asyncio_works_as_it_is"] == [
        [5.0, "a", "worked"], [12.0, "a", "worked"], [22.0, "a", "wait_for"],
        [42.0, "a", "timeout"], [45.0, "a", [0.003, 0.001, 0.002]], [50.0, "a", [0, 1]],
        [50.0, "a", "locked"],
    ]  # fmt: skip


def test_which_of_the_ready_hosts_runs_next_is_a_decision_of_the_tape(told: Any) -> None:
    assert told["the_tape_says_who_runs_first"] == [
        ["a", "b", "c"], ["c", "a", "b"], ["a", "b", "c"],
    ]  # fmt: skip


def test_each_host_sees_its_own_running_loop_and_nobody_sees_one_afterwards(told: Any) -> None:
    assert told["each_host_has_its_own_running_loop"] == [{"a": [True] * 3, "b": [True] * 3}, True]


def test_each_method_that_a_loop_here_has_not_raises_and_names_itself(told: Any) -> None:
    found = told["what_is_not_there_raises_by_name"]
    assert {name: text for name, text in found.items() if f" no {name}():" not in text} == {}
    expected = {"add_reader", "create_connection", "getaddrinfo", "run_until_complete", "sock_recv",
                "subprocess_exec", "set_task_factory", "stop"}  # fmt: skip
    assert expected <= set(found)
    assert not {"call_soon", "create_task", "run_in_executor", "time"} & set(found)


def test_sets_of_tasks_and_futures_have_one_order_in_every_process(told: Any) -> None:
    assert told["hashes_count_up"] == [[f"t{n}" for n in range(40)], True, True]


def test_a_blocking_sleep_holds_up_its_own_host_only(told: Any) -> None:
    assert told["a_blocking_sleep_blocks_one_host_only"] == [
        [2.0, "b", "beat"], [4.0, "b", "beat"], [5.0, "a", 0.005], [5.0, "a", "held up"],
        [6.0, "b", "beat"], [6.0, "a", "end"],
    ]  # fmt: skip


def test_what_is_due_while_a_host_is_paused_waits_signals_too(told: Any) -> None:
    assert told["a_pause_holds_everything"] == [
        [2.0, "a", "beat"], [10.0, "a", "SIGTERM"], [10.0, "a", "beat"], [12.0, "a", "beat"],
        [14.0, "a", "beat"],
    ]  # fmt: skip


def test_a_killed_host_runs_nothing_more_and_leaves_no_warning(told: Any) -> None:
    assert told["a_killed_host_does_nothing_more"] == [[[4.0, "a", "goes on"]], -9, True]


def test_a_signal_reaches_its_handler_or_ends_the_host(told: Any) -> None:
    assert told["signals_reach_their_handler_or_end_the_host"] == [
        [[1.0, "a", [True, False]]], -15, 2000,
    ]  # fmt: skip


def test_an_exception_ends_its_host_with_a_code(told: Any) -> None:
    assert told["an_exception_ends_its_host"] == [
        [1, ["ValueError: no"]], [3, []], [1, ["SystemExit: why"]],
    ]  # fmt: skip


def test_errors_of_callbacks_reach_the_handler_or_are_kept(told: Any) -> None:
    said, handled = told["errors_of_callbacks_reach_the_handler"]
    assert [text.rpartition(": ")[2] for text in said] == ["ValueError('in a callback')"]
    assert handled == ["in a callback"]


def test_an_async_generator_that_is_let_go_of_is_closed_by_its_loop(told: Any) -> None:
    closed = [[[1.0, "a", "closed"]], [None, None]]
    assert told["async_generators_are_closed_by_their_loop"] == closed


def test_steps_without_time_are_a_livelock_with_stacks(told: Any) -> None:
    found = told["many_steps_without_time_are_a_livelock"]
    assert (found["stuck"], found["reason"]) == (
        "livelock", "more than 1000 steps at 0 µs, and no time passes",
    )  # fmt: skip
    host, task, innermost = found["stacks"][0].splitlines()[:3]
    assert (host, task) == ("a", "  main")
    assert innermost.endswith(" spin")


def test_hosts_that_wake_each_other_for_ever_are_a_livelock(told: Any) -> None:
    assert told["two_hosts_that_wake_each_other_are_a_livelock"] == "livelock"


def test_nobody_with_anything_to_do_is_a_deadlock_with_stacks(told: Any) -> None:
    found = told["nobody_with_anything_to_do_is_a_deadlock"]
    assert (found["stuck"], found["reason"]) == (
        "deadlock", "nobody has anything to do at 3000 µs",
    )  # fmt: skip
    assert found["stacks"][0].splitlines()[-1].endswith(" waits")


def test_steps_and_virtual_time_are_limited(told: Any) -> None:
    assert told["limits_end_it"] == [
        ["limit", "steps: more than 500"], ["limit", "virtual time: 3000 µs of at most 2500"],
    ]  # fmt: skip


def test_timers_that_were_cancelled_do_not_pile_up_or_move_the_clock(told: Any) -> None:
    assert told["cancelled_timers_leave_the_heap"] == [True, 1000]
