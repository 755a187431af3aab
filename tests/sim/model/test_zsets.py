"""Sorted sets: scores as the server reads and writes them, ranges, options of ZADD."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.model.driver import Client


@pytest.mark.parametrize(
    ("score", "written"),
    [
        ("1", b"1"),
        ("1.0", b"1"),
        ("-0", b"0"),
        ("0.1", b"0.1"),
        ("1e-5", b"0.00001"),
        ("0.00001234", b"1.234e-5"),
        ("1e-7", b"1e-7"),
        ("1e17", b"100000000000000000"),
        ("1e20", b"1e+20"),
        ("-1e20", b"-1e+20"),
        ("1e300", b"1e+300"),
        ("5e-324", b"5e-324"),
        ("9007199254740993", b"9007199254740992"),
        ("9223372036854775807", b"9223372036854776000"),
        ("123456789012345678901234567890", b"1.2345678901234568e+29"),
        ("1712345678.123456", b"1712345678.123456"),
        ("inf", b"inf"),
        ("-Infinity", b"-inf"),
        (".5", b"0.5"),
        ("5.", b"5"),
    ],
)
def test_a_score_is_written_as_the_server_does(client: Client, score: str, written: bytes) -> None:
    assert client.do("ZADD", "z", score, "m") == 1
    assert client.do("ZSCORE z m") == written


@pytest.mark.parametrize("score", ["a", "nan", "1e400", "0x10", "1_0", "1 ", "", "1e"])
def test_what_is_no_score_is_refused(client: Client, score: str) -> None:
    assert client.do("ZADD", "z", score, "m") == "!value is not a valid float"


@pytest.mark.parametrize(
    ("command", "reply"),
    [
        ("ZRANGEBYSCORE z 1 2", [b"b", b"c"]),
        ("ZRANGEBYSCORE z (1 +inf", [b"c", b"d"]),
        ("ZRANGEBYSCORE z -inf (2", [b"a", b"b"]),
        ("ZRANGEBYSCORE z -inf +inf WITHSCORES LIMIT 1 2", [b"b", b"1", b"c", b"2"]),
        ("ZRANGEBYSCORE z -inf +inf LIMIT 1 -1", [b"b", b"c", b"d"]),
        ("ZRANGEBYSCORE z -inf +inf LIMIT -1 1", []),
        ("ZREVRANGEBYSCORE z 2 0", [b"c", b"b", b"a"]),
        ("ZRANGE z 2 0 BYSCORE REV", [b"c", b"b", b"a"]),
        ("ZRANGE z 0 -2", [b"a", b"b", b"c"]),
        ("ZRANGE z 0 0 REV WITHSCORES", [b"d", b"2.5"]),
        ("ZREVRANGE z 1 2", [b"c", b"b"]),
        ("ZCOUNT z (0 2", 2),
        ("ZRANGEBYSCORE z a 1", "!min or max is not a float"),
        ("ZRANGEBYSCORE z 1", "!wrong number of arguments for 'zrangebyscore' command"),
        (
            "ZRANGE z 0 1 LIMIT 0 1",
            "!syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
        ),
    ],
)
def test_ranges(client: Client, command: str, reply: Any) -> None:
    client.do("ZADD z 0 a 1 b 2 c 2.5 d")
    assert client.do(command) == reply


def test_equal_scores_stand_in_the_order_of_their_members(client: Client) -> None:
    client.do("ZADD z 1 b 1 a 0 c")
    assert client.do("ZRANGE z 0 -1") == [b"c", b"a", b"b"]
    assert client.do("ZRANK z b") == 2
    assert client.do("ZREVRANK z b WITHSCORE") == [0, b"1"]


def test_the_options_of_zadd(client: Client) -> None:
    assert client.do("ZADD z 1 a 2 b") == 2
    assert client.do("ZADD z NX 9 a 3 c") == 1
    assert client.do("ZADD z XX CH 5 a 7 d") == 1
    assert client.do("ZADD z GT CH 4 a 9 b") == 1
    assert client.do("ZADD z INCR 1 a") == b"6"
    assert client.do("ZADD z NX INCR 1 a") is None
    assert client.do("ZADD z NX GT 1 a") == (
        "!GT, LT, and/or NX options at the same time are not compatible"
    )
    assert client.do("ZRANGE z 0 -1 WITHSCORES") == [b"c", b"3", b"a", b"6", b"b", b"9"]
    client.do("ZADD z inf a")
    assert client.do("ZINCRBY z -inf a") == "!resulting score is not a number (NaN)"


def test_an_empty_set_is_no_key(client: Client) -> None:
    client.do("ZADD z 1 a 2 b 3 c")
    assert client.do("ZREM z a x") == 1
    assert client.do("ZPOPMAX z") == [b"c", b"3"]
    assert client.do("ZREMRANGEBYSCORE z 0 (3") == 1
    assert client.do("EXISTS z") == 0
    assert client.do("ZADD z XX 1 a") == 0
    assert client.do("EXISTS z") == 0


def test_moving_a_member_moves_it_in_the_order(client: Client) -> None:
    client.do("ZADD z 1 a 2 b")
    client.do("ZADD z 3 a")
    assert client.do("ZRANGE z 0 -1") == [b"b", b"a"]
    assert client.do("ZCARD z") == 2
    assert client.do("ZMSCORE z a b c") == [b"3", b"2", None]
