"""Keys that end: EXPIRE and its relatives, TTL, and the time options of other commands.

A key is there up to and including the millisecond of its expiry. A time that has passed takes the
key away at once.
"""

from __future__ import annotations

from .client import Client
from .command import FIRST, WRITE, Args, command
from .numerals import INTEGER_MAX, INTEGER_MIN, integer
from .replies import CommandError, Reply

_NEVER_MS = 1 << 70


def from_option(client: Client, name: str, unit: bytes, amount: bytes) -> int:
    """Wall clock in ms at which a key ends, of `EX 10`, `PX 10`, `EXAT …`, `PXAT …`.

    Raises:
        CommandError: the amount is no integer above 0, or too far away.
    """
    value = integer(amount)
    if value <= 0:
        raise _invalid(name)
    return _absolute_ms(client, name, value, unit in (b"EX", b"EXAT"), unit in (b"EX", b"PX"))


def _absolute_ms(client: Client, name: str, value: int, in_seconds: bool, from_now: bool) -> int:
    when_ms = value * 1_000 if in_seconds else value
    if not INTEGER_MIN <= when_ms <= INTEGER_MAX:
        raise _invalid(name)
    if from_now:
        when_ms += client.server.now_ms()
    if when_ms > INTEGER_MAX:
        raise _invalid(name)
    return when_ms


def _invalid(name: str) -> CommandError:
    return CommandError(f"ERR invalid expire time in '{name}' command")


def lasting(client: Client, key: bytes, expires_ms: int) -> None:
    """Let a key that is there end at a time; at once if it has passed."""
    if expires_ms <= client.server.now_ms():
        client.keys.delete(key)
    else:
        client.keys.expire_at(key, expires_ms)
        client.keys.changed(key)


@command("EXPIRE", -3, WRITE, keys=FIRST)
def expire(client: Client, args: Args) -> Reply:
    return _expire(client, args, "expire", in_seconds=True, from_now=True)


@command("PEXPIRE", -3, WRITE, keys=FIRST)
def pexpire(client: Client, args: Args) -> Reply:
    return _expire(client, args, "pexpire", in_seconds=False, from_now=True)


@command("EXPIREAT", -3, WRITE, keys=FIRST)
def expireat(client: Client, args: Args) -> Reply:
    return _expire(client, args, "expireat", in_seconds=True, from_now=False)


@command("PEXPIREAT", -3, WRITE, keys=FIRST)
def pexpireat(client: Client, args: Args) -> Reply:
    return _expire(client, args, "pexpireat", in_seconds=False, from_now=False)


def _expire(client: Client, args: Args, name: str, *, in_seconds: bool, from_now: bool) -> int:
    options = _options(args)
    when_ms = _absolute_ms(client, name, integer(args[2]), in_seconds, from_now)
    key, keys = args[1], client.keys
    if keys.get(key) is None:
        return 0
    current_ms = keys.expires.get(key)
    if not _may(options, current_ms, when_ms):
        return 0
    lasting(client, key, when_ms)
    return 1


def _options(args: Args) -> dict[bytes, None]:
    """NX, XX, GT, LT.

    Raises:
        CommandError: something else, or two that exclude each other.
    """
    options: dict[bytes, None] = {}
    for word in args[3:]:
        if word.upper() not in (b"NX", b"XX", b"GT", b"LT"):
            raise CommandError(f"ERR Unsupported option {word.decode(errors='replace')}")
        options[word.upper()] = None
    if b"NX" in options and len(options) > 1:
        text = "ERR NX and XX, GT or LT options at the same time are not compatible"
        raise CommandError(text)
    if b"GT" in options and b"LT" in options:
        raise CommandError("ERR GT and LT options at the same time are not compatible")
    return options


def _may(options: dict[bytes, None], current_ms: int | None, when_ms: int) -> bool:
    """Whether the options allow it; a key without a time counts as one that never ends."""
    compared_ms = _NEVER_MS if current_ms is None else current_ms
    return not (
        (b"NX" in options and current_ms is not None)
        or (b"XX" in options and current_ms is None)
        or (b"GT" in options and when_ms <= compared_ms)
        or (b"LT" in options and when_ms >= compared_ms)
    )


@command("PERSIST", 2, WRITE, keys=FIRST)
def persist(client: Client, args: Args) -> Reply:
    if client.keys.get(args[1]) is None or args[1] not in client.keys.expires:
        return 0
    del client.keys.expires[args[1]]
    client.keys.changed(args[1])
    return 1


@command("TTL", 2, keys=FIRST)
def ttl(client: Client, args: Args) -> Reply:
    left_ms = _left_ms(client, args[1])
    return left_ms if left_ms < 0 else (left_ms + 500) // 1_000


@command("PTTL", 2, keys=FIRST)
def pttl(client: Client, args: Args) -> Reply:
    return _left_ms(client, args[1])


def _left_ms(client: Client, key: bytes) -> int:
    """Milliseconds left; -1 for a key without a time, -2 for none."""
    if client.keys.get(key) is None:
        return -2
    when_ms = client.keys.expires.get(key)
    return -1 if when_ms is None else max(0, when_ms - client.server.now_ms())


@command("EXPIRETIME", 2, keys=FIRST)
def expiretime(client: Client, args: Args) -> Reply:
    when_ms = _when_ms(client, args[1])
    return when_ms if when_ms < 0 else (when_ms + 500) // 1_000


@command("PEXPIRETIME", 2, keys=FIRST)
def pexpiretime(client: Client, args: Args) -> Reply:
    return _when_ms(client, args[1])


def _when_ms(client: Client, key: bytes) -> int:
    if client.keys.get(key) is None:
        return -2
    return client.keys.expires.get(key, -1)
