"""One database: keys with values and expiry times, and who must hear of changes.

    values    bytes | deque | SortedSet      an empty list or set is never kept
    expires   milliseconds of wall clock     a key is there up to and including that millisecond
    watchers  clients that WATCH a key       a change makes their EXEC answer nil
    waits     clients blocked on a key       a new list is signalled, and served after the command

A key whose time has come is taken away when somebody looks, as in the server; nobody can see the
difference. To bound memory, expired keys that nobody looks at are dropped in bulk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from .replies import WRONG_TYPE, CommandError
from .zset import SortedSet

if TYPE_CHECKING:
    from .client import Client
    from .journal import Journal
    from .waiting import Waiting

Value: TypeAlias = "bytes | deque[bytes] | SortedSet"
PURGE_AT_LEAST = 1_000


class Keyspace:
    """The keys of one database.

    Args:
        number: as SELECT names it.
        now_ms: the server's wall clock.
        waiting: told when a list comes into being.
    """

    __slots__ = ("expires", "journal", "now_ms", "number", "purge_at", "values", "waiting",
                 "watchers")  # fmt: skip

    def __init__(self, number: int, now_ms: Callable[[], int], waiting: Waiting) -> None:
        self.number = number
        self.now_ms = now_ms
        self.waiting = waiting
        self.values: dict[bytes, Value] = {}
        self.expires: dict[bytes, int] = {}
        self.watchers: dict[bytes, dict[int, Client]] = {}
        self.journal: Journal | None = None
        self.purge_at = PURGE_AT_LEAST

    def get(self, key: bytes) -> Value | None:
        """The value of a key, if it is there and its time has not come."""
        if key in self.expires and self.now_ms() > self.expires[key]:
            self._end(key)
        return self.values.get(key)

    def string(self, key: bytes) -> bytes | None:
        """The value of a key that must be a string.

        Raises:
            CommandError: it is something else.
        """
        value = self.get(key)
        if value is None or type(value) is bytes:
            return value
        raise CommandError(WRONG_TYPE)

    def list(self, key: bytes) -> deque[bytes] | None:
        """The value of a key that must be a list.

        Raises:
            CommandError: it is something else.
        """
        value = self.get(key)
        if value is None or type(value) is deque:
            return value
        raise CommandError(WRONG_TYPE)

    def zset(self, key: bytes) -> SortedSet | None:
        """The value of a key that must be a sorted set.

        Raises:
            CommandError: it is something else.
        """
        value = self.get(key)
        if value is None or type(value) is SortedSet:
            return value
        raise CommandError(WRONG_TYPE)

    def has_list(self, key: bytes) -> bool:
        """Whether there is a list under this key."""
        return type(self.get(key)) is deque

    def put(self, key: bytes, value: Value, expires_ms: int | None = None) -> None:
        """Give a key a value, whatever it was, and its time or none."""
        is_new_list = type(value) is deque and type(self.values.get(key)) is not deque
        self.values[key] = value
        if expires_ms is None:
            self.expires.pop(key, None)
        else:
            self.expire_at(key, expires_ms)
        if is_new_list and self.waiting.count:
            self.waiting.signal(self, key)

    def expire_at(self, key: bytes, expires_ms: int) -> None:
        """Set the time up to which a key is there."""
        self.expires[key] = expires_ms
        if len(self.expires) > self.purge_at:
            self.purge()

    def _end(self, key: bytes) -> None:
        """A key's time has come: that is a change to whoever watches it."""
        self.drop(key)
        self.changed(key)

    def drop(self, key: bytes) -> Value | None:
        """Take a key away, silently; its value."""
        self.expires.pop(key, None)
        return self.values.pop(key, None)

    def delete(self, key: bytes) -> bool:
        """Take a key away and tell its watchers; False if it is not there."""
        if self.get(key) is None:
            return False
        self.drop(key)
        self.changed(key)
        return True

    def changed(self, key: bytes) -> None:
        """A command changed this key: transactions of clients that watch it will not run."""
        if self.watchers:
            for client in self.watchers.get(key, {}).values():
                client.overtaken = True

    def drop_if_empty(self, key: bytes, value: deque[bytes] | SortedSet) -> None:
        """Take a list or sorted set away when nothing is left in it."""
        if not value:
            self.drop(key)

    def is_expired(self, key: bytes) -> bool:
        """Whether a key's time has come while it still lies here."""
        return key in self.expires and self.now_ms() > self.expires[key]

    def purge(self) -> None:
        """Drop every key whose time has come."""
        now_ms = self.now_ms()
        for key in [key for key, when_ms in self.expires.items() if now_ms > when_ms]:
            self._end(key)
        self.purge_at = max(PURGE_AT_LEAST, 2 * len(self.expires))

    def clear(self) -> None:
        """Take every key away and tell the watchers of those that were there."""
        for key in self.watchers:
            if self.get(key) is not None:
                self.changed(key)
        self.values.clear()
        self.expires.clear()
