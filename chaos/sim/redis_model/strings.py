"""Commands on strings: GET and SET with their options, counters, several keys at once."""

from __future__ import annotations

from .client import Client
from .command import ALL, DENY_OOM, FIRST, PAIRS, WRITE, Args, command
from .expiry import from_option, lasting
from .numerals import INTEGER_MAX, INTEGER_MIN, integer
from .replies import OK, SYNTAX, CommandError, Reply, wrong_arity

_TIMES = (b"EX", b"PX", b"EXAT", b"PXAT")


@command("GET", 2, keys=FIRST)
def get(client: Client, args: Args) -> Reply:
    return client.keys.string(args[1])


@command("SET", -3, WRITE | DENY_OOM, keys=FIRST)
def set_(client: Client, args: Args) -> Reply:
    if len(args) == 3:
        client.keys.put(args[1], args[2])
        client.keys.changed(args[1])
        return OK
    return _set_with_options(client, args)


def _set_with_options(client: Client, args: Args) -> Reply:
    flags, unit, amount, expected = _set_options(args)
    expires_ms = from_option(client, "set", unit, amount) if unit else None
    key, keys = args[1], client.keys
    old = keys.string(key) if b"GET" in flags or expected is not None else None
    answer = old if b"GET" in flags else OK
    refused = old if b"GET" in flags else None
    is_there = keys.get(key) is not None
    if (b"NX" in flags and is_there) or (b"XX" in flags and not is_there):
        return refused
    if expected is not None and old != expected:
        return refused
    if b"KEEPTTL" in flags:
        expires_ms = keys.expires.get(key)
    if expires_ms is not None and expires_ms <= client.server.now_ms():
        keys.delete(key)  # the time has passed; where nothing was, nothing changes
        return answer
    keys.put(key, args[2], expires_ms)
    keys.changed(key)
    return answer


def _set_options(args: Args) -> tuple[dict[bytes, None], bytes, bytes, bytes | None]:
    """Flags, unit and amount of a time, and the value of IFEQ."""
    flags: dict[bytes, None] = {}
    unit, amount, expected = b"", b"", None
    rest = list(args[:2:-1])
    while rest:
        word = rest.pop().upper()
        if word in _TIMES and rest and unit in (b"", word) and b"KEEPTTL" not in flags:
            unit, amount = word, rest.pop()
        elif word == b"IFEQ" and rest and expected is None and not _conditional(flags):
            expected = rest.pop()
        elif _fits(word, flags, has_time=bool(unit), has_value=expected is not None):
            flags[word] = None
        else:
            raise CommandError(SYNTAX)
    return flags, unit, amount, expected


def _conditional(flags: dict[bytes, None]) -> bool:
    return b"NX" in flags or b"XX" in flags


def _fits(word: bytes, flags: dict[bytes, None], *, has_time: bool, has_value: bool) -> bool:
    """Whether a flag is known and goes with what was already said."""
    if word == b"KEEPTTL":
        return not has_time
    if word in (b"NX", b"XX"):
        return not has_value and (b"XX" if word == b"NX" else b"NX") not in flags
    return word == b"GET"


@command("SETNX", 3, WRITE | DENY_OOM, keys=FIRST)
def setnx(client: Client, args: Args) -> Reply:
    if client.keys.get(args[1]) is not None:
        return 0
    client.keys.put(args[1], args[2])
    client.keys.changed(args[1])
    return 1


@command("SETEX", 4, WRITE | DENY_OOM, keys=FIRST)
def setex(client: Client, args: Args) -> Reply:
    return _set_for(client, args, "setex", b"EX")


@command("PSETEX", 4, WRITE | DENY_OOM, keys=FIRST)
def psetex(client: Client, args: Args) -> Reply:
    return _set_for(client, args, "psetex", b"PX")


def _set_for(client: Client, args: Args, name: str, unit: bytes) -> Reply:
    client.keys.put(args[1], args[3], from_option(client, name, unit, args[2]))
    client.keys.changed(args[1])
    return OK


@command("GETSET", 3, WRITE | DENY_OOM, keys=FIRST)
def getset(client: Client, args: Args) -> Reply:
    old = client.keys.string(args[1])
    client.keys.put(args[1], args[2])
    client.keys.changed(args[1])
    return old


@command("GETDEL", 2, WRITE, keys=FIRST)
def getdel(client: Client, args: Args) -> Reply:
    old = client.keys.string(args[1])
    client.keys.delete(args[1])
    return old


@command("GETEX", -2, WRITE, keys=FIRST)
def getex(client: Client, args: Args) -> Reply:
    key, option = args[1], args[2].upper() if len(args) > 2 else b""
    is_persist = option == b"PERSIST" and len(args) == 3
    is_time = option in _TIMES and len(args) == 4
    if option and not is_persist and not is_time:
        raise CommandError(SYNTAX)
    expires_ms = from_option(client, "getex", option, args[3]) if is_time else None
    value = client.keys.string(key)
    if value is not None and expires_ms is not None:
        lasting(client, key, expires_ms)
    elif value is not None and is_persist and client.keys.expires.pop(key, None) is not None:
        client.keys.changed(key)
    return value


@command("MGET", -2, keys=ALL)
def mget(client: Client, args: Args) -> Reply:
    values = [client.keys.get(key) for key in args[1:]]
    return [value if type(value) is bytes else None for value in values]


@command("MSET", -3, WRITE | DENY_OOM, keys=PAIRS)
def mset(client: Client, args: Args) -> Reply:
    if len(args) % 2 == 0:
        raise wrong_arity("mset")
    for key, value in zip(args[1::2], args[2::2], strict=True):
        client.keys.put(key, value)
        client.keys.changed(key)
    return OK


@command("INCR", 2, WRITE | DENY_OOM, keys=FIRST)
def incr(client: Client, args: Args) -> Reply:
    return _add(client, args[1], 1)


@command("DECR", 2, WRITE | DENY_OOM, keys=FIRST)
def decr(client: Client, args: Args) -> Reply:
    return _add(client, args[1], -1)


@command("INCRBY", 3, WRITE | DENY_OOM, keys=FIRST)
def incrby(client: Client, args: Args) -> Reply:
    return _add(client, args[1], integer(args[2]))


@command("DECRBY", 3, WRITE | DENY_OOM, keys=FIRST)
def decrby(client: Client, args: Args) -> Reply:
    amount = integer(args[2])
    if amount == INTEGER_MIN:
        raise CommandError("ERR decrement would overflow")
    return _add(client, args[1], -amount)


def _add(client: Client, key: bytes, amount: int) -> int:
    """Add to a counter; its time stays."""
    text = client.keys.string(key)
    value = (integer(text) if text is not None else 0) + amount
    if not INTEGER_MIN <= value <= INTEGER_MAX:
        raise CommandError("ERR increment or decrement would overflow")
    client.keys.values[key] = b"%d" % value
    client.keys.changed(key)
    return value


@command("APPEND", 3, WRITE | DENY_OOM, keys=FIRST)
def append(client: Client, args: Args) -> Reply:
    value = (client.keys.string(args[1]) or b"") + args[2]
    client.keys.values[args[1]] = value
    client.keys.changed(args[1])
    return len(value)


@command("STRLEN", 2, keys=FIRST)
def strlen(client: Client, args: Args) -> Reply:
    return len(client.keys.string(args[1]) or b"")
