"""Ranges of sorted sets: by rank, by score, from either end; reading, counting, removing."""

from __future__ import annotations

from dataclasses import dataclass

from .client import Client
from .command import FIRST, WRITE, Args, command
from .lists import between
from .numerals import bound, integer
from .replies import SYNTAX, CommandError, Reply, Unmodelled
from .zset import SortedSet
from .zsets import flat

_LIMIT_ALONE = (
    "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
)


@dataclass(slots=True)
class Range:
    """What a range command asks for. `limit_count` below 0 is no limit."""

    by_score: bool = False
    reverse: bool = False
    with_scores: bool = False
    limit_offset: int = 0
    limit_count: int = -1


@command("ZRANGE", -4, keys=FIRST)
def zrange(client: Client, args: Args) -> Reply:
    return _answer(client, args, _options(args, is_general=True))


@command("ZREVRANGE", -4, keys=FIRST)
def zrevrange(client: Client, args: Args) -> Reply:
    return _answer(client, args, _options(args, reverse=True))


@command("ZRANGEBYSCORE", -4, keys=FIRST)
def zrangebyscore(client: Client, args: Args) -> Reply:
    return _answer(client, args, _options(args, by_score=True))


@command("ZREVRANGEBYSCORE", -4, keys=FIRST)
def zrevrangebyscore(client: Client, args: Args) -> Reply:
    return _answer(client, args, _options(args, by_score=True, reverse=True))


def _options(
    args: Args, *, is_general: bool = False, by_score: bool = False, reverse: bool = False
) -> Range:
    """The options behind the bounds; BYSCORE and REV only where the command has them."""
    asked = Range(by_score=by_score, reverse=reverse)
    has_limit = is_lex = False
    rest = list(args[:3:-1])
    while rest:
        word = rest.pop().upper()
        if word == b"WITHSCORES":
            asked.with_scores = True
        elif word == b"LIMIT" and len(rest) >= 2:
            asked.limit_offset, asked.limit_count = integer(rest.pop()), integer(rest.pop())
            has_limit = True
        elif word == b"REV" and is_general and not asked.reverse:
            asked.reverse = True
        elif word == b"BYSCORE" and is_general and not asked.by_score and not is_lex:
            asked.by_score = True
        elif word == b"BYLEX" and is_general and not asked.by_score and not is_lex:
            is_lex = True
        else:
            raise CommandError(SYNTAX)
    if is_lex:
        raise Unmodelled(SYNTAX, "ZRANGE … BYLEX")
    if has_limit and not asked.by_score:
        raise CommandError(_LIMIT_ALONE)
    return asked


def _answer(client: Client, args: Args, asked: Range) -> Reply:
    entries = _by_score(client, args, asked) if asked.by_score else _by_rank(client, args, asked)
    return flat(entries) if asked.with_scores else [member for _, member in entries]


def _by_rank(client: Client, args: Args, asked: Range) -> list[tuple[float, bytes]]:
    start, stop = integer(args[2]), integer(args[3])
    members = client.keys.zset(args[1])
    if members is None:
        return []
    start, stop = between(start, stop, len(members))
    if not asked.reverse:
        return members.order[start:stop]
    size = len(members)
    return members.order[max(0, size - stop) : max(0, size - start)][::-1]


def _by_score(client: Client, args: Args, asked: Range) -> list[tuple[float, bytes]]:
    low, high = (args[3], args[2]) if asked.reverse else (args[2], args[3])
    bounds = (bound(low), bound(high))
    members = client.keys.zset(args[1])
    if members is None or asked.limit_offset < 0:
        return []
    start, stop = _places(members, *bounds)
    entries = members.order[start:stop]
    if asked.reverse:
        entries.reverse()
    first = asked.limit_offset
    return entries[first:] if asked.limit_count < 0 else entries[first : first + asked.limit_count]


def _places(
    members: SortedSet, low: tuple[float, bool], high: tuple[float, bool]
) -> tuple[int, int]:
    """First place and the place after the last whose scores lie between two bounds."""
    start = members.first_at(low[0], low[1])
    return start, max(start, members.first_at(high[0], not high[1]))


@command("ZCOUNT", 4, keys=FIRST)
def zcount(client: Client, args: Args) -> Reply:
    bounds = (bound(args[2]), bound(args[3]))
    members = client.keys.zset(args[1])
    if members is None:
        return 0
    start, stop = _places(members, *bounds)
    return stop - start


@command("ZREMRANGEBYSCORE", 4, WRITE, keys=FIRST)
def zremrangebyscore(client: Client, args: Args) -> Reply:
    bounds = (bound(args[2]), bound(args[3]))
    members = client.keys.zset(args[1])
    return 0 if members is None else _remove(client, args[1], members, _places(members, *bounds))


@command("ZREMRANGEBYRANK", 4, WRITE, keys=FIRST)
def zremrangebyrank(client: Client, args: Args) -> Reply:
    start, stop = integer(args[2]), integer(args[3])
    members = client.keys.zset(args[1])
    if members is None:
        return 0
    return _remove(client, args[1], members, between(start, stop, len(members)))


def _remove(client: Client, key: bytes, members: SortedSet, places: tuple[int, int]) -> int:
    removed = members.remove_slice(*places)
    if removed:
        client.keys.drop_if_empty(key, members)
        client.keys.changed(key)
    return removed
