"""Commands on keys of any type: DEL, EXISTS, TYPE, RENAME, KEYS, SCAN, FLUSHALL, …"""

from __future__ import annotations

import zlib
from collections import deque
from typing import TypeAlias

from .client import Client
from .command import ALL, FIRST, FIRST_TWO, WRITE, Args, command
from .glob import matches
from .keyspace import Keyspace, Value
from .numerals import integer
from .replies import NO_SUCH_KEY, OK, SYNTAX, CommandError, Reply, Status
from .zset import SortedSet

ScanOptions: TypeAlias = "tuple[int, bytes, bytes | None]"

_TYPES = {bytes: Status(b"string"), deque: Status(b"list"), SortedSet: Status(b"zset")}
_NO_TYPE = Status(b"none")
_KNOWN_TYPES = (b"string", b"list", b"zset", b"set", b"hash", b"stream")
_CURSOR_MAX = (1 << 64) - 1


@command("DEL", -2, WRITE, keys=ALL)
def delete(client: Client, args: Args) -> Reply:
    return sum([client.keys.delete(key) for key in args[1:]])


@command("UNLINK", -2, WRITE, keys=ALL)
def unlink(client: Client, args: Args) -> Reply:
    return sum([client.keys.delete(key) for key in args[1:]])


@command("EXISTS", -2, keys=ALL)
def exists(client: Client, args: Args) -> Reply:
    return sum([client.keys.get(key) is not None for key in args[1:]])


@command("TOUCH", -2, keys=ALL)
def touch(client: Client, args: Args) -> Reply:
    return sum([client.keys.get(key) is not None for key in args[1:]])


@command("TYPE", 2, keys=FIRST)
def type_(client: Client, args: Args) -> Reply:
    return _type_of(client.keys.get(args[1]))


def _type_of(value: Value | None) -> Status:
    return _TYPES.get(type(value), _NO_TYPE)


@command("RENAME", 3, WRITE, keys=FIRST_TWO)
def rename(client: Client, args: Args) -> Reply:
    _move_value(client, args)
    return OK


@command("RENAMENX", 3, WRITE, keys=FIRST_TWO)
def renamenx(client: Client, args: Args) -> Reply:
    if client.keys.get(args[1]) is None:
        raise CommandError(NO_SUCH_KEY)
    if client.keys.get(args[2]) is not None:
        return 0
    _move_value(client, args)
    return 1


def _move_value(client: Client, args: Args) -> None:
    """Give a value, with its time, another key, whatever lay there."""
    _, old, new = args
    keys = client.keys
    value = keys.get(old)
    if value is None:
        raise CommandError(NO_SUCH_KEY)
    if old == new:
        return
    expires_ms = keys.expires.get(old)
    keys.drop(old)
    keys.drop(new)
    keys.put(new, value, expires_ms)
    keys.changed(old)
    keys.changed(new)


@command("KEYS", 2)
def keys_(client: Client, args: Args) -> Reply:
    client.keys.purge()
    return [key for key in client.keys.values if matches(args[1], key)]


@command("DBSIZE", 1)
def dbsize(client: Client, _args: Args) -> Reply:
    client.keys.purge()
    return len(client.keys.values)


@command("FLUSHDB", -1, WRITE)
def flushdb(client: Client, args: Args) -> Reply:
    _check_flush(args)
    client.keys.clear()
    return OK


@command("FLUSHALL", -1, WRITE)
def flushall(client: Client, args: Args) -> Reply:
    _check_flush(args)
    for keyspace in client.server.keyspaces:
        keyspace.clear()
    return OK


def _check_flush(args: Args) -> None:
    if len(args) > 2 or (len(args) == 2 and args[1].upper() not in (b"SYNC", b"ASYNC")):
        raise CommandError(SYNTAX)


@command("SCAN", -2)
def scan(client: Client, args: Args) -> Reply:
    """Some keys and the cursor of the rest: each key that stays is seen, wherever others go.

    The order is that of the keys' checksums, so that a cursor means the same after any change.
    """
    cursor = _cursor(args[1])
    count, pattern, of_type = _scan_options(args)
    places = _places(client.keys)
    rest = [entry for entry in places if entry[0] >= cursor]
    end = count
    while 0 < end < len(rest) and rest[end][0] == rest[end - 1][0]:
        end += 1
    following = rest[end][0] if end < len(rest) else 0
    found = [key for _, key in rest[:end] if matches(pattern, key)]
    if of_type is not None:
        found = [key for key in found if _type_of(client.keys.get(key)) == of_type]
    return [b"%d" % following, found]


def _cursor(text: bytes) -> int:
    if not text.isdigit() or int(text) > _CURSOR_MAX:
        raise CommandError("ERR invalid cursor")
    return int(text)


def _scan_options(args: Args) -> ScanOptions:
    """COUNT, MATCH and TYPE."""
    count, pattern, of_type = 10, b"*", None
    for place in range(2, len(args), 2):
        word = args[place].upper()
        if place + 1 == len(args) or word not in (b"COUNT", b"MATCH", b"TYPE"):
            raise CommandError(SYNTAX)
        value = args[place + 1]
        if word == b"COUNT":
            count = integer(value)
            if count < 1:
                raise CommandError(SYNTAX)
        elif word == b"MATCH":
            pattern = value
        else:
            of_type = _scanned_type(value)
    return count, pattern, of_type


def _scanned_type(value: bytes) -> bytes:
    if value.lower() not in _KNOWN_TYPES:
        raise CommandError(f"ERR unknown type name '{value.decode(errors='replace')}'")
    return value.lower()


def _places(keyspace: Keyspace) -> list[tuple[int, bytes]]:
    """Every key with its checksum, which is never 0, in order."""
    keyspace.purge()
    return sorted([(zlib.crc32(key) + 1, key) for key in keyspace.values])
