"""The seams: what code under test reads of its machine, what it may not ask for, the undoing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.core.conftest import Scenarios

variants = pytest.mark.parametrize("variant", ["stock@0.26.3", "stock@0.26.4", "stock@0.22.4"])


@pytest.fixture
def told(scenarios: Scenarios, variant: str) -> Any:
    """What became of each scenario, by name."""
    return scenarios("seams_of_a_run", variant)


@variants
def test_time_ids_and_draws_are_virtual_and_each_host_s_own(told: Any, variant: str) -> None:
    assert told["what_a_host_reads"] == {
        "a": [
            [1767225600.0015, 1500000, 0.0015, 0.0015],
            [1767225600001, 1767225600.0015],
            "2026-01-01 00:00:00.001500+00:00",
            ["00000001-0000-1000-8000-000000000002", "00000002-0000-4000-8000-000000000002",
             "00000003-0000-1000-8000-000000000002", 1002],
            [0.5, 0.5, 1.0, "a"],
            [8, "000000"],
        ],
        "b": [
            [1767225602.0015, 1500000, 0.0015, 0.0015],
            [1767225602001, 1767225602.0015],
            "2026-01-01 00:00:02.001500+00:00",
            ["00000001-0000-1000-8000-000000000001", "00000002-0000-4000-8000-000000000001",
             "00000003-0000-1000-8000-000000000001", 1001],
            [0.5, 0.5, 1.0, "a"],
            [8, "000000"],
        ],
    }  # fmt: skip


@variants
def test_every_random_number_is_a_decision_of_the_tape(told: Any, variant: str) -> None:
    assert told["draws_come_from_the_tape"] == [[0.5, 1, 0.5], [0.25, 1, 0.999999]]


@variants
def test_what_cannot_be_simulated_is_named_and_ends_the_run(told: Any, variant: str) -> None:
    asked = {
        "socket": "a socket",
        "connection": "a socket",
        "thread": "a thread",
        "process": "a process",
        "fork": "a process (fork)",
        "system": "a process (system)",
        "signal": "a signal handler of the whole process",
        "wait": "concurrent.futures.wait",
        "loop": "an event loop of its own",
    }
    reasons = {
        name: f"v/w-1.1 asked for {what}, which cannot be simulated: run this in the live world"
        for name, what in asked.items()
    }
    assert told["what_cannot_be_simulated_ends_the_run_by_name"] == {
        name: ["failed", reason, [reason]] for name, reason in reasons.items()
    }


@variants
def test_everything_is_put_back_also_after_an_error(told: Any, variant: str) -> None:
    assert told["everything_is_put_back"] == {
        "replaced": 0,
        "after a run": True,
        "after an error": True,
        "hooks": True,
        "time is real": True,
    }


@variants
def test_other_threads_of_the_process_see_the_real_machine(told: Any, variant: str) -> None:
    assert told["other_threads_see_the_real_machine"] == [[[0.0, "a", 0.0]], True]


@variants
def test_one_run_at_a_time_in_one_process(told: Any, variant: str) -> None:
    assert told["one_run_at_a_time"] == "one simulation at a time in one process"


@variants
def test_sets_of_queues_have_one_order_in_every_process(told: Any, variant: str) -> None:
    assert told["queues_of_the_multiplexer_are_counted"] == [True, True]
