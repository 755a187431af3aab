"""The flight recorder: events of one process that survive SIGKILL of it and cost almost nothing.

Records go straight into a memory-mapped file. The page cache outlives the process, so whatever was
committed before a SIGKILL can be read afterwards, with no write call per event and no flush. The
file grows by whole segments made with `posix_fallocate`: a sparse mapping on a full disk would die
of SIGBUS in the middle of a record, an allocation fails with ENOSPC where it can be reported.

    | file header | segment 0: record record … END | segment 1: record … <zeros> |

It does not buffer, drop, sort or judge. One process, one recorder, any thread.
"""

from __future__ import annotations

import json
import mmap
import os
import threading
import time
from typing import Any, Protocol

from .events import (
    END_OF_SEGMENT,
    FILE_HEADER,
    HEADER_AFTER_LENGTH,
    HEADER_SIZE,
    KEY_SIZE_MAX,
    LENGTH,
    MAGIC,
    SEGMENT_SIZE,
)


class Sink(Protocol):
    """Where the probe's events go: the flight recorder in the live world, a list in the simulator."""

    def record(
        self,
        kind: int,
        job: str = "",
        attempt: int = 0,
        call: int = 0,
        number: int = 0,
        text: str = "",
        code: int = 0,
    ) -> None:
        """Append one event, stamped now. What `number`, `text` and `code` mean depends on `kind`."""


class Recorder:
    """Append-only event file of one process. Safe from any thread.

    Raises:
        OSError: the file or its next segment cannot be allocated (a full disk).
    """

    def __init__(self, path: str, segment_size: int = SEGMENT_SIZE) -> None:
        if segment_size % mmap.ALLOCATIONGRANULARITY:
            raise ValueError(f"segment_size {segment_size} is no multiple of the page size")
        self._segment_size = segment_size
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._lock = threading.Lock()
        self._segments = 0
        self._closed = False
        self._open_segment()
        FILE_HEADER.pack_into(self._map, 0, MAGIC, segment_size)
        self._position = FILE_HEADER.size
        os.register_at_fork(after_in_child=self._forget)

    def record(
        self,
        kind: int,
        job: str = "",
        attempt: int = 0,
        call: int = 0,
        number: int = 0,
        text: str = "",
        code: int = 0,
    ) -> None:
        """Append one event, stamped with CLOCK_MONOTONIC."""
        key = job.encode("utf-8", "surrogateescape")[:KEY_SIZE_MAX]
        body = key + text.encode("utf-8", "surrogateescape") if text else key
        length = HEADER_SIZE + len(body)
        with self._lock:
            if self._closed:
                return
            start = self._position
            end = (start + length + 7) & ~7
            if end + LENGTH.size > self._segment_size:
                body, length = self._fit(body)
                start, end = self._next_segment(length)
            stamp = time.monotonic_ns()
            HEADER_AFTER_LENGTH.pack_into(
                self._map, start + 4, kind, code, len(key), attempt, call, number, stamp
            )
            if body:
                self._map[start + HEADER_SIZE : start + length] = body
            LENGTH.pack_into(self._map, start, length)
            self._position = end

    def record_fields(self, kind: int, job: str = "", attempt: int = 0, **fields: Any) -> None:
        """Append one event whose other fields travel as JSON in its text (the rarer events)."""
        self.record(kind, job, attempt, text=json.dumps(fields, separators=(",", ":")))

    def close(self) -> None:
        """Cut the file to what was written. Later records are ignored."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            size = (self._segments - 1) * self._segment_size + self._position
            self._map.close()
            os.ftruncate(self._fd, size)
            os.close(self._fd)

    def _fit(self, body: bytes) -> tuple[bytes, int]:
        room = self._segment_size - FILE_HEADER.size - HEADER_SIZE - 2 * 8
        body = body[:room]
        return body, HEADER_SIZE + len(body)

    def _next_segment(self, length: int) -> tuple[int, int]:
        start = self._position
        full = self._map
        self._open_segment()
        LENGTH.pack_into(full, start, END_OF_SEGMENT)
        full.close()
        return 0, (length + 7) & ~7

    def _open_segment(self) -> None:
        offset = self._segments * self._segment_size
        os.posix_fallocate(self._fd, offset, self._segment_size)
        self._map = mmap.mmap(self._fd, self._segment_size, offset=offset)
        self._segments += 1

    def _forget(self) -> None:
        """A forked child shares the mapping but not the position: it must not write."""
        self._closed = True

