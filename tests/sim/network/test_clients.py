"""What redis-py does when its connections are disturbed, on a real server and in the simulator.

One body, two arms: they must see the same, with each redis-py that a variant has.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.network.conftest import Scenarios

VERSIONS = {"stock@0.22.4": "5", "stock@0.26.3": "6", "stock@0.26.4": "7"}
RESET = (
    "ConnectionError: Error while reading from 127.0.0.1:PORT : (104, 'Connection reset by peer')"
)
RESET_WRITING = "ConnectionError: Error 104 while writing to socket. Connection reset by peer."
CLOSED = "ConnectionError: Connection closed by server."
REFUSED = (
    "ConnectionError: Error 111 connecting to 127.0.0.1:PORT. "
    "Connect call failed ('127.0.0.1', PORT)."
)
NO_MEMORY = "OutOfMemoryError: command not allowed when used memory > 'maxmemory'."

variants = pytest.mark.parametrize("variant", VERSIONS)


@pytest.fixture
def seen(scenarios: Scenarios, variant: str) -> Any:
    """What both arms saw, by the name of the body."""
    results = scenarios("clients", variant)
    assert results["redis_py"].split(".")[0] == VERSIONS[variant]
    return {name: arms["sim"] for name, arms in results["bodies"].items()}


@variants
def test_the_simulated_network_and_a_real_one_look_the_same_to_redis_py(
    scenarios: Scenarios, variant: str
) -> None:
    bodies = scenarios("clients", variant)["bodies"]
    assert len(bodies) == 20
    assert {name: arms["sim"] for name, arms in bodies.items()} == {
        name: arms["real"] for name, arms in bodies.items()
    }


@variants
def test_a_command_whose_reply_is_lost_has_run(seen: Any, variant: str) -> None:
    assert seen["lost_reply"] == [RESET, "1", 2]
    assert seen["lost_reply_of_a_transaction"] == [RESET, "2"]


@variants
def test_a_client_that_retries_runs_it_twice(seen: Any, variant: str) -> None:
    assert seen["lost_reply_with_retry_on_error"] == [2, "2"]
    once = VERSIONS[variant] == "5"  # redis-py 5 retries what `retry_on_error` names, and no more
    assert seen["lost_reply_with_retry"] == ([RESET, "1"] if once else [2, "2"])


@variants
def test_a_cut_is_an_error_and_the_next_command_connects_again(seen: Any, variant: str) -> None:
    assert seen["cut_while_reading"] == [RESET, 1, True]
    assert seen["cut_while_idle"] == [RESET_WRITING, "v"]
    assert seen["closed_while_reading"] == CLOSED
    assert seen["closed_while_idle"] == ["v", "v"]
    assert seen["refused"] == [REFUSED, True]


@variants
def test_a_cancelled_blmove_loses_no_later_push(seen: Any, variant: str) -> None:
    assert seen["cancelled_blmove"] == ["CancelledError", [1, 0], "job"]


@variants
def test_a_push_before_the_server_hears_of_it_goes_to_the_dead_connection(
    seen: Any, variant: str
) -> None:
    body = "cancelled_blmove_that_the_server_has_not_heard_of"
    assert seen[body] == [[0, 1], [0, 1], 0]


@variants
def test_a_reply_stays_in_the_stream_for_whoever_reads_next(seen: Any, variant: str) -> None:
    assert seen["cancelled_read_that_keeps_its_connection"] == ["of a", "of b"]
    assert seen["cancelled_command"] == "of b"
    assert seen["timeout_while_reading"] == [
        "TimeoutError: Timeout reading from 127.0.0.1:PORT", "of b",
    ]  # fmt: skip


@variants
def test_closing_wakes_a_pending_read(seen: Any, variant: str) -> None:
    assert seen["disconnected_while_reading"] == [CLOSED, False]
    assert seen["two_readers"] == ["RuntimeError", CLOSED]


@variants
def test_pubsub_subscribes_again_after_a_cut(seen: Any, variant: str) -> None:
    subscribed = [["subscribe", "1"], ["psubscribe", "2"]]
    messages = [["message", "b'hello'"], ["pmessage", "b'hello'"], "nothing"]
    assert seen["pubsub_after_a_cut"] == [
        *subscribed, "ConnectionError", *subscribed, "nothing", *messages,
    ]  # fmt: skip


@variants
def test_an_error_reply_breaks_a_transaction(seen: Any, variant: str) -> None:
    alone, together, read, after = seen["transaction_without_memory"]
    assert alone == NO_MEMORY
    assert together.startswith("OutOfMemoryError: Command # 2 (SET k 2) of pipeline caused error")
    assert (read, after) == ("1", True)


@variants
def test_a_script_is_loaded_again_after_a_flush(seen: Any, variant: str) -> None:
    assert seen["script_flush"] == [1, 2]
