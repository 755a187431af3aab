"""Random commands on lists, those that block included, and on sorted sets."""

from __future__ import annotations

from random import Random

from .data_commands import Made, exact, short_ms
from .program import Args, Mode
from .vocabulary import (
    BOUNDS,
    COUNTS,
    INDEXES,
    ITEMS,
    LISTS,
    MEMBERS,
    SCORES,
    ZSETS,
    key,
    pick,
    some,
    spelled,
)

SIDES = (b"LEFT", b"RIGHT", b"left")
_NO_TIMEOUT = (b"a", b"-1", b"", b"inf", b"1e20", b"1.5.5", b"nan")
_PUSHES = (b"LPUSH", b"RPUSH", b"RPUSH", b"RPUSH", b"LPUSHX", b"RPUSHX")


def push(draw: Random) -> Made:
    return exact(spelled(draw, draw.choice(_PUSHES)), key(draw, LISTS), *some(draw, ITEMS, 6))


def pop(draw: Random) -> Made:
    args: Args = (draw.choice((b"LPOP", b"RPOP")), key(draw, LISTS))
    return exact(*args, *(() if draw.randrange(3) else (pick(draw, COUNTS),)))


def read_list(draw: Random) -> Made:
    name = draw.choice((b"LRANGE", b"LRANGE", b"LLEN", b"LINDEX"))
    places = {b"LRANGE": 2, b"LLEN": 0, b"LINDEX": 1}[name]
    return exact(name, key(draw, LISTS), *(pick(draw, INDEXES) for _ in range(places)))


def lpos(draw: Random) -> Made:
    args: Args = (b"LPOS", key(draw, LISTS), draw.choice(ITEMS))
    for _ in range(draw.randrange(3)):
        args += (draw.choice((b"RANK", b"COUNT", b"MAXLEN", b"ZZ")), pick(draw, COUNTS))
    return exact(*args, *(() if draw.randrange(12) else (b"RANK",)))


def change_list(draw: Random) -> Made:
    name = draw.choice((b"LREM", b"LREM", b"LREM", b"LSET", b"LTRIM", b"LINSERT"))
    target = key(draw, LISTS)
    if name == b"LREM":
        return exact(name, target, pick(draw, COUNTS), draw.choice(ITEMS))
    if name == b"LSET":
        return exact(name, target, pick(draw, INDEXES), draw.choice(ITEMS))
    if name == b"LTRIM":
        return exact(name, target, pick(draw, INDEXES), pick(draw, INDEXES))
    where = pick(draw, (b"BEFORE", b"AFTER", b"before"), (b"ZZ",))
    return exact(name, target, where, draw.choice(ITEMS), draw.choice(ITEMS))


def move(draw: Random) -> Made:
    source, target = key(draw, LISTS), key(draw, LISTS)
    if draw.randrange(2):
        return exact(b"RPOPLPUSH", source, target)
    return exact(b"LMOVE", source, target, pick(draw, SIDES, (b"ZZ",)), draw.choice(SIDES))


def block(draw: Random) -> Made:
    """A blocking command without a timeout that would matter."""
    return exact(*_blocking(draw, pick(draw, (b"0", b"0", b"100", b"0.0", b"5000.5"), _NO_TIMEOUT)))


def block_shortly(draw: Random) -> Made:
    """A blocking command that gives up at the next pause."""
    args = _blocking(draw, b"0.0" + short_ms(draw))
    return args, Mode.EXACT, len(args) - 1


def _blocking(draw: Random, timeout: bytes) -> Args:
    name = draw.choice((b"BLMOVE", b"BLMOVE", b"BLPOP", b"BRPOP", b"BRPOPLPUSH"))
    if name == b"BLMOVE":
        sides = (draw.choice(SIDES), draw.choice(SIDES))
        return spelled(draw, name), key(draw, LISTS), key(draw, LISTS), *sides, timeout
    if name == b"BRPOPLPUSH":
        return name, key(draw, LISTS), key(draw, LISTS), timeout
    return name, *(key(draw, LISTS) for _ in range(1 + draw.randrange(3))), timeout


def zadd(draw: Random) -> Made:
    args: Args = (spelled(draw, b"ZADD"), key(draw, ZSETS))
    if draw.randrange(2):
        args += some(draw, (b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR", b"CH", b"XX"), 2)
    for _ in range(1 + draw.choice((0, 0, 1, 2))):
        args += (pick(draw, SCORES), draw.choice(MEMBERS))
    return exact(*args, *(() if draw.randrange(24) else (b"1",)))


def change_zset(draw: Random) -> Made:
    name = draw.choice((b"ZREM", b"ZINCRBY", b"ZPOPMIN", b"ZPOPMAX", b"ZREMRANGEBYSCORE",
                        b"ZREMRANGEBYRANK"))  # fmt: skip
    target = key(draw, ZSETS)
    if name == b"ZREM":
        return exact(name, target, *some(draw, MEMBERS))
    if name == b"ZINCRBY":
        return exact(name, target, pick(draw, SCORES), draw.choice(MEMBERS))
    if name == b"ZREMRANGEBYSCORE":
        return exact(name, target, pick(draw, BOUNDS), pick(draw, BOUNDS))
    if name == b"ZREMRANGEBYRANK":
        return exact(name, target, pick(draw, INDEXES), pick(draw, INDEXES))
    return exact(name, target, *(() if draw.randrange(2) else (pick(draw, COUNTS),)))


def read_zset(draw: Random) -> Made:
    name = draw.choice((b"ZCARD", b"ZSCORE", b"ZMSCORE", b"ZRANK", b"ZREVRANK", b"ZCOUNT"))
    target = key(draw, ZSETS)
    if name == b"ZCARD":
        return exact(name, target)
    if name == b"ZCOUNT":
        return exact(name, target, pick(draw, BOUNDS), pick(draw, BOUNDS))
    if name == b"ZMSCORE":
        return exact(name, target, *some(draw, MEMBERS))
    score = (draw.choice((b"WITHSCORE", b"withscore", b"ZZ")),)
    with_score = score if name != b"ZSCORE" and draw.randrange(2) else ()
    return exact(name, target, draw.choice(MEMBERS), *with_score)


def zrange(draw: Random) -> Made:
    name = draw.choice((b"ZRANGE", b"ZREVRANGE"))
    args: Args = (name, key(draw, ZSETS), pick(draw, INDEXES), pick(draw, INDEXES))
    for _ in range(draw.randrange(3)):
        args += (draw.choice((b"WITHSCORES", b"withscores", b"REV", b"ZZ")),)
    return exact(*args)


def zrange_by_score(draw: Random) -> Made:
    name = draw.choice((b"ZRANGEBYSCORE", b"ZREVRANGEBYSCORE", b"ZRANGE"))
    args: Args = (name, key(draw, ZSETS), pick(draw, BOUNDS), pick(draw, BOUNDS))
    if name == b"ZRANGE":
        args += (b"BYSCORE",)
        args += (b"REV",) if draw.randrange(2) else ()
    if draw.randrange(2):
        args += (b"WITHSCORES",)
    if draw.randrange(3) == 0:
        args += (b"LIMIT", pick(draw, COUNTS), pick(draw, COUNTS))
    return exact(*args)
