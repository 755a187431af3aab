"""Lists, and clients that block on them: who gets what, in which order, and when they give up."""

from __future__ import annotations

import pytest

from tests.sim.model.driver import Client, Driver


def test_pushes_stand_in_the_order_of_the_ends(client: Client) -> None:
    assert client.do("RPUSH l a b") == 2
    assert client.do("LPUSH l c d") == 4
    assert client.do("LRANGE l 0 -1") == [b"d", b"c", b"a", b"b"]
    assert client.do("LPUSHX other x") == 0


@pytest.mark.parametrize(
    ("command", "removed", "left"),
    [
        ("LREM l 0 a", 3, [b"b", b"c"]),
        ("LREM l 1 a", 1, [b"b", b"a", b"c", b"a"]),
        ("LREM l 2 a", 2, [b"b", b"c", b"a"]),
        ("LREM l -1 a", 1, [b"a", b"b", b"a", b"c"]),
        ("LREM l -2 a", 2, [b"a", b"b", b"c"]),
        ("LREM l 9 a", 3, [b"b", b"c"]),
        ("LREM l 0 x", 0, [b"a", b"b", b"a", b"c", b"a"]),
    ],
)
def test_lrem_counts_from_the_end_that_its_sign_says(
    client: Client, command: str, removed: int, left: list[bytes]
) -> None:
    client.do("RPUSH l a b a c a")
    assert client.do(command) == removed
    assert client.do("LRANGE l 0 -1") == left


def test_an_empty_list_is_no_key(client: Client) -> None:
    client.do("RPUSH l a")
    client.do("LREM l 0 a")
    assert client.do("EXISTS l") == 0
    assert client.do("TYPE l") == b"none"


@pytest.mark.parametrize(
    ("start", "stop", "items"),
    [
        ("0", "-1", [b"a", b"b", b"c"]),
        ("1", "1", [b"b"]),
        ("-2", "-1", [b"b", b"c"]),
        ("2", "1", []),
        ("-9", "9", [b"a", b"b", b"c"]),
        ("5", "9", []),
        ("0", "-9", []),
    ],
)
def test_ranges_count_from_either_end(
    client: Client, start: str, stop: str, items: list[bytes]
) -> None:
    client.do("RPUSH l a b c")
    assert client.do("LRANGE", "l", start, stop) == items


def test_pops_with_and_without_a_count(client: Client) -> None:
    client.do("RPUSH l a b c")
    assert client.do("LPOP l") == b"a"
    assert client.do("RPOP l 5") == [b"c", b"b"]
    assert client.do("LPOP l") is None
    assert client.do("LPOP l 1") is None
    assert client.do("LPOP l -1") == "!value is out of range, must be positive"


def test_lpos_lset_linsert_ltrim_lindex(client: Client) -> None:
    client.do("RPUSH l a b a")
    assert client.do("LPOS l a RANK -1") == 2
    assert client.do("LPOS l a COUNT 0") == [0, 2]
    assert client.do("LSET l 9 x") == "!index out of range"
    assert client.do("LINSERT l BEFORE b x") == 4
    assert client.do("LTRIM l 1 2") == b"OK"
    assert client.do("LRANGE l 0 -1") == [b"x", b"b"]
    assert client.do("LINDEX l -1") == b"b"


def test_a_move_to_a_wrong_type_moves_nothing(client: Client) -> None:
    client.do("RPUSH l a")
    client.do("SET s v")
    assert client.do("LMOVE l s LEFT RIGHT").startswith("!WRONGTYPE")
    assert client.do("LRANGE l 0 -1") == [b"a"]
    assert client.do("LMOVE l l LEFT RIGHT") == b"a"


# --- blocking -------------------------------------------------------------------------------------


def test_a_blocked_client_gets_what_is_pushed_and_the_push_says_one(driver: Driver) -> None:
    waiting, pushing = driver.client(), driver.client()
    waiting.send("BLMOVE queued active 0 LEFT RIGHT")
    assert waiting.take() == ["!syntax error"]
    waiting.send("BLMOVE queued active LEFT RIGHT 0")
    assert waiting.is_blocked
    assert pushing.do("RPUSH queued job") == 1
    assert waiting.take() == [b"job"]
    assert pushing.do("LRANGE active 0 -1") == [b"job"]
    assert pushing.do("EXISTS queued") == 0


def test_clients_are_served_in_the_order_in_which_they_blocked(driver: Driver) -> None:
    first, second, third, pushing = (driver.client() for _ in range(4))
    second.send("BLPOP l 0")
    first.send("BLPOP l 0")
    third.send("BLPOP l 0")
    pushing.do("RPUSH l a b")
    assert (second.take(), first.take(), third.take()) == ([[b"l", b"a"]], [[b"l", b"b"]], [])


def test_a_transaction_is_through_before_anybody_is_served(driver: Driver) -> None:
    waiting, busy = driver.client(), driver.client()
    waiting.send("BRPOP l 0")
    busy.do("MULTI")
    for command in ("RPUSH l a", "RPUSH l b", "LPOP l"):
        assert busy.do(command) == b"QUEUED"
    assert busy.do("EXEC") == [1, 2, b"a"]
    assert waiting.take() == [[b"l", b"b"]]


def test_a_list_that_is_gone_again_serves_nobody(driver: Driver) -> None:
    waiting, busy = driver.client(), driver.client()
    waiting.send("BLPOP l 0")
    script = "redis.call('RPUSH', 'l', 'a') return redis.call('LPOP', 'l')"
    assert busy.do("EVAL", script, "0") == b"a"
    assert waiting.is_blocked
    busy.do("RPUSH l b")
    assert waiting.take() == [[b"l", b"b"]]


def test_a_client_on_several_keys_gets_the_first_of_its_own_order(driver: Driver) -> None:
    waiting, busy = driver.client(), driver.client()
    waiting.send("BLPOP first second 0")
    busy.do("EVAL", "redis.call('RPUSH', 'second', 'b') redis.call('RPUSH', 'first', 'a')", "0")
    assert waiting.take() == [[b"first", b"a"]]
    assert busy.do("LRANGE second 0 -1") == [b"b"]


def test_what_a_served_client_moves_serves_the_next_one(driver: Driver) -> None:
    last, middle, pushing = (driver.client() for _ in range(3))
    last.send("BLPOP b 0")
    middle.send("BLMOVE a b LEFT RIGHT 0")
    pushing.do("RPUSH a job")
    assert (middle.take(), last.take()) == ([b"job"], [[b"b", b"job"]])


def test_a_served_move_to_a_wrong_type_fails_and_the_next_client_is_served(driver: Driver) -> None:
    unlucky, lucky, pushing = (driver.client() for _ in range(3))
    pushing.do("SET s v")
    unlucky.send("BLMOVE l s LEFT RIGHT 0")
    lucky.send("BLPOP l 0")
    pushing.do("RPUSH l a")
    assert unlucky.take() == ["!WRONGTYPE Operation against a key holding the wrong kind of value"]
    assert lucky.take() == [[b"l", b"a"]]


def test_a_client_gives_up_at_its_deadline_and_not_before(driver: Driver) -> None:
    client = driver.client()
    driver.now_us = 500
    client.send("BLPOP l 0.1")
    assert driver.model.next_deadline_us() == 100_000  # of the millisecond in which it began
    driver.now_us = 99_999
    driver.model.advance()
    assert client.take() == []
    driver.now_us = 100_000
    driver.model.advance()
    assert client.take() == [None]
    assert driver.model.next_deadline_us() is None


def test_deadlines_pass_in_order_whoever_blocked_first(driver: Driver) -> None:
    slow, quick = driver.client(), driver.client()
    slow.send("BLMOVE a b LEFT RIGHT 0.2")
    quick.send("BRPOPLPUSH a b 0.1")
    assert driver.model.next_deadline_us() == 100_000
    driver.pass_ms(150)
    assert (quick.take(), slow.take()) == ([None], [])
    assert driver.model.next_deadline_us() == 200_000


def test_a_client_that_left_gets_nothing(driver: Driver) -> None:
    gone, next_one, pushing = (driver.client() for _ in range(3))
    gone.send("BLPOP l 0.5")
    next_one.send("BLPOP l 0")
    gone.leave()
    assert driver.model.next_deadline_us() is None
    pushing.do("RPUSH l a")
    assert (gone.take(), next_one.take()) == ([], [[b"l", b"a"]])


def test_what_a_blocked_client_sends_waits_until_it_is_free(driver: Driver) -> None:
    client, pushing = driver.client(), driver.client()
    client.send("BLPOP l 0")
    client.send("SET k v")
    assert pushing.do("EXISTS k") == 0
    pushing.do("RPUSH l a")
    assert client.take() == [[b"l", b"a"], b"OK"]
    assert pushing.do("EXISTS k") == 1


def test_nobody_blocks_in_a_transaction_or_script(client: Client) -> None:
    client.do("MULTI")
    client.do("BLPOP l 0")
    assert client.do("EXEC") == [None]
    assert (
        client.do("EVAL", "return redis.call('BLMOVE', 'a', 'b', 'LEFT', 'LEFT', 0)", "0") is None
    )


@pytest.mark.parametrize(
    ("timeout", "error"),
    [
        ("a", "!timeout is not a float or out of range"),
        ("-1", "!timeout is negative"),
        ("inf", "!timeout is out of range"),
    ],
)
def test_a_wrong_timeout_is_refused(client: Client, timeout: str, error: str) -> None:
    assert client.do("BLPOP", "l", timeout) == error
