"""MULTI, EXEC, WATCH: what runs, what is discarded, what the errors say."""

from __future__ import annotations

from tests.sim.model.driver import Client, Driver

DISCARDED = "!Transaction discarded because of previous errors."


def test_a_transaction_runs_as_one_and_an_error_stops_only_itself(client: Client) -> None:
    assert client.do("MULTI") == b"OK"
    assert client.do("SET k v") == b"QUEUED"
    assert client.do("LPUSH k a") == b"QUEUED"
    assert client.do("GET k") == b"QUEUED"
    assert client.do("EXEC") == [
        b"OK", "!WRONGTYPE Operation against a key holding the wrong kind of value", b"v",
    ]  # fmt: skip


def test_a_refused_command_discards_the_transaction(client: Client) -> None:
    client.do("MULTI")
    client.do("SET k v")
    assert client.do("GET") == "!wrong number of arguments for 'get' command"
    assert client.do("EXEC") == DISCARDED
    assert client.do("EXEC") == "!EXEC without MULTI"
    assert client.do("EXISTS k") == 0


def test_multi_and_watch_inside_a_transaction_are_refused(client: Client) -> None:
    client.do("MULTI")
    assert client.do("WATCH k") == "!Command 'watch' not allowed inside a transaction"
    assert client.do("EXEC") == DISCARDED
    client.do("MULTI")
    assert client.do("MULTI") == "!Command 'multi' not allowed inside a transaction"
    assert client.do("DISCARD") == b"OK"
    assert client.do("DISCARD") == "!DISCARD without MULTI"


def test_a_watched_key_that_changed_stops_the_transaction(driver: Driver) -> None:
    careful, other = driver.client(), driver.client()
    careful.do("WATCH k")
    other.do("SET k v")
    careful.do("MULTI")
    careful.do("SET k w")
    assert careful.do("EXEC") is None
    assert other.do("GET k") == b"v"
    careful.do("MULTI")
    assert careful.do("EXEC") == []  # nothing is watched any more


def test_a_value_whose_time_has_passed_changes_a_watched_key_only_where_one_was(
    driver: Driver,
) -> None:
    careful, other = driver.client(), driver.client()
    for before, answer in (("DEL k", []), ("SET k v", None)):
        other.do(before)
        careful.do("WATCH k")
        careful.do("MULTI")
        assert other.do("SET k w EXAT 1") == b"OK"
        assert careful.do("EXEC") == answer
        assert other.do("EXISTS k") == 0


def test_a_watched_key_that_ended_stops_the_transaction(driver: Driver) -> None:
    client = driver.client()
    client.do("SET k v PX 5")
    client.do("WATCH k")
    client.do("MULTI")
    driver.pass_ms(10)
    client.do("PING")
    assert client.do("EXEC") is None


def test_a_watched_key_that_ended_counts_whoever_saw_it_first(driver: Driver) -> None:
    client, other = driver.client(), driver.client()
    client.do("SET k v PX 5")
    client.do("WATCH k")
    driver.pass_ms(10)
    assert other.do("GET k") is None
    client.do("MULTI")
    assert client.do("EXEC") is None


def test_a_change_that_changes_nothing_does_not_count(driver: Driver) -> None:
    careful, other = driver.client(), driver.client()
    careful.do("WATCH k l")
    other.do("DEL k")
    other.do("LREM l 0 a")
    other.do("RPUSH m a b")
    careful.do("WATCH m")
    other.do("LTRIM m 0 9")
    careful.do("MULTI")
    assert careful.do("EXEC") == []


def test_unwatch_and_reset_forget_what_was_watched(driver: Driver) -> None:
    careful, other = driver.client(), driver.client()
    for forget in ("UNWATCH", "RESET"):
        careful.do("WATCH k")
        other.do("SET k v")
        careful.do(forget)
        careful.do("MULTI")
        assert careful.do("EXEC") == []


def test_flushing_counts_for_keys_that_were_there(driver: Driver) -> None:
    careful, other = driver.client(), driver.client()
    other.do("SET k v")
    careful.do("WATCH k")
    other.do("FLUSHALL")
    careful.do("MULTI")
    assert careful.do("EXEC") is None


def test_exec_with_arguments_discards_what_was_queued(client: Client) -> None:
    client.do("MULTI")
    assert client.do("EXEC a") == (
        "!Transaction discarded because of: wrong number of arguments for 'exec' command"
    )
    assert client.do("EXEC") == "!EXEC without MULTI"
