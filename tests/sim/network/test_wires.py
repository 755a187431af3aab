"""What the simulated network does by itself: hops, order, cuts, pauses, crashes, rules.

A latency is 300 µs unless the tape says otherwise; so connecting takes 600 µs, and a command too.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.network.conftest import Scenarios

RESET = "ConnectionResetError"
READ_ONLY = "You can't write against a read only replica."


@pytest.fixture
def seen(scenarios: Scenarios) -> Any:
    """What the bodies saw, by name."""
    return scenarios("wires", "stock@0.26.4")


def test_a_command_takes_two_hops_whose_latencies_are_the_tapes(seen: Any) -> None:
    assert seen["hops"] == [600, "PONG", 1_200, "worker-1.1/c1"]
    assert seen["hops_slow"] == [600, "PONG", 600 + 7_000 + 9_000, "worker-1.1/c1"]


def test_messages_of_a_connection_keep_their_order(seen: Any) -> None:
    at_us = 600 + 7_000 + 300
    assert seen["order"] == [[[1, at_us], [2, at_us], [3, at_us]], ["1", "2", "3"]]


def test_what_is_written_in_one_piece_is_answered_in_one_piece(seen: Any) -> None:
    assert seen["together"] == [["OK", 1_200], [2, 1_200], ["2", 1_200]]


def test_blocked_commands_time_out_and_are_served_in_order(seen: Any) -> None:
    assert seen["blocked_in_time"] == [None, 500_300]
    assert seen["blocked_by_two"] == [1, ["list", "job"], 0]


def test_a_cut_loses_what_is_under_way(seen: Any) -> None:
    assert seen["cut_under_way"] == [1, RESET, None, RESET, "1"]


def test_the_server_hears_of_a_cut_after_a_hop_of_its_own(seen: Any) -> None:
    assert seen["server_hears_later"] == [1, ["job"], RESET]
    assert seen["server_hears_first"] == [1, [], RESET]


def test_nothing_overtakes_a_close_of_the_same_host(seen: Any) -> None:
    assert seen["closed_before"] == [1, 5_000 + 300, []]


def test_a_crashed_host_sends_what_it_had_written_and_blocks_nobody(seen: Any) -> None:
    assert seen["crashed_host"] == ["sent", 1, 1, 1]


def test_a_paused_server_accepts_connections_and_answers_later(seen: Any) -> None:
    assert seen["paused_server"] == [1, 300, "1"]


def test_a_stopped_server_closes_its_connections_and_refuses_new_ones(seen: Any) -> None:
    assert seen["stopped_server"] == [[1, "closed", True], "ConnectionRefusedError", "1"]


def test_latency_is_added_each_way_while_the_rule_stands(seen: Any) -> None:
    assert seen["latency_rule"] == [5_000 + 5_000 + 600, 600]


def test_a_cut_command_is_lost_with_what_follows_it_not_with_what_came_before(seen: Any) -> None:
    assert seen["cut_rule"] == [RESET, 1]


def test_a_lost_reply_is_of_a_command_of_these_hosts_and_no_push(seen: Any) -> None:
    assert seen["lost_reply_rule"] == [RESET, 2, ["message", "news", "hello"], RESET]


def test_an_error_reply_stands_in_for_the_command_and_breaks_a_transaction(seen: Any) -> None:
    assert seen["error_rule"] == [
        READ_ONLY, None, "OK", READ_ONLY, "Transaction discarded because of previous errors.", "OK",
    ]  # fmt: skip


def test_a_partition_holds_everything_and_gives_it_back_in_order(seen: Any) -> None:
    assert seen["silent_rule"] == [False, 1, 2, "connected", True]


def test_the_same_seed_loses_the_same_replies_and_its_tape_alone_does_too(seen: Any) -> None:
    assert seen["repeated"] == {
        "same": True,
        "other": False,
        "fixed": True,
        "lost": 2,
        "names": ["client", "extra", "happens", "reply", "request"],
    }
