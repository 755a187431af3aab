"""Commands on sorted sets, but for ranges: ZADD with its options, ZREM, ZSCORE, ranks, ZPOPMIN."""

from __future__ import annotations

import math

from .client import Client
from .command import DENY_OOM, FIRST, WRITE, Args, command
from .lists import NOT_POSITIVE
from .numerals import double, integer, score, written
from .replies import SYNTAX, CommandError, Reply
from .zset import SortedSet

NOT_A_NUMBER = "ERR resulting score is not a number (NaN)"
_OPTIONS = (b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR")


@command("ZADD", -4, WRITE | DENY_OOM, keys=FIRST)
def zadd(client: Client, args: Args) -> Reply:
    options, entries = _zadd_arguments(args)
    key, keys = args[1], client.keys
    members = keys.zset(key)
    if members is None:
        if b"XX" in options:
            return None if b"INCR" in options else 0
        members = SortedSet()
    if b"INCR" in options:
        return _zadd_incr(client, key, members, options, entries[0])
    added = changed = 0
    for value, member in entries:
        old = members.scores.get(member)
        if _may_put(options, old, value):
            members.put(member, value)
            added += old is None
            changed += old is not None and old != value
    _store(client, key, members, is_changed=bool(added or changed))
    return added + changed if b"CH" in options else added


def _zadd_arguments(args: Args) -> tuple[dict[bytes, None], list[tuple[float, bytes]]]:
    """Options, and scores with members."""
    if len(args) == 4 and (value := double(args[2])) is not None:
        return {}, [(value, args[3])]
    options: dict[bytes, None] = {}
    place = 2
    while place < len(args) and args[place].upper() in _OPTIONS:
        options[args[place].upper()] = None
        place += 1
    rest = args[place:]
    if len(rest) % 2 or not rest:
        raise CommandError(SYNTAX)
    _check_options(options, len(rest) // 2)
    return options, [(score(rest[i]), rest[i + 1]) for i in range(0, len(rest), 2)]


def _check_options(options: dict[bytes, None], entries: int) -> None:
    if b"NX" in options and b"XX" in options:
        raise CommandError("ERR XX and NX options at the same time are not compatible")
    if sum(word in options for word in (b"GT", b"LT", b"NX")) > 1:
        raise CommandError("ERR GT, LT, and/or NX options at the same time are not compatible")
    if b"INCR" in options and entries > 1:
        raise CommandError("ERR INCR option supports a single increment-element pair")


def _may_put(options: dict[bytes, None], old: float | None, value: float) -> bool:
    if old is None:
        return b"XX" not in options
    return not (
        b"NX" in options
        or (b"GT" in options and value <= old)
        or (b"LT" in options and value >= old)
    )


def _zadd_incr(
    client: Client,
    key: bytes,
    members: SortedSet,
    options: dict[bytes, None],
    entry: tuple[float, bytes],
) -> Reply:
    amount, member = entry
    old = members.scores.get(member)
    if (old is not None and b"NX" in options) or (old is None and b"XX" in options):
        return None
    value = amount if old is None else old + amount
    if math.isnan(value):
        raise CommandError(NOT_A_NUMBER)
    if not _may_put(options, old, value):
        return None
    members.put(member, value)
    _store(client, key, members, is_changed=value != old)
    return b"-0" if value == 0 and math.copysign(1, value) < 0 else written(value)


def _store(client: Client, key: bytes, members: SortedSet, *, is_changed: bool) -> None:
    """Keep a set that may be new."""
    if members and key not in client.keys.values:
        client.keys.put(key, members)
    if is_changed:
        client.keys.changed(key)


@command("ZINCRBY", 4, WRITE | DENY_OOM, keys=FIRST)
def zincrby(client: Client, args: Args) -> Reply:
    entry = (score(args[2]), args[3])
    members = client.keys.zset(args[1]) or SortedSet()
    return _zadd_incr(client, args[1], members, {}, entry)


@command("ZREM", -3, WRITE, keys=FIRST)
def zrem(client: Client, args: Args) -> Reply:
    members = client.keys.zset(args[1])
    if members is None:
        return 0
    removed = sum([members.remove(member) for member in args[2:]])
    if removed:
        client.keys.drop_if_empty(args[1], members)
        client.keys.changed(args[1])
    return removed


@command("ZCARD", 2, keys=FIRST)
def zcard(client: Client, args: Args) -> Reply:
    return len(client.keys.zset(args[1]) or ())


@command("ZSCORE", 3, keys=FIRST)
def zscore(client: Client, args: Args) -> Reply:
    members = client.keys.zset(args[1])
    return None if members is None else _written_score(members, args[2])


@command("ZMSCORE", -3, keys=FIRST)
def zmscore(client: Client, args: Args) -> Reply:
    members = client.keys.zset(args[1]) or SortedSet()
    return [_written_score(members, member) for member in args[2:]]


def _written_score(members: SortedSet, member: bytes) -> bytes | None:
    value = members.scores.get(member)
    return None if value is None else written(value)


@command("ZRANK", -3, keys=FIRST)
def zrank(client: Client, args: Args) -> Reply:
    return _rank(client, args, "zrank", from_end=False)


@command("ZREVRANK", -3, keys=FIRST)
def zrevrank(client: Client, args: Args) -> Reply:
    return _rank(client, args, "zrevrank", from_end=True)


def _rank(client: Client, args: Args, name: str, *, from_end: bool) -> Reply:
    if len(args) > 4:
        raise CommandError(f"ERR wrong number of arguments for '{name}' command")
    with_score = len(args) == 4
    if with_score and args[3].upper() != b"WITHSCORE":
        raise CommandError(SYNTAX)
    members = client.keys.zset(args[1]) or SortedSet()
    place = members.rank(args[2])
    if place is None:
        return None
    place = len(members) - 1 - place if from_end else place
    return [place, written(members.scores[args[2]])] if with_score else place


@command("ZPOPMIN", -2, WRITE, keys=FIRST)
def zpopmin(client: Client, args: Args) -> Reply:
    return _pop(client, args, from_end=False)


@command("ZPOPMAX", -2, WRITE, keys=FIRST)
def zpopmax(client: Client, args: Args) -> Reply:
    return _pop(client, args, from_end=True)


def _pop(client: Client, args: Args, *, from_end: bool) -> Reply:
    if len(args) > 3:
        raise CommandError(SYNTAX)
    count = integer(args[2], NOT_POSITIVE) if len(args) == 3 else 1
    if count < 0:
        raise CommandError(NOT_POSITIVE)
    members = client.keys.zset(args[1])
    if members is None or not count:
        return []
    size = len(members)
    first, stop = (max(0, size - count), size) if from_end else (0, min(count, size))
    gone = members.order[first:stop]
    members.remove_slice(first, stop)
    client.keys.drop_if_empty(args[1], members)
    client.keys.changed(args[1])
    return flat(gone[::-1] if from_end else gone)


def flat(entries: list[tuple[float, bytes]]) -> list[Reply]:
    """Members and scores in turn."""
    answer: list[Reply] = []
    for value, member in entries:
        answer += (member, written(value))
    return answer
