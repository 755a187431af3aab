"""The network faults of a plan in a simulated run of the whole: injected, healed, and felt."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.network.conftest import Scenarios

LOST = ["redis ConnectionError"]
ERRORS = {
    "quiet": [],
    "latency": [],
    "lost_reply": LOST,
    "cut": LOST,
    "refuse": LOST,
    "silent": [],
    "loading": ["redis BusyLoadingError"],
    "readonly": ["redis ReadOnlyError"],
    "oom": ["redis OutOfMemoryError"],
    "script_flush": [],
    "last_writes_lost": LOST,
}

variants = pytest.mark.parametrize("variant", ["stock@0.26.3", "stock@0.26.4"])


@pytest.fixture
def told(scenarios: Scenarios, variant: str) -> Any:
    """What each run's history says, by its name."""
    return scenarios("plans", variant, "1")


@variants
def test_every_network_fault_is_injected_and_heals(told: Any, variant: str) -> None:
    assert {name: run["ended"] for name, run in told.items()} == dict.fromkeys(ERRORS, "finished")
    assert all(run["unasked"] == [] for run in told.values())
    counts = {name: (run["injected"], run["healed"]) for name, run in told.items()}
    assert counts.pop("quiet") == (0, [])
    assert set(counts) == set(ERRORS) - {"quiet"}
    assert all(count == (3, ["", "", ""]) for count in counts.values())


@variants
def test_users_of_saq_see_the_errors_that_redis_py_makes_of_it(told: Any, variant: str) -> None:
    assert {name: run["errors"] for name, run in told.items()} == ERRORS


@variants
def test_every_fault_changes_the_history(told: Any, variant: str) -> None:
    assert len({run["digest"] for run in told.values()}) == len(ERRORS)


@variants
def test_the_tape_alone_gives_the_same_history_again(told: Any, variant: str) -> None:
    assert [name for name, run in told.items() if not run["again"]] == []


def test_the_history_does_not_depend_on_the_hash_seed(scenarios: Scenarios) -> None:
    first, second = (scenarios("plans", "stock@0.26.4", hash_seed) for hash_seed in "12")
    assert first == second
