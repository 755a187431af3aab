"""Commands on lists that answer at once. Those that block stand in `blocking`."""

from __future__ import annotations

from collections import deque
from itertools import islice

from .client import Client
from .command import DENY_OOM, FIRST, FIRST_TWO, WRITE, Args, command
from .numerals import INTEGER_MAX, INTEGER_MIN, integer
from .replies import NO_SUCH_KEY, OK, SYNTAX, CommandError, Reply, wrong_arity

NOT_POSITIVE = "ERR value is out of range, must be positive"
_LIMITS = f"ERR value is out of range, value must between {INTEGER_MIN + 1} and {INTEGER_MAX}"


@command("LLEN", 2, keys=FIRST)
def llen(client: Client, args: Args) -> Reply:
    return len(client.keys.list(args[1]) or ())


@command("LRANGE", 4, keys=FIRST)
def lrange(client: Client, args: Args) -> Reply:
    start, stop = integer(args[2]), integer(args[3])
    items = client.keys.list(args[1])
    if items is None:
        return []
    start, stop = between(start, stop, len(items))
    return list(islice(items, start, stop))


def between(start: int, stop: int, size: int) -> tuple[int, int]:
    """First place and the place after the last, of inclusive ones that may count from the end."""
    start = max(0, start + size) if start < 0 else start
    stop = stop + size if stop < 0 else min(stop, size - 1)
    return start, max(start, stop + 1)


@command("LINDEX", 3, keys=FIRST)
def lindex(client: Client, args: Args) -> Reply:
    items = client.keys.list(args[1])
    if items is None:
        return None
    place = integer(args[2])
    return items[place] if -len(items) <= place < len(items) else None


@command("LPUSH", -3, WRITE | DENY_OOM, keys=FIRST)
def lpush(client: Client, args: Args) -> Reply:
    return _push(client, args, at_left=True)


@command("RPUSH", -3, WRITE | DENY_OOM, keys=FIRST)
def rpush(client: Client, args: Args) -> Reply:
    return _push(client, args, at_left=False)


@command("LPUSHX", -3, WRITE | DENY_OOM, keys=FIRST)
def lpushx(client: Client, args: Args) -> Reply:
    return _push(client, args, at_left=True) if client.keys.list(args[1]) else 0


@command("RPUSHX", -3, WRITE | DENY_OOM, keys=FIRST)
def rpushx(client: Client, args: Args) -> Reply:
    return _push(client, args, at_left=False) if client.keys.list(args[1]) else 0


def _push(client: Client, args: Args, *, at_left: bool) -> int:
    key, keys = args[1], client.keys
    items = keys.list(key)
    if items is None:
        items = deque()
        keys.put(key, items)
    if at_left:
        items.extendleft(args[2:])
    else:
        items.extend(args[2:])
    keys.changed(key)
    return len(items)


@command("LPOP", -2, WRITE, keys=FIRST)
def lpop(client: Client, args: Args) -> Reply:
    return _pop(client, args, "lpop", at_left=True)


@command("RPOP", -2, WRITE, keys=FIRST)
def rpop(client: Client, args: Args) -> Reply:
    return _pop(client, args, "rpop", at_left=False)


def _pop(client: Client, args: Args, name: str, *, at_left: bool) -> Reply:
    if len(args) > 3:
        raise wrong_arity(name)
    count = None
    if len(args) == 3:
        count = integer(args[2], NOT_POSITIVE)
        if count < 0:
            raise CommandError(NOT_POSITIVE)
    items = client.keys.list(args[1])
    if items is None:
        return None
    if count is None:
        return pop(client, args[1], items, at_left=at_left)
    return [pop(client, args[1], items, at_left=at_left) for _ in range(min(count, len(items)))]


def pop(client: Client, key: bytes, items: deque[bytes], *, at_left: bool) -> bytes:
    """Take one item off a list that has some; the last one takes the key along."""
    item = items.popleft() if at_left else items.pop()
    if not items:
        client.keys.drop(key)
    client.keys.changed(key)
    return item


@command("LREM", 4, WRITE, keys=FIRST)
def lrem(client: Client, args: Args) -> Reply:
    """Take out items equal to one: the first |count|, from the end if below 0; 0 is all."""
    count, wanted = integer(args[2]), args[3]
    items = client.keys.list(args[1])
    if items is None:
        return 0
    found = items.count(wanted)
    removed = min(found, abs(count)) if count else found
    if removed:
        _remove(items, wanted, removed, from_end=count < 0)
        client.keys.drop_if_empty(args[1], items)
        client.keys.changed(args[1])
    return removed


def _remove(items: deque[bytes], wanted: bytes, count: int, *, from_end: bool) -> None:
    if from_end:
        items.reverse()
    for _ in range(count):
        items.remove(wanted)
    if from_end:
        items.reverse()


@command("LSET", 4, WRITE | DENY_OOM, keys=FIRST)
def lset(client: Client, args: Args) -> Reply:
    items = client.keys.list(args[1])
    if items is None:
        raise CommandError(NO_SUCH_KEY)
    place = integer(args[2])
    if not -len(items) <= place < len(items):
        raise CommandError("ERR index out of range")
    items[place] = args[3]
    client.keys.changed(args[1])
    return OK


@command("LTRIM", 4, WRITE, keys=FIRST)
def ltrim(client: Client, args: Args) -> Reply:
    start, stop = integer(args[2]), integer(args[3])
    items = client.keys.list(args[1])
    if items is None:
        return OK
    start, stop = between(start, stop, len(items))
    if (start, stop) != (0, len(items)):
        kept = list(islice(items, start, stop))
        items.clear()
        items.extend(kept)
        client.keys.drop_if_empty(args[1], items)
        client.keys.changed(args[1])
    return OK


@command("LINSERT", 5, WRITE | DENY_OOM, keys=FIRST)
def linsert(client: Client, args: Args) -> Reply:
    side = args[2].upper()
    if side not in (b"BEFORE", b"AFTER"):
        raise CommandError(SYNTAX)
    items = client.keys.list(args[1])
    if items is None:
        return 0
    if args[3] not in items:
        return -1
    items.insert(items.index(args[3]) + (side == b"AFTER"), args[4])
    client.keys.changed(args[1])
    return len(items)


@command("LPOS", -3, keys=FIRST)
def lpos(client: Client, args: Args) -> Reply:
    rank, count, looked_at_max = _lpos_options(args)
    items = client.keys.list(args[1])
    if items is None:
        return None if count is None else []
    size = len(items)
    order = range(size) if rank > 0 else range(size - 1, -1, -1)
    looked_at = islice(order, looked_at_max) if looked_at_max else iter(order)
    found = [place for place in looked_at if items[place] == args[2]][abs(rank) - 1 :]
    if count is None:
        return found[0] if found else None
    return found[:count] if count else found


def _lpos_options(args: Args) -> tuple[int, int | None, int]:
    """RANK, COUNT and MAXLEN."""
    rank, count, looked_at_max = 1, None, 0
    for place in range(3, len(args), 2):
        word = args[place].upper()
        if place + 1 == len(args) or word not in (b"RANK", b"COUNT", b"MAXLEN"):
            raise CommandError(SYNTAX)
        if word == b"RANK":
            rank = _rank(args[place + 1])
        elif word == b"COUNT":
            count = _not_negative(args[place + 1], "COUNT")
        else:
            looked_at_max = _not_negative(args[place + 1], "MAXLEN")
    return rank, count, looked_at_max


def _rank(text: bytes) -> int:
    rank = integer(text)
    if rank == INTEGER_MIN:
        raise CommandError(_LIMITS)
    if rank == 0:
        raise CommandError(
            "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... "
            "or use negative to start from the end of the list"
        )
    return rank


def _not_negative(text: bytes, name: str) -> int:
    refusal = f"ERR {name} can't be negative"
    value = integer(text, refusal)
    if value < 0:
        raise CommandError(refusal)
    return value


@command("LMOVE", 5, WRITE | DENY_OOM, keys=FIRST_TWO)
def lmove(client: Client, args: Args) -> Reply:
    from_left, to_left = is_left(args[3]), is_left(args[4])
    return move(client, args[1], args[2], from_left=from_left, to_left=to_left)


@command("RPOPLPUSH", 3, WRITE | DENY_OOM, keys=FIRST_TWO)
def rpoplpush(client: Client, args: Args) -> Reply:
    return move(client, args[1], args[2], from_left=False, to_left=True)


def is_left(word: bytes) -> bool:
    """LEFT or RIGHT.

    Raises:
        CommandError: neither.
    """
    side = word.upper()
    if side not in (b"LEFT", b"RIGHT"):
        raise CommandError(SYNTAX)
    return side == b"LEFT"


def move(
    client: Client, source: bytes, target: bytes, *, from_left: bool, to_left: bool
) -> bytes | None:
    """Take an item off one list and put it on another, or the same; None if there is none."""
    keys = client.keys
    items = keys.list(source)
    if items is None:
        return None
    if source != target:
        keys.list(target)
    item = items.popleft() if from_left else items.pop()
    into = items if source == target else keys.list(target)
    if into is None:
        into = deque()
        keys.put(target, into)
    if to_left:
        into.appendleft(item)
    else:
        into.append(item)
    keys.drop_if_empty(source, items)
    keys.changed(source)
    keys.changed(target)
    return item
