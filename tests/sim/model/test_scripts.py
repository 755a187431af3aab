"""Scripts: what goes into Lua, what comes out, and the words of their errors."""

from __future__ import annotations

from typing import Any

import pytest

from chaos.errors import NotModelled
from tests.sim.model.driver import Client, Driver

WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
NO_GLOBAL = "Script attempted to access nonexistent global variable"
DIGEST = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        ("return 'a'", b"a"),
        ("return 3.99", 3),
        ("return -3.99", -3),
        ("return true", 1),
        ("return false", None),
        ("return nil", None),
        ("return 2^53", 9007199254740992),
        ("return 1e30", -9223372036854775808),
        ("return {1, 2.5, nil, 4}", [1, 2]),
        ("return {1, false, 'a', {}}", [1, None, b"a", []]),
        ("return {ok = 'FINE'}", b"FINE"),
        ("return {err = 'ODD thing'}", "!ODD thing"),
        ("return redis.error_reply('bad')", "!bad"),
        ("return {redis.error_reply('My bad'), 1}", ["!My bad", 1]),
        ("return {KEYS[1], ARGV[1], ARGV[2], KEYS[2]}", [b"k", b"a", b"b"]),
        ("return redis.call('SET', KEYS[1], 1.5)", b"OK"),
        ("redis.call('SET', 'n', 10 / 4) return redis.call('GET', 'n')", b"2.5"),
        ("redis.call('SET', 'n', 1e20) return redis.call('GET', 'n')", b"1e+20"),
        ("return redis.call('GET', 'nothing') == false", 1),
        ("return type(redis.call('PING').ok)", b"string"),
        ("return redis.sha1hex('x')", b"11f6ad8ec52a2984abaafd7c3b516503785c2072"),
        ("return redis.pcall('GET').err", b"ERR Wrong number of args calling command from script"),
    ],
)
def test_values_go_in_and_out(client: Client, body: str, reply: Any) -> None:
    assert client.do("EVAL", body, "1", "k", "a", "b") == reply


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("redis.call('SET', 'k', 1) return redis.call('LPUSH', 'k', 'a')",
         f"{WRONG_TYPE} script: on @user_script:1."),
        ("\n\nerror('odd')", "user_script:3: odd script: on @user_script:3."),
        ("return redis.call('GET')",
         "Wrong number of args calling command from script script: on @user_script:1."),
        ("return redis.call('MULTI')",
         "This Valkey command is not allowed from script script: on @user_script:1."),
        ("return nothing",
         f"user_script:1: {NO_GLOBAL} 'nothing' script: on @user_script:1."),
        ("nothing = 1",
         "user_script:1: Attempt to modify a readonly table script: on @user_script:1."),
    ],
)  # fmt: skip
def test_an_error_names_its_line(client: Client, body: str, error: str) -> None:
    assert client.do("EVAL", body, "0") == f"!{error}"


def test_what_a_failed_script_wrote_stays(client: Client) -> None:
    client.do("EVAL", "redis.call('SET', 'k', 'v') error('odd')", "0")
    assert client.do("GET k") == b"v"


def test_a_script_is_known_by_its_digest_until_it_is_flushed(driver: Driver) -> None:
    client = driver.client()
    assert client.do("EVALSHA", DIGEST, "0").startswith("!No matching script")
    assert client.do("SCRIPT", "LOAD", "return 1") == DIGEST.encode()
    assert client.do("EVALSHA", DIGEST.upper(), "0") == 1
    assert client.do("SCRIPT", "EXISTS", DIGEST, "odd") == [1, 0]
    driver.model.script_flush()
    assert client.do("SCRIPT", "EXISTS", DIGEST) == [0]
    assert client.do("EVAL", "return 1", "0") == 1
    assert client.do("EVALSHA", DIGEST, "0") == 1


def test_a_script_selects_a_database_for_itself_alone(client: Client) -> None:
    client.do("EVAL", "redis.call('SELECT', 1) redis.call('SET', 'k', 'v')", "0")
    assert client.do("EXISTS k") == 0
    client.do("SELECT 1")
    assert client.do("GET k") == b"v"


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("return cjson.encode({})", "cjson for scripts"),
        ("return math.random()", "math.random for scripts"),
        ("return pcall(function() return cjson end)", "cjson for scripts"),
        ("return redis.call('HSET', 'h', 'a', 1)", "no HSET"),
        ("return redis.pcall('HSET', 'h', 'a', 1)", "no HSET"),
        ("#!lua\nreturn 1", "script with a #! line"),
    ],
)
def test_what_only_a_real_server_has_is_never_answered_wrongly(
    client: Client, body: str, named: str
) -> None:
    with pytest.raises(NotModelled, match=named):
        client.send("EVAL", body, "0")


def test_lists_longer_than_luas_stack_come_through(client: Client) -> None:
    client.do("EVAL", "for i = 1, 20000 do redis.call('RPUSH', 'l', i) end", "0")
    assert client.do("EVAL", "return #redis.call('LRANGE', 'l', 0, -1)", "0") == 20_000
    assert len(client.do("EVAL", "return redis.call('LRANGE', 'l', 0, -1)", "0")) == 20_000
