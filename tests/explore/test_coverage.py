"""Interleavings: which pairs of attempt states met, told by literal histories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chaos import event as e
from chaos.explore.coverage import POSSIBLE, STATES, met_in

ONE, TWO = "v/worker-1.1", "v/worker-2.1"


def began(attempt: str, job: str = "k") -> e.Event:
    return e.AttemptBegan(host=attempt.partition("#")[0], job=job, attempt=attempt)


def of(kind: Callable[..., e.Event], attempt: str, job: str = "k", **fields: Any) -> e.Event:
    return kind(host=attempt.partition("#")[0], job=job, attempt=attempt, **fields)


def test_there_are_six_states_and_so_many_pairs_on_one_worker_and_on_two() -> None:
    assert len(STATES) == 6
    assert POSSIBLE == 72


def test_one_attempt_alone_meets_nobody() -> None:
    alone = f"{ONE}#1"
    history = [
        began(alone), of(e.SlotSet, alone), of(e.BodyBegan, alone), of(e.BodyEnded, alone),
        of(e.ProcessEnded, alone),
    ]  # fmt: skip
    assert met_in(history) == ()


def test_attempts_of_two_keys_meet_nobody() -> None:
    assert met_in([began(f"{ONE}#1", "k"), began(f"{ONE}#2", "other")]) == ()


def test_a_successor_meets_its_predecessor_in_every_state_that_either_enters() -> None:
    first, second = f"{ONE}#1", f"{ONE}#2"
    history = [
        began(first), of(e.SlotSet, first), of(e.BodyBegan, first),
        began(second), of(e.SlotSet, second), of(e.BodyBegan, second),
        of(e.BodyEnded, first),
        of(e.CallInvoked, first, op="finish", call=1),
        of(e.ProcessEnded, first),
        of(e.BodyEnded, second),
    ]  # fmt: skip
    assert met_in(history) == (
        "finishing+running same",
        "running+dequeued same",
        "running+registered same",
        "running+running same",
    )


def test_a_body_that_outlives_its_process_is_winding_down() -> None:
    first, second = f"{ONE}#1", f"{TWO}#1"
    history = [
        began(first), of(e.BodyBegan, first), of(e.BodyCancelled, first),
        began(second),
        of(e.ProcessEnded, first),
        of(e.BodyEnded, first),
        of(e.BodyBegan, second),
    ]  # fmt: skip
    assert met_in(history) == ("cancelled+dequeued other", "winding-down+dequeued other")


def test_attempts_of_a_host_that_is_gone_meet_nobody_any_more() -> None:
    history = [began(f"{ONE}#1"), e.HostExited(target=ONE, code=-9), began(f"{TWO}#1")]
    assert met_in(history) == ()
