"""Random commands on strings, expiry and keys. Each maker returns arguments and how to compare."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from .program import SHORT_MS_MAX, SHORT_MS_MIN, Args, Mode
from .vocabulary import (
    KEYS,
    LISTS,
    LONG_MS,
    LONG_S,
    PATTERNS,
    STRINGS,
    VALUES,
    ZSETS,
    key,
    pick,
    some,
    spelled,
)

Made: TypeAlias = "tuple[Args, Mode, int]"  # arguments, how to compare, place of a short time
Maker: TypeAlias = "Callable[[Random], Made]"

_PAST = (b"1", b"1000000000")
_FAR_S = (b"4000000000", b"4102444800")
_FAR_MS = (b"4000000000000", b"4102444800000")
_NO_TIME = (b"0", b"-1", b"a", b"1.5", b"9223372036854775807", b"-9223372036854775808")


def exact(*args: bytes) -> Made:
    """A command whose reply must be equal."""
    return args, Mode.EXACT, 0


def short_ms(draw: Random) -> bytes:
    """A time that ends before the next pause does."""
    return b"%d" % draw.randrange(SHORT_MS_MIN, SHORT_MS_MAX + 1)


def get(draw: Random) -> Made:
    name = draw.choice((b"GET", b"GET", b"STRLEN", b"GETDEL"))
    return exact(spelled(draw, name), key(draw, STRINGS))


def set_(draw: Random) -> Made:
    args: Args = (spelled(draw, b"SET"), key(draw, STRINGS), draw.choice(VALUES))
    for _ in range(draw.choice((0, 0, 1, 1, 2, 3))):
        args += _set_option(draw)
    return exact(*args)


def _set_option(draw: Random) -> Args:
    option = draw.choice(
        (b"EX", b"PX", b"EXAT", b"PXAT", b"NX", b"XX", b"GET", b"KEEPTTL", b"IFEQ", b"ZZ")
    )
    if option == b"EX":
        return option, pick(draw, LONG_S, _NO_TIME)
    if option == b"PX":
        return option, pick(draw, LONG_MS, _NO_TIME)
    if option == b"EXAT":
        return option, pick(draw, _FAR_S, _PAST + _NO_TIME)
    if option == b"PXAT":
        return option, pick(draw, _FAR_MS, _PAST + _NO_TIME)
    if option == b"IFEQ":
        return option, draw.choice(VALUES)
    return (spelled(draw, option),)


def set_for(draw: Random) -> Made:
    name = draw.choice((b"SETEX", b"PSETEX"))
    times = LONG_S if name == b"SETEX" else LONG_MS
    return exact(name, key(draw, STRINGS), pick(draw, times, _NO_TIME), draw.choice(VALUES))


def set_shortly(draw: Random) -> Made:
    """A key that ends at the next pause."""
    wanted = draw.choice((b"SET", b"PSETEX", b"PEXPIRE", b"GETEX"))
    name, time = draw.choice(STRINGS), short_ms(draw)
    if wanted == b"SET":
        return (b"SET", name, draw.choice(VALUES), b"PX", time), Mode.EXACT, 4
    if wanted == b"PSETEX":
        return (b"PSETEX", name, time, draw.choice(VALUES)), Mode.EXACT, 2
    if wanted == b"GETEX":
        return (b"GETEX", name, b"PX", time), Mode.EXACT, 3
    return (b"PEXPIRE", draw.choice(KEYS), time), Mode.EXACT, 2


def getex(draw: Random) -> Made:
    options: tuple[Args, ...] = (
        (), (b"PERSIST",), (b"EX", pick(draw, LONG_S, _NO_TIME)), (b"PX", draw.choice(LONG_MS)),
        (b"EXAT", draw.choice(_PAST + _FAR_S)), (b"PERSIST", b"EX", b"1"), (b"ZZ",),
    )  # fmt: skip
    return exact(b"GETEX", key(draw, STRINGS), *draw.choice(options))


def count(draw: Random) -> Made:
    name = draw.choice((b"INCR", b"DECR", b"INCRBY", b"DECRBY", b"APPEND", b"GETSET", b"SETNX"))
    args: Args = (name, key(draw, STRINGS))
    if name in (b"INCRBY", b"DECRBY"):
        args += (pick(draw, (b"1", b"-1", b"5", b"9223372036854775807", b"-9223372036854775808")),)
    elif name not in (b"INCR", b"DECR"):
        args += (draw.choice(VALUES),)
    return exact(*args)


def several(draw: Random) -> Made:
    name = draw.choice((b"MGET", b"MSET", b"DEL", b"UNLINK", b"EXISTS", b"TOUCH"))
    if name == b"MSET":
        pairs = [word for one in some(draw, STRINGS) for word in (one, draw.choice(VALUES))]
        return exact(name, *pairs, *(() if draw.randrange(8) else (b"odd",)))
    return exact(name, *(key(draw, STRINGS) for _ in range(1 + draw.randrange(3))))


def expire(draw: Random) -> Made:
    name = draw.choice((b"EXPIRE", b"PEXPIRE", b"EXPIREAT", b"PEXPIREAT"))
    times = {
        b"EXPIRE": LONG_S, b"PEXPIRE": LONG_MS, b"EXPIREAT": _FAR_S, b"PEXPIREAT": _FAR_MS,
    }[name]  # fmt: skip
    words: Args = (b"NX", b"XX", b"ZZ")
    if name in (b"EXPIREAT", b"PEXPIREAT"):
        words += (b"GT", b"LT")  # of two times from now, the later one may be equal or not
    options = some(draw, words, 2) if draw.randrange(3) == 0 else ()
    past = _NO_TIME + _PAST if times in (_FAR_S, _FAR_MS) else _NO_TIME
    return exact(name, draw.choice(KEYS), pick(draw, times, past), *options)


def time_left(draw: Random) -> Made:
    name = draw.choice((b"TTL", b"PTTL", b"PERSIST", b"EXPIRETIME", b"PEXPIRETIME"))
    near = Mode.NEAR_MS if name.startswith(b"P") else Mode.NEAR_S
    mode = Mode.EXACT if name == b"PERSIST" else near
    return (name, draw.choice(KEYS)), mode, 0


def of_any_type(draw: Random) -> Made:
    name = draw.choice((b"TYPE", b"EXISTS", b"DEL", b"RENAME", b"RENAMENX"))
    if name in (b"RENAME", b"RENAMENX"):
        family = draw.choice((STRINGS, LISTS, ZSETS, KEYS))
        return exact(name, draw.choice(family), draw.choice(family))
    return exact(name, draw.choice(KEYS))


def listing(draw: Random) -> Made:
    """KEYS, DBSIZE, and a SCAN that sees everything at once."""
    kind = draw.randrange(4)
    if kind == 0:
        return (
            (b"KEYS", draw.choice((b"*", b"l*", b"?1", b"[sz]*", b"[^l]2"))),
            Mode.UNORDERED,
            False,
        )
    if kind == 1:
        return exact(b"DBSIZE")
    args: Args = (b"SCAN", b"0", b"COUNT", b"1000")
    if draw.randrange(2):
        args += (b"MATCH", draw.choice((b"*", b"s?", b"z*", *PATTERNS)))
    if draw.randrange(3) == 0:
        args += (b"TYPE", draw.choice((b"list", b"string", b"zset", b"hash", b"LIST", b"odd")))
    return args, Mode.UNORDERED, 0


def wrong_scan(draw: Random) -> Made:
    options: tuple[Args, ...] = (
        (b"a",), (b"-1",), (b"0", b"COUNT", b"0"), (b"0", b"COUNT", b"a"), (b"0", b"MATCH"),
        (b"0", b"ZZ", b"1"),
    )  # fmt: skip
    return exact(b"SCAN", *draw.choice(options))
