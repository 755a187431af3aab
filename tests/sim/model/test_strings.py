"""Strings and expiry: literal commands and replies."""

from __future__ import annotations

import pytest

from tests.sim.model.driver import EPOCH_US, Client, Driver

WRONG_TYPE = "!WRONGTYPE Operation against a key holding the wrong kind of value"


def test_a_string_is_read_back_byte_for_byte(client: Client) -> None:
    assert client.do("SET", "k", b"\x00\r\n\xff") == b"OK"
    assert client.do("GET k") == b"\x00\r\n\xff"
    assert client.do("GET other") is None


def test_set_takes_the_time_of_a_key_away_unless_told_to_keep_it(client: Client) -> None:
    client.do("SET k v EX 100")
    assert client.do("SET k w KEEPTTL") == b"OK"
    assert client.do("TTL k") == 100
    client.do("SET k x")
    assert client.do("TTL k") == -1


def test_set_with_conditions(client: Client) -> None:
    assert client.do("SET k v XX") is None
    assert client.do("SET k v NX") == b"OK"
    assert client.do("SET k w NX") is None
    assert client.do("SET k w XX GET") == b"v"
    assert client.do("SET k x IFEQ v") is None
    assert client.do("SET k x IFEQ w") == b"OK"
    assert client.do("GET k") == b"x"


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("SET k v EX", "!syntax error"),
        ("SET k v NX XX", "!syntax error"),
        ("SET k v EX 1 PX 1", "!syntax error"),
        ("SET k v KEEPTTL EX 1", "!syntax error"),
        ("SET k v EX 1.5", "!value is not an integer or out of range"),
        ("SET k v EX 0", "!invalid expire time in 'set' command"),
        ("SETEX k 0 v", "!invalid expire time in 'setex' command"),
        ("PSETEX k 9223372036854775807 v", "!invalid expire time in 'psetex' command"),
        ("SETEX k 1.0 v", "!value is not an integer or out of range"),
        ("SET k", "!wrong number of arguments for 'set' command"),
        ("MSET a 1 b", "!wrong number of arguments for 'mset' command"),
    ],
)
def test_a_wrong_set_says_what_is_wrong(client: Client, command: str, error: str) -> None:
    assert client.do(command) == error
    assert client.do("EXISTS k") == 0


def test_a_string_command_on_a_list_is_refused_and_mget_gives_nil(client: Client) -> None:
    client.do("RPUSH l a")
    assert client.do("GET l") == WRONG_TYPE
    assert client.do("INCR l") == WRONG_TYPE
    assert client.do("MGET l nothing") == [None, None]


def test_counters(client: Client) -> None:
    assert client.do("INCR n") == 1
    assert client.do("INCRBY n 9223372036854775806") == 9223372036854775807
    assert client.do("INCR n") == "!increment or decrement would overflow"
    assert client.do("DECRBY n -9223372036854775808") == "!decrement would overflow"
    client.do("SET n 01")
    assert client.do("INCR n") == "!value is not an integer or out of range"


def test_a_key_is_there_in_the_millisecond_of_its_end_and_gone_in_the_next(
    driver: Driver, client: Client
) -> None:
    client.do("SET k v PX 5")
    driver.now_us = 5_999
    assert client.do("PTTL k") == 0
    assert client.do("GET k") == b"v"
    driver.now_us = 6_000
    assert client.do("GET k") is None
    assert client.do("PTTL k") == -2


def test_an_expired_key_is_in_no_listing(driver: Driver, client: Client) -> None:
    client.do("SET a v PX 5")
    client.do("SET b v")
    driver.pass_ms(10)
    assert client.do("DBSIZE") == 1
    assert client.do("KEYS *") == [b"b"]
    assert client.do("SCAN 0") == [b"0", [b"b"]]
    assert client.do("SET a w NX") == b"OK"


def test_seconds_left_are_rounded(driver: Driver, client: Client) -> None:
    client.do("SET k v PX 1600")
    assert (client.do("TTL k"), client.do("PTTL k")) == (2, 1600)
    driver.pass_ms(200)
    assert client.do("TTL k") == 1


def test_expire_with_conditions(client: Client) -> None:
    client.do("SET k v")
    assert client.do("EXPIRE k 10 GT") == 0  # without a time it never ends: nothing is later
    assert client.do("EXPIRE k 10 LT") == 1
    assert client.do("EXPIRE k 10 NX") == 0
    assert client.do("EXPIRE k 20 GT") == 1
    assert client.do("EXPIRE k 20 NX XX") == (
        "!NX and XX, GT or LT options at the same time are not compatible"
    )
    assert client.do("PERSIST k") == 1
    assert client.do("PERSIST k") == 0


def test_a_time_that_has_passed_takes_the_key_away_at_once(client: Client) -> None:
    client.do("SET k v")
    assert client.do("EXPIRE k 0") == 1
    assert client.do("EXISTS k") == 0
    assert client.do("SET k v EXAT 1") == b"OK"
    assert client.do("EXISTS k") == 0


def test_wall_clock_is_the_epoch_of_the_model_and_its_time(driver: Driver, client: Client) -> None:
    driver.now_us = 1_234_567
    assert client.do("TIME") == [b"1700000001", b"234567"]
    client.do("SET k v EX 10")
    assert client.do("PEXPIRETIME k") == (EPOCH_US + 11_234_000) // 1_000


def test_keys_that_nobody_looks_at_do_not_pile_up(driver: Driver, client: Client) -> None:
    for number in range(20_000):
        client.do("SETEX", f"k{number}", "1", "v")
        driver.now_us += 10_000
    assert len(driver.model.keyspaces[0].values) < 2_000


def test_getex_and_getdel(client: Client) -> None:
    client.do("SET k v EX 10")
    assert client.do("GETEX k PERSIST") == b"v"
    assert client.do("TTL k") == -1
    assert client.do("GETDEL k") == b"v"
    assert client.do("GETDEL k") is None


def test_rename_takes_the_time_along(client: Client) -> None:
    client.do("SET a v EX 10")
    client.do("SET b w")
    assert client.do("RENAME a b") == b"OK"
    assert (client.do("GET b"), client.do("TTL b")) == (b"v", 10)
    assert client.do("RENAME a b") == "!no such key"
    assert client.do("TYPE b") == b"string"


def test_a_scan_sees_every_key_that_stays_whatever_comes_and_goes(client: Client) -> None:
    for number in range(100):
        client.do("SET", f"stays:{number}", "v")
        client.do("SET", f"goes:{number}", "v")
    cursor, found, rounds = b"0", list[bytes](), 0
    while rounds < 1_000 and (cursor != b"0" or not rounds):
        cursor, keys = client.do("SCAN", cursor, "MATCH", "stays:*", "COUNT", "7")
        found += keys
        client.do("DEL", f"goes:{rounds}")
        client.do("SET", f"comes:{rounds}", "v")
        rounds += 1
    assert sorted(set(found)) == sorted(b"stays:%d" % number for number in range(100))
    assert rounds > 10
    assert client.do("SCAN x") == "!invalid cursor"
    assert client.do("SCAN 0 COUNT 0") == "!syntax error"
