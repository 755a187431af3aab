"""Who did what, and who was refused: JSON lines that are only ever appended to.

    record ──► <data_dir>/audit.jsonl (0600) ──at 10 MiB──► audit.jsonl.1 … audit.jsonl.5

Each entry is one line of ASCII: whatever a name, a target or a reason holds, control characters,
line ends and marks that turn the writing direction stand in it as escapes. Entries are numbered
through all files and processes, so the cursor of a page stays valid while more come. If the disk is
full the service goes on, and the log says so: to refuse then would let anybody who can fill a disk
keep an administrator from stopping a run.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, ValidationError

from service.models import Model
from service.ports import Caller
from service.security import folders

FILE = "audit.jsonl"
BYTES_MAX = 10 * 1024**2
KEPT = 5
TEXT_MAX = 500
_BLOCK = 64 * 1024

logger = logging.getLogger("service.security")


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """Which request the current task works for."""

    id: str
    peer: str


CURRENT: ContextVar[RequestInfo] = ContextVar("CURRENT", default=RequestInfo("", ""))  # noqa: B039 - it is frozen


class AuditEntry(Model):
    """One thing that somebody did or was refused."""

    number: int = Field(description="Counts from 1 through the whole log.")
    at: datetime
    caller: str = Field(description="The token's name, `local`, or `anonymous`.")
    role: str = Field(description="Empty where nobody was identified.")
    session: bool = Field(description="Whether it was the console.")
    peer: str = Field(description="The address that the request came from.")
    request: str = Field(description="The X-Request-Id of the answer.")
    action: str
    target: str
    outcome: str
    detail: str


class AuditPage(Model):
    """A page of the log, the newest first. `next` is the cursor of the page after it."""

    entries: list[AuditEntry]
    next: str | None = None


class AuditLog:
    """The log of one data directory. Safe to use from several threads; one process writes it."""

    def __init__(self, data_dir: Path, bytes_max: int = BYTES_MAX, kept: int = KEPT) -> None:
        self._path = data_dir / FILE
        self._bytes_max = bytes_max
        self._kept = kept
        self._lock = threading.Lock()
        self._number = next((entry.number for entry in self._newest_first()), 0)

    def record(
        self, caller: Caller | None, action: str, target: str, outcome: str, detail: str = ""
    ) -> None:
        """Append what somebody did. Words are cut at 500 characters. Never raises."""
        request = CURRENT.get()
        with self._lock:
            self._number += 1
            entry = AuditEntry(
                number=self._number,
                at=datetime.now(UTC),
                caller=caller.name if caller else "anonymous",
                role=caller.role if caller else "",
                session=caller.session if caller else False,
                peer=request.peer,
                request=request.id,
                action=_words(action),
                target=_words(target),
                outcome=_words(outcome),
                detail=_words(detail),
            )
            try:
                self._append(_line(entry))
            except OSError as error:
                logger.error("the audit log cannot be written: %s; lost: %s", error, _line(entry))

    def page(self, limit: int, before: int | None = None) -> AuditPage:
        """Up to `limit` entries, the newest first, with numbers below `before`."""
        found: list[AuditEntry] = []
        with self._lock:
            for entry in self._newest_first():
                if before is None or entry.number < before:
                    found.append(entry)
                if len(found) > limit:
                    break
        more = len(found) > limit
        return AuditPage(entries=found[:limit], next=str(found[limit - 1].number) if more else None)

    def _append(self, line: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        descriptor = folders.open_private(self._path, flags)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = "\n" + line  # an earlier process ended in the middle of an entry
            os.write(descriptor, line.encode("ascii"))
        finally:
            os.close(descriptor)
        if size + len(line) > self._bytes_max:
            self._rotate()

    def _rotate(self) -> None:
        for number in range(self._kept, 0, -1):
            older = self._numbered(number)
            newer = self._numbered(number - 1)
            if newer.exists():
                newer.replace(older)

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{FILE}.{number}") if number else self._path

    def _newest_first(self) -> Iterator[AuditEntry]:
        for number in range(self._kept + 1):
            path = self._numbered(number)
            if path.exists():
                for line in _lines_backwards(path):
                    entry = _read(line)
                    if entry is not None:
                        yield entry


def _words(text: str) -> str:
    """At most 500 characters, and half a surrogate pair as its escape: no reader takes one."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")[:TEXT_MAX]


def _line(entry: AuditEntry) -> str:
    text = json.dumps(entry.model_dump(mode="json"), ensure_ascii=True)
    return text.replace("\x7f", "\\u007f") + "\n"


def _read(line: bytes) -> AuditEntry | None:
    """None for a line that a crash cut off, or that is not ours."""
    try:
        return AuditEntry.model_validate_json(line)
    except ValidationError:
        return None


def _lines_backwards(path: Path) -> Iterator[bytes]:
    """The lines of a file, last one first, without reading all of it."""
    with path.open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        rest = b""
        while position > 0:
            size = min(_BLOCK, position)
            position -= size
            file.seek(position)
            first, *lines = (file.read(size) + rest).split(b"\n")
            rest = first
            yield from (line for line in reversed(lines) if line)
        if rest:
            yield rest
