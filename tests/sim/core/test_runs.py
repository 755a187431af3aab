"""Whole runs of saq on virtual time: what the world does to hosts, and how a run ends."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.core.conftest import Scenarios

variants = pytest.mark.parametrize("variant", ["stock@0.26.3", "stock@0.26.4", "stock@0.22.4"])


@pytest.fixture
def told(scenarios: Scenarios, variant: str) -> Any:
    """What became of each scenario, by name."""
    return scenarios("runs", variant)


@variants
def test_the_controller_tells_the_same_story_as_in_the_live_world(told: Any, variant: str) -> None:
    assert told["the_controller_tells_what_it_does"] == [
        "finished",
        [
            "RunBegan", "HostStarted redis", "HostStarted producer-1.1", "HostStarted worker-1.1",
            "ServerFound", "PhaseBegan safety", "PhaseBegan heal", "PhaseBegan liveness",
            "HostSignalled worker-1.1 SIGTERM", "HostExited worker-1.1 0",
            "HostExited producer-1.1 0", "RunEnded",
        ],
    ]  # fmt: skip


@variants
def test_a_worker_can_crash_at_any_moment_and_is_silent_then(told: Any, variant: str) -> None:
    every_time = ["finished", -9, True, 0, 0, 1]
    assert told["a_worker_can_crash_at_any_moment"] == [68, [every_time]]


@variants
def test_a_paused_worker_is_silent_and_goes_on_where_it_stood(told: Any, variant: str) -> None:
    assert told["a_paused_worker_is_silent"] == ["SIGSTOP", "SIGCONT", 500_000, 0, True]


@variants
def test_a_sync_body_takes_virtual_time(told: Any, variant: str) -> None:
    assert told["a_sync_body_takes_virtual_time"] == [True, 300_000, "ok"]


@variants
def test_a_stopping_worker_stands_still_until_its_sync_bodies_end(told: Any, variant: str) -> None:
    assert told["a_short_sync_body_holds_up_the_end"] == ["ok", True, True]


@variants
def test_a_worker_held_up_too_long_is_killed_with_its_bodies(told: Any, variant: str) -> None:
    assert told["a_long_sync_body_goes_with_its_killed_worker"] == [
        "finished", [True], 0, ["SIGTERM", "SIGKILL"], -9,
    ]  # fmt: skip


@variants
def test_errors_belong_to_the_host_that_has_them(told: Any, variant: str) -> None:
    ended, wheres, strangers = told["errors_belong_to_the_host_that_has_them"]
    assert (ended, strangers) == ("finished", 0)
    assert sorted(wheres) == ["worker-1.1", "worker-2.1"]
    assert all("schedule" in found for found in wheres.values())


@variants
def test_an_error_that_is_only_logged_belongs_to_its_process(told: Any, variant: str) -> None:
    assert told["an_error_that_is_only_logged_belongs_to_the_process"] == {
        "a": ["LookupError"], "b": [],
    }  # fmt: skip


@variants
def test_what_would_never_end_ends_with_a_reason(told: Any, variant: str) -> None:
    version = variant.partition("@")[2]
    found = told["what_would_never_end_ends"]
    assert found["livelock"][:2] == [
        "livelock", "more than 200000 steps at 100000 µs, and no time passes",
    ]  # fmt: skip
    assert found["livelock"][2][0].endswith(" process")
    asked = f"PATCH@{version}/worker-1.1 asked for a socket, which cannot be simulated: "
    assert found["socket"] == ["failed", asked + "run this in the live world", [], "failed"]
    assert found["steps"] == ["limit", "steps: more than 50", [], "limit"]
    assert found["virtual time"][0] == "limit"


@variants
def test_a_worker_that_does_not_start_fails_the_world_by_name(told: Any, variant: str) -> None:
    ended, (first, said) = told["a_worker_that_does_not_start_fails_the_world"]
    assert ended == "failed"
    assert first.endswith("/worker-1.1 exited with code 4; it said:")
    assert said.startswith("the worker did not start: OSError: no disk (")


@variants
def test_reaching_a_limit_of_the_plan_is_an_event(told: Any, variant: str) -> None:
    assert told["a_limit_of_the_plan_is_an_event"] == [
        "limit", ["events: 30 of at most 30"], "limit",
    ]  # fmt: skip


@variants
def test_a_run_leaves_neither_objects_nor_threads_behind(told: Any, variant: str) -> None:
    assert told["what_a_run_leaves_behind"] == [True, 1]


@variants
def test_an_application_is_imported_anew_for_each_host(told: Any, variant: str) -> None:
    assert told["an_application_runs_in_each_host_anew"] == {
        "ended": "finished",
        "bodies": 6,
        "outcomes": ["ok"],
        "threads": 2,
        "workers": ["worker-1.1", "worker-2.1"],
        "imported": False,
    }


@variants
def test_two_days_pass_quickly(told: Any, variant: str) -> None:
    assert told["two_days_pass_quickly"] == ["finished", 48, True]
