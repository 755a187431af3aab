"""Commands on lists that block: BLMOVE, BRPOPLPUSH, BLPOP, BRPOP.

Each first tries what its sister without B does. When it finds nothing, the client waits, unless it
is in a transaction or script: then the answer is nil.
"""

from __future__ import annotations

from .client import Client
from .command import ALL_BUT_LAST, BLOCKING, COMMANDS, DENY_OOM, FIRST_TWO, WRITE, Args, command
from .lists import is_left, move, pop
from .numerals import INTEGER_MAX, timeout_ms
from .replies import NO_REPLY, CommandError, Reply
from .waiting import Wait


@command("BLMOVE", 6, WRITE | DENY_OOM | BLOCKING, keys=FIRST_TWO)
def blmove(client: Client, args: Args) -> Reply:
    from_left, to_left = is_left(args[3]), is_left(args[4])
    return _move(client, args, args[5], from_left=from_left, to_left=to_left)


@command("BRPOPLPUSH", 4, WRITE | DENY_OOM | BLOCKING, keys=FIRST_TWO)
def brpoplpush(client: Client, args: Args) -> Reply:
    return _move(client, args, args[3], from_left=False, to_left=True)


def _move(client: Client, args: Args, timeout: bytes, *, from_left: bool, to_left: bool) -> Reply:
    deadline_ms = _deadline_ms(client, timeout)
    if client.keys.list(args[1]) is None:
        return _wait(client, args, (args[1],), deadline_ms)
    return move(client, args[1], args[2], from_left=from_left, to_left=to_left)


@command("BLPOP", -3, WRITE | BLOCKING, keys=ALL_BUT_LAST)
def blpop(client: Client, args: Args) -> Reply:
    return _pop(client, args, at_left=True)


@command("BRPOP", -3, WRITE | BLOCKING, keys=ALL_BUT_LAST)
def brpop(client: Client, args: Args) -> Reply:
    return _pop(client, args, at_left=False)


def _pop(client: Client, args: Args, *, at_left: bool) -> Reply:
    deadline_ms = _deadline_ms(client, args[-1])
    keys = args[1:-1]
    for key in keys:
        items = client.keys.list(key)
        if items is not None:
            return [key, pop(client, key, items, at_left=at_left)]
    return _wait(client, args, keys, deadline_ms)


def _deadline_ms(client: Client, timeout: bytes) -> int:
    """Wall clock of the deadline, 0 for none. A client that is served again keeps what it had."""
    after_ms = timeout_ms(timeout)
    if client.deadline_ms is not None:
        return client.deadline_ms
    if not after_ms:
        return 0
    deadline_ms = client.server.now_ms() + after_ms
    if deadline_ms > INTEGER_MAX:
        raise CommandError("ERR timeout is out of range")
    return deadline_ms


def _wait(client: Client, args: Args, keys: Args, deadline_ms: int) -> Reply:
    if not client.may_block:
        return None
    command_ = COMMANDS[args[0].upper()]
    wait = Wait(client, command_, args, client.keys, keys, deadline_ms)
    client.server.waiting.block(client, wait)
    return NO_REPLY
