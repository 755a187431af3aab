"""What the last writes changed, so that a restart can lose them.

The server is thought to write its data to disk at whole multiples of `every_us`, as with
`appendfsync everysec`. What a write command is about to change is remembered as it was, once for
each key and interval; a restart that loses the last writes puts that back.

    write at 1.2 s ─► remember     write at 1.7 s ─► known     restart at 1.9 s ─► as of 1.0 s
                                   write at 2.1 s ─► forget, remember anew
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from .zset import SortedSet

if TYPE_CHECKING:
    from .keyspace import Keyspace, Value


class Journal:
    """Old values since the last moment at which everything was on disk.

    Args:
        now_us: the server's clock.
        every_us: the interval between those moments, above 0.
    """

    def __init__(self, now_us: Callable[[], int], every_us: int) -> None:
        self._now_us = now_us
        self._every_us = every_us
        self._interval = -1
        self._old: dict[tuple[int, bytes], tuple[Keyspace, Value | None, int | None]] = {}

    def before(self, keyspace: Keyspace, keys: Iterable[bytes]) -> None:
        """These keys are about to change."""
        self._forget_what_is_on_disk()
        for key in keys:
            place = (keyspace.number, key)
            if place not in self._old:
                value = keyspace.values.get(key)
                if isinstance(value, deque | SortedSet):
                    value = value.copy()
                self._old[place] = (keyspace, value, keyspace.expires.get(key))

    def undo(self) -> None:
        """Put everything back as it was on disk."""
        self._forget_what_is_on_disk()
        for (_, key), (keyspace, value, expires_ms) in self._old.items():
            keyspace.drop(key)
            if value is not None:
                keyspace.put(key, value, expires_ms)
        self._old.clear()

    def _forget_what_is_on_disk(self) -> None:
        interval = self._now_us() // self._every_us
        if interval != self._interval:
            self._interval = interval
            self._old.clear()
