"""Random commands of connections: transactions, pub/sub, handshakes, and what nobody knows."""

from __future__ import annotations

from random import Random

from .data_commands import Made, exact
from .program import Args, Mode
from .vocabulary import CHANNELS, KEYS, MESSAGES, PATTERNS, some


def transaction(draw: Random) -> Made:
    """MULTI and what ends it; the commands between come from the other makers."""
    return exact(draw.choice((b"MULTI", b"MULTI", b"EXEC", b"EXEC", b"EXEC", b"DISCARD")))


def watch(draw: Random) -> Made:
    if draw.randrange(4) == 0:
        return exact(b"UNWATCH")
    return exact(b"WATCH", *some(draw, KEYS))


def subscribe(draw: Random) -> Made:
    if draw.randrange(2):
        return exact(b"SUBSCRIBE", *some(draw, CHANNELS, 2))
    return exact(b"PSUBSCRIBE", *some(draw, PATTERNS, 2))


def unsubscribe(draw: Random) -> Made:
    """Leave named ones; leaving all at once comes in an order of the server's own."""
    if draw.randrange(2):
        return exact(b"UNSUBSCRIBE", *some(draw, CHANNELS, 2))
    return exact(b"PUNSUBSCRIBE", *some(draw, PATTERNS, 2))


def publish(draw: Random) -> Made:
    return exact(b"PUBLISH", draw.choice(CHANNELS), draw.choice(MESSAGES))


def pubsub(draw: Random) -> Made:
    args: tuple[Args, ...] = (
        (b"CHANNELS",), (b"CHANNELS", draw.choice(PATTERNS)), (b"CHANNELS", b"a", b"b"),
        (b"NUMSUB",), (b"NUMSUB", *some(draw, CHANNELS)), (b"NUMPAT",), (b"NUMPAT", b"a"),
    )  # fmt: skip
    chosen = draw.choice(args)
    mode = Mode.UNORDERED if chosen[0] == b"CHANNELS" else Mode.EXACT
    return (b"PUBSUB", *chosen), mode, 0


def server(draw: Random) -> Made:
    """What redis-py sends by itself, right and wrong. A wrong AUTH makes it leave: none here."""
    commands: tuple[Args, ...] = (
        (b"PING",), (b"PING", b"hi"), (b"PING", b"a", b"b"), (b"ECHO", b"x"),
        (b"SELECT", b"0"), (b"SELECT", b"1"), (b"SELECT", b"16"), (b"SELECT", b"a"),
        (b"CLIENT", b"SETINFO", b"LIB-NAME", b"redis-py"),
        (b"CLIENT", b"SETINFO", b"lib-ver", b"1"),
        (b"CLIENT", b"SETINFO", b"odd", b"1"), (b"CLIENT", b"SETINFO", b"lib-name", b"a b"),
        (b"CLIENT", b"SETNAME", b"worker"), (b"CLIENT", b"SETNAME", b"a b"),
        (b"CLIENT", b"GETNAME"),
        (b"CLIENT", b"NO-EVICT", b"on"), (b"CLIENT", b"NO-TOUCH", b"odd"), (b"CLIENT",),
        (b"CLIENT", b"SETINFO"), (b"AUTH", b"default", b"x"), (b"HELLO", b"4"), (b"HELLO", b"a"),
        (b"HELLO", b"2", b"odd"),
        (b"RESET",), (b"FLUSHDB",), (b"FLUSHALL", b"SYNC"), (b"FLUSHALL", b"odd"),
        (b"DBSIZE", b"a"),
    )  # fmt: skip
    return exact(*draw.choice(commands))


def unknown(draw: Random) -> Made:
    """Commands that no server has, and known ones with too few or too many arguments."""
    commands: tuple[Args, ...] = (
        (b"NOSUCH",), (b"nosuch", b"a", b"b c"), (b"NOSUCH", b"x" * 200, b"y"), (b"GET",),
        (b"GET", b"a", b"b"), (b"SET", b"a"), (b"LPUSH", b"l1"), (b"BLPOP", b"l1"),
        (b"MULTI", b"a"),
        (b"CLIENT", b"NOSUCH"), (b"SCRIPT", b"NOSUCH"), (b"PUBSUB", b"nosuch", b"a"),
        (b"LPOP", b"l1", b"1", b"2"), (b"ZPOPMIN", b"z1", b"1", b"2"), (b"EXEC", b"a"),
        (b"ZRANK", b"z1", b"a", b"WITHSCORE", b"b"), (b"WATCH",), (b"DISCARD", b"a"),
    )  # fmt: skip
    return exact(*draw.choice(commands))
