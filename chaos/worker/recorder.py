"""The flight recorder: events of one process that survive SIGKILL of it and cost almost nothing.

Records go straight into a memory-mapped file. The page cache outlives the process, so whatever was
committed before a SIGKILL can be read afterwards, with no write call per event and no flush. The
file grows by whole segments made with `posix_fallocate`: a sparse mapping on a full disk would die
of SIGBUS in the middle of a record, an allocation fails with ENOSPC where it can be reported.

    | file header | segment 0: record record … END | segment 1: record … <zeros> |

It does not buffer, drop, sort or judge. One process, one recorder, any thread.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
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

_PACK = HEADER_AFTER_LENGTH.pack
_PUT_LENGTH = LENGTH.pack_into
_LENGTH_SIZE = LENGTH.size
_monotonic_ns = time.monotonic_ns

CUT_SIZE = 64  # the shortest that a text is ever made: room for the words that say it was cut


class Sink(Protocol):
    """Where events go: the flight recorder in the live world, a list in the simulator."""

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
        """Append one event, stamped now. `events.Kind` says what the free fields mean."""


class Recorder:
    """Append-only event file of one process. Safe from any thread; silent in a forked child.

    Attributes:
        takes_joined: its reader knows the JOB_* records, so the probe may join events into them.

    Args:
        path: the file, which must not exist yet.
        segment_size: by how much the file grows, a multiple of the page size.
        on_full: called with the error when the next segment cannot be allocated, before it is
            raised. A host ends its process there: raised into saq, the error would look like saq's.

    Raises:
        OSError: the file or its next segment cannot be allocated (a full disk).
    """

    takes_joined = True

    def __init__(
        self,
        path: str,
        segment_size: int = SEGMENT_SIZE,
        on_full: Callable[[OSError], None] | None = None,
    ) -> None:
        if segment_size <= 0 or segment_size % mmap.ALLOCATIONGRANULARITY:
            raise ValueError(
                f"segment_size {segment_size} is no multiple of the page size"
                f" ({mmap.ALLOCATIONGRANULARITY})"
            )
        self._segment_size = segment_size
        self._body_size_max = segment_size - FILE_HEADER.size - HEADER_SIZE - LENGTH.size - 8
        self._on_full = on_full
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._plain_max = HEADER_SIZE + min(KEY_SIZE_MAX, self._body_size_max)
        self._end_max = segment_size - LENGTH.size
        self._take_lock()
        self._segments = 0
        self._closed = False
        try:
            self._open_segment()
        except OSError:
            os.close(self._fd)
            raise
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
        """Append one event, stamped with CLOCK_MONOTONIC.

        A key or a part of the text that does not fit is shortened, and says so where it was cut.
        """
        key_size = len(job)
        try:
            body = (job + text).encode()
        except UnicodeEncodeError:
            body = b""
        length = HEADER_SIZE + len(body)
        if length != HEADER_SIZE + key_size + len(text) or length > self._plain_max:
            key_size, body = self._encoded(job, text)
            length = HEADER_SIZE + len(body)
        self._acquire()  # not `with`: it costs twice as much, and this runs several times a job
        try:
            start = self._position
            end = (start + length + 7) & ~7
            if end > self._end_max:
                if self._closed:
                    return
                start, end = self._next_segment(length)
            target = self._map
            target[start + _LENGTH_SIZE : start + length] = (
                _PACK(kind, code, key_size, attempt, call, number, _monotonic_ns()) + body
            )
            _PUT_LENGTH(target, start, length)
            self._position = end
        finally:
            self._release()

    def record_fields(self, kind: int, job: str = "", attempt: int = 0, **fields: Any) -> None:
        """Append one event whose other fields travel as JSON in its text (the rarer events).

        Raises:
            ValueError: the fields do not fit in a segment, however short their texts are made.
        """
        text = _encode(fields)
        if _size(text) > self._field_bytes_max:
            text = self._fit_fields(fields)
        self.record(kind, job, attempt, text=text)

    def close(self) -> None:
        """Cut the file to what was written. Later records are ignored."""
        with self._lock:
            if self._closed:
                return
            self._shut()
            size = (self._segments - 1) * self._segment_size + self._position
            self._map.close()
            os.ftruncate(self._fd, size)
            os.close(self._fd)

    @property
    def _field_bytes_max(self) -> int:
        """Room for the JSON of a record whose key is as long as a key may be."""
        return self._body_size_max - min(KEY_SIZE_MAX, self._body_size_max // 4)

    def _encoded(self, job: str, text: str) -> tuple[int, bytes]:
        """Size of the key, and key and text, when they are not plain short ASCII."""
        key = job.encode("utf-8", "backslashreplace")
        body = key + text.encode("utf-8", "backslashreplace")
        if len(key) > KEY_SIZE_MAX or len(body) > self._body_size_max:
            key, body = self._fit(job, text)
        return len(key), body

    def _fit(self, job: str, text: str) -> tuple[bytes, bytes]:
        """Key and body short enough for a segment: the parts of the text keep their number."""
        key = _shorten(job, min(KEY_SIZE_MAX, self._body_size_max // 4))
        room = self._body_size_max - len(key)
        encoded = text.encode("utf-8", "backslashreplace")
        if len(encoded) > room:
            parts = text.split("\x1f")
            each = room // len(parts) - 1
            if each < CUT_SIZE:
                parts, each = [text], room
            encoded = b"\x1f".join(_shorten(part, each) for part in parts)
        return key, key + encoded

    def _fit_fields(self, fields: Mapping[str, Any]) -> str:
        """The fields as JSON with their texts shortened, half as long each time, until it fits."""
        limit = self._field_bytes_max
        while limit >= CUT_SIZE:
            text = _encode({name: _shorten_field(value, limit) for name, value in fields.items()})
            if _size(text) <= self._field_bytes_max:
                return text
            limit //= 2
        raise ValueError(
            f"the fields {', '.join(fields)} need more than {self._field_bytes_max} bytes"
        )

    def _next_segment(self, length: int) -> tuple[int, int]:
        start = self._position
        full = self._map
        try:
            self._open_segment()
        except OSError as error:
            if self._on_full is not None:
                self._on_full(error)
            raise
        LENGTH.pack_into(full, start, END_OF_SEGMENT)
        full.close()
        return 0, (length + 7) & ~7

    def _open_segment(self) -> None:
        offset = self._segments * self._segment_size
        os.posix_fallocate(self._fd, offset, self._segment_size)
        self._map = mmap.mmap(self._fd, self._segment_size, offset=offset)
        self._segments += 1

    def _forget(self) -> None:
        """A forked child shares the mapping but not the position: it must not write.

        Another thread may have held the lock when the process was forked: take a free one.
        """
        self._take_lock()
        self._shut()

    def _take_lock(self) -> None:
        self._lock = threading.Lock()
        self._acquire = self._lock.acquire
        self._release = self._lock.release

    def _shut(self) -> None:
        """From now on every record is one that does not fit, where it is found out why."""
        self._closed = True
        self._end_max = -1


def _encode(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def _size(text: str) -> int:
    """Bytes of the text in UTF-8; more than any room if it holds a surrogate and has none."""
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError:
        return sys.maxsize


def _shorten_field(value: Any, limit: int) -> Any:
    if isinstance(value, str):
        return _shorten(value, limit).decode("utf-8")
    if isinstance(value, (list, tuple)):
        return [_shorten_field(item, limit) for item in value]
    return value


def _shorten(text: str, limit: int) -> bytes:
    """UTF-8 of `text` in at most `limit` bytes (>= CUT_SIZE); a cut names what the text was."""
    encoded = text.encode("utf-8", "backslashreplace")
    if len(encoded) <= limit:
        return encoded
    digest = hashlib.sha256(encoded).hexdigest()[:12]
    mark = f"… cut: {len(encoded)} bytes, sha256 {digest}".encode()
    return encoded[: limit - len(mark)].decode("utf-8", "ignore").encode("utf-8") + mark
