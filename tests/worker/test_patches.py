"""The three repairs on unmodified saq wheels: what each cures, what it leaves open, what it keeps.

Two attempts of one key run in one worker, A first. Each scenario (`scenarios/patches.py`) is an
interleaving of the two written down; the tests hold its outcome for every patch and version.
"""

from __future__ import annotations

import pytest

from tests.worker.conftest import Scenarios

SINGLE_SLOT_263 = ("stock@0.26.3", "by-key@0.26.3")
BY_ID = ("by-id@0.26.3", "by-id@0.26.4")
LIKE_264 = (
    "guarded@0.26.3",
    "stock@0.26.4",
    "by-key@0.26.4",
    "guarded@0.26.4",
)
ALL = (*SINGLE_SLOT_263, *BY_ID, *LIKE_264)

on_all = pytest.mark.parametrize("variant", ALL)
on_single_slot_263 = pytest.mark.parametrize("variant", SINGLE_SLOT_263)
on_by_id = pytest.mark.parametrize("variant", BY_ID)
on_like_264 = pytest.mark.parametrize("variant", LIKE_264)
on_repaired = pytest.mark.parametrize("variant", [*BY_ID, *LIKE_264])


# --- the seed bug ---------------------------------------------------------------------------------


@on_single_slot_263
def test_with_one_slot_a_key_the_second_attempt_dies_of_a_key_error(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["overwritten_then_first_ends"] == {
        "errors": ["KeyError"],
        "slots while B runs": 0,
        "held after": 0,
        "status": "queued",
    }


@on_repaired
def test_an_overwritten_attempt_that_ends_first_leaves_the_others_slot(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["overwritten_then_first_ends"] == {
        "errors": [],
        "slots while B runs": 1,
        "held after": 0,
        "status": "complete",
    }


@on_single_slot_263
def test_with_one_slot_a_key_the_first_attempt_dies_if_the_second_ends_first(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["overwritten_then_second_ends"] == {
        "errors": ["KeyError"],
        "slots while A runs": 0,
        "held after": 0,
    }


@on_like_264
def test_an_overwritten_attempt_is_left_without_a_slot_once_the_other_has_ended(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["overwritten_then_second_ends"] == {
        "errors": [],
        "slots while A runs": 0,
        "held after": 0,
    }


@on_by_id
def test_by_id_keeps_the_first_attempts_slot_when_the_second_ends_first(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["overwritten_then_second_ends"] == {
        "errors": [],
        "slots while A runs": 1,
        "held after": 0,
    }


# --- what abort() reaches -------------------------------------------------------------------------


@on_by_id
def test_by_id_aborts_every_attempt_with_one_read_and_one_finish_a_key(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["abort_of_two"] == {
        "cancels": [1, 1],
        "reads": [["k"]],
        "finish_abort": ["k"],
        "marks left": [],
        "errors": [],
        "held after": 0,
        "status": "aborted",
    }


@on_like_264
def test_an_overwritten_attempt_is_out_of_reach_of_abort(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["abort_of_two"] == {
        "cancels": [0, 1],
        "reads": [["k"]],
        "finish_abort": ["k"],
        "marks left": [],
        "errors": [],
        "held after": 0,
        "status": "complete",
    }


@pytest.mark.parametrize(
    ("variant", "cancels"),
    [
        ("stock@0.26.3", 0),
        ("by-key@0.26.3", 1),
        ("by-id@0.26.3", 1),
        ("guarded@0.26.3", 0),
        ("stock@0.26.4", 0),
        ("by-key@0.26.4", 1),
        ("by-id@0.26.4", 1),
        ("guarded@0.26.4", 0),
    ],
)
def test_a_slot_that_keeps_the_first_attempts_job_hides_the_second_from_the_poll(
    scenarios: Scenarios, variant: str, cancels: int
) -> None:
    found = scenarios("patches", variant)["abort_after_a_stale_attempt_retried"]
    assert found == {"cancels of B": cancels}


@on_all
def test_an_attempt_younger_than_the_threshold_is_not_aborted(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["abort_below_the_threshold"] == {"cancels": 0}


@on_all
def test_a_poll_leaves_a_job_alone_that_nobody_aborted(scenarios: Scenarios, variant: str) -> None:
    found = scenarios("patches", variant)["abort_of_nothing"]
    assert found == {"cancels": 0, "status": "complete"}


@on_all
def test_the_upkeep_of_a_started_worker_aborts_a_running_job(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["a_started_worker"] == {
        "outcome": "cancelled",
        "errors": [],
        "held after": 0,
    }


# --- an attempt that has no context of its own ----------------------------------------------------


@on_single_slot_263
def test_with_one_slot_a_key_a_failing_hook_of_the_second_cancels_the_first(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["second_fails_before_it_registers"] == {
        "cancels of A": 1,
        "slots while A runs": 0,
        "errors": ["ValueError"],
        "held after": 0,
    }


@on_repaired
def test_an_attempt_that_never_registered_touches_no_other(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["second_fails_before_it_registers"] == {
        "cancels of A": 0,
        "slots while A runs": 1,
        "errors": ["ValueError"],
        "held after": 0,
    }


@pytest.mark.parametrize("variant", ["stock@0.26.3", "by-key@0.26.3", "by-id@0.26.3"])
def test_0_26_3_asserts_that_a_cancelled_attempt_has_a_context(
    scenarios: Scenarios, variant: str
) -> None:
    found = scenarios("patches", variant)["cancelled_before_it_registers"]
    assert found == {"process": "AssertionError", "held after": 0}


@pytest.mark.parametrize("variant", [*LIKE_264, "by-id@0.26.4"])
def test_an_attempt_that_is_cancelled_before_it_registers_returns_false(
    scenarios: Scenarios, variant: str
) -> None:
    found = scenarios("patches", variant)["cancelled_before_it_registers"]
    assert found == {"process": False, "held after": 0}


# --- what every patch keeps -----------------------------------------------------------------------


@on_all
def test_a_cancelled_process_cancels_its_body_and_retries_the_job(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["cancelled_while_it_runs"] == {
        "process": True,
        "cancels": 1,
        "status": "queued",
        "held after": 0,
    }


@on_all
def test_a_job_past_its_timeout_is_cancelled_and_failed(scenarios: Scenarios, variant: str) -> None:
    assert scenarios("patches", variant)["timed_out"] == {
        "errors": ["TimeoutError"],
        "cancels": 1,
        "status": "failed",
        "held after": 0,
    }


@on_all
def test_an_idle_worker_holds_no_job_and_no_task(scenarios: Scenarios, variant: str) -> None:
    assert scenarios("patches", variant)["idle"] == {"alive": 0, "held after": 0}


@pytest.mark.parametrize("variant", [*SINGLE_SLOT_263, *LIKE_264])
def test_from_outside_one_slot_a_key_is_seen_with_the_newest_context(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["seen_from_outside"] == {
        "jobs": ["k"],
        "is a copy in it": True,
        "newest is the copy's": True,
        "contexts": 1,
        "after": "gone",
    }


@on_by_id
def test_from_outside_by_id_shows_both_attempts_and_finds_the_newest_for_a_copy(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant)["seen_from_outside"] == {
        "jobs": ["k", "k"],
        "is a copy in it": True,
        "newest is the copy's": True,
        "contexts": 2,
        "after": "gone",
    }


@pytest.mark.parametrize("variant", ["guarded@0.26.3", "guarded@0.26.4"])
def test_guarded_does_in_every_scenario_what_stock_0_26_4_does(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("patches", variant) == scenarios("patches", "stock@0.26.4")
