"""Reads recorder files into events, while they grow and after their process is gone.

The layout stands in `chaos.worker.events`; this is the other end of `chaos.worker.recorder`. The
controller reads a file with `pread` as it grows and never maps it: the recorder cuts the file when
it closes, and a mapping past a file's end is a SIGBUS.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from chaos import event as e
from chaos.errors import HistoryError
from chaos.worker.events import (
    END_OF_SEGMENT,
    FILE_HEADER,
    HEADER_AFTER_LENGTH,
    HEADER_SIZE,
    LENGTH,
    MAGIC,
    Kind,
    Op,
    Outcome,
)
from chaos.worker.joined import PATH, Step

CHUNK_SIZE = 1 << 16


class EventFile:
    """Reads a recorder file while it grows, and after its process is gone.

    Args:
        path: the recorder's file; it may not exist yet.
        host: the host's full name; attempts become `<host>#<counter>`.
        origin_ns: CLOCK_MONOTONIC of the run's beginning; stamps count from there.
    """

    def __init__(self, path: Path, host: str, origin_ns: int) -> None:
        self.path = path
        self.host = host
        self._origin_ns = origin_ns
        self._position = 0
        self._segment_size = 0

    def read(self) -> list[e.Event]:
        """The events committed since the last call. A record not yet committed is left alone.

        Raises:
            HistoryError: the file is no recorder file, or a record of it makes no sense.
        """
        events: list[e.Event] = []
        try:
            with self.path.open("rb") as file:
                while self._read_segment(file.fileno(), events):
                    pass
        except FileNotFoundError:
            return []
        return events

    def torn(self) -> bool:
        """Whether bytes of an uncommitted record follow the last one (a killed host's)."""
        try:
            data = self.path.read_bytes()[self._position :]
        except FileNotFoundError:
            return False
        return any(data)

    def _read_segment(self, fd: int, events: list[e.Event]) -> bool:
        """Read on within one segment; true if the next one begins.

        Each turn takes at least one record, or asks for as many bytes as the next one needs.
        """
        if not self._segment_size and not self._read_file_header(fd):
            return False
        end = self._position + self._segment_size - self._position % self._segment_size
        size = CHUNK_SIZE
        while self._position < end:
            data = os.pread(fd, min(size, end - self._position), self._position)
            place, length = self._decode_all(data, events)
            self._position += place
            if length == END_OF_SEGMENT:
                self._position = end
                return True
            if length == 0 or (place == 0 and length <= len(data)):
                return False
            if place == 0 and size >= length:
                return False  # the file ends within this record
            size = max(CHUNK_SIZE, length)
        return False

    def _decode_all(self, data: bytes, events: list[e.Event]) -> tuple[int, int]:
        """Decode the whole records in `data`: the bytes they took, and the next one's length.

        That length is 0 where nothing is committed, and LENGTH.size where even it is not there yet.
        """
        place = 0
        while place + LENGTH.size <= len(data):
            (length,) = LENGTH.unpack_from(data, place)
            if length in (0, END_OF_SEGMENT):
                return place, length
            if not HEADER_SIZE <= length <= self._segment_size:
                raise HistoryError(f"{self._where(place)}: a record cannot have {length} bytes")
            if place + length > len(data):
                return place, length
            events += self._decode(data, place, length)
            place += (length + 7) & ~7
        return place, LENGTH.size

    def _where(self, place: int) -> str:
        return f"{self.path} at byte {self._position + place}"

    def _read_file_header(self, fd: int) -> bool:
        header = os.pread(fd, FILE_HEADER.size, 0)
        if len(header) < FILE_HEADER.size or not any(header):
            return False
        magic, segment_size = FILE_HEADER.unpack(header)
        if magic != MAGIC or segment_size % mmap.ALLOCATIONGRANULARITY:
            raise HistoryError(f"{self.path} is no recorder file (it begins with {magic!r})")
        self._segment_size = segment_size
        self._position = FILE_HEADER.size
        return True

    def _decode(self, data: bytes, place: int, length: int) -> list[e.Event]:
        """The event of a record, or its events if several travel in one."""
        header = HEADER_AFTER_LENGTH.unpack_from(data, place + LENGTH.size)
        kind, code, key_size, attempt, call, number, stamp_ns = header
        middle = place + HEADER_SIZE + key_size
        record = Record(
            host=self.host,
            t_us=(stamp_ns - self._origin_ns) // 1_000,
            code=code,
            job=data[place + HEADER_SIZE : middle].decode("utf-8", "replace"),
            attempt=attempt,
            call=call,
            number=number,
            text=data[middle : place + length].decode("utf-8", "replace"),
        )
        try:
            return [BUILDERS[each](part) for each, part in _apart(Kind(kind), record)]
        except (ValueError, KeyError, msgspec.ValidationError) as error:
            raise HistoryError(f"{self._where(place)}: no event: {error}") from error


class Record(msgspec.Struct, frozen=True):
    """One unpacked record: the header's fields, key and text (layout: `chaos.worker.events`).

    `n` is the event's place in the history, where that is known already. `fields` are the fields of
    one of the rarer events, if they did not travel as JSON in the text.
    """

    host: str
    t_us: int
    code: int
    job: str
    attempt: int
    call: int
    number: int
    text: str
    n: int = 0
    fields: dict[str, Any] | None = None

    def name(self, counter: int) -> str:
        """The attempt with this counter on this host; empty for 0."""
        return f"{self.host}#{counter}" if counter else ""

    def parts(self, count: int) -> list[str]:
        """The text's `\\x1f`-separated fields, filled up to `count` with empty ones."""
        parts = self.text.split("\x1f", count - 1)
        return parts + [""] * (count - len(parts))


# --- records that hold several events -------------------------------------------------------------


def _joined_steps() -> dict[Kind, tuple[Step, ...]]:
    """The steps of an attempt's path that each joined record stands for."""
    steps: dict[Kind, tuple[Step, ...]] = {}
    waiting: tuple[Step, ...] = ()
    for step in PATH:
        waiting += (step,)
        if step.writes:
            steps[Kind(step.writes)] = waiting
            waiting = ()
    return steps


_JOINED = _joined_steps()


def _apart(kind: Kind, record: Record) -> list[tuple[Kind, Record]]:
    """The records of single events that `record` stands for; most stand for themselves."""
    steps = _JOINED.get(kind)
    if steps is None:
        return [(kind, record)]
    parts: list[tuple[Kind, Record]] = []
    if kind is Kind.JOB_STARTED:
        function, digest, tries = record.parts(3)
        text = f"{function}\x1f{digest}"
        parts.append((Kind.ATTEMPT_BEGAN, replace(record, call=int(tries), text=text)))
    for step in steps:
        number = record.attempt if step.kind == Kind.SLOT_REMOVED else record.number
        part = replace(record, code=step.code, text=step.text, number=number)
        parts.append((Kind(step.kind), part))
    return parts


# --- one builder per kind: the hot ones by field, the rarer ones from JSON in the text ------------

_OPS = {op.value: op.name.lower() for op in Op}
_OUTCOMES = {outcome.value: outcome.name.lower() for outcome in Outcome}


def _call_invoked(r: Record) -> e.Event:
    status, detail, parent = r.parts(3)
    return e.CallInvoked(
        n=r.n, host=r.host, t_us=r.t_us, op=_OPS[r.code & 15], call=r.call, parent=int(parent or 0),
        job=r.job, attempt=r.name(r.attempt), enqueue=r.number, status=status, detail=detail,
    )  # fmt: skip


def _call_returned(r: Record) -> e.Event:
    return e.CallReturned(
        n=r.n, host=r.host, t_us=r.t_us, op=_OPS[r.code & 15], call=r.call, job=r.job,
        attempt=r.name(r.attempt), enqueue=r.number, outcome=_OUTCOMES[r.code >> 4], detail=r.text,
    )  # fmt: skip


def _attempt_began(r: Record) -> e.Event:
    function, digest = r.parts(2)
    return e.AttemptBegan(
        n=r.n, host=r.host, t_us=r.t_us, job=r.job, attempt=r.name(r.attempt), enqueue=r.number,
        tries=r.call >> 16, retries=r.call & 0xFFFF, function=function, digest=digest,
    )  # fmt: skip


def _ended(struct: Callable[..., e.Event]) -> Callable[[Record], e.Event]:
    def build(r: Record) -> e.Event:
        return struct(
            n=r.n, host=r.host, t_us=r.t_us, job=r.job, attempt=r.name(r.attempt),
            outcome=_OUTCOMES[r.code], error=r.text,
        )  # fmt: skip

    return build


def _body_began(r: Record) -> e.Event:
    return e.BodyBegan(
        n=r.n, host=r.host, t_us=r.t_us, job=r.job, attempt=r.name(r.attempt), thread=bool(r.code)
    )


def _body_cancelled(r: Record) -> e.Event:
    aborted = r.text if r.code else None
    return e.BodyCancelled(
        n=r.n, host=r.host, t_us=r.t_us, job=r.job, attempt=r.name(r.attempt), aborted=aborted
    )


def _slot(struct: Callable[..., e.Event]) -> Callable[[Record], e.Event]:
    def build(r: Record) -> e.Event:
        return struct(n=r.n, host=r.host, t_us=r.t_us, job=r.job, attempt=r.name(r.attempt))

    return build


def _slot_by(struct: Callable[..., e.Event]) -> Callable[[Record], e.Event]:
    def build(r: Record) -> e.Event:
        return struct(
            n=r.n, host=r.host, t_us=r.t_us, job=r.job, attempt=r.name(r.attempt),
            by=r.name(r.number),
        )  # fmt: skip

    return build


def _fields(struct: type[e.Event]) -> Callable[[Record], e.Event]:
    """An event whose own fields travel as JSON; job and attempt come from the header."""
    names = {field.name for field in msgspec.structs.fields(struct)}
    has_job, has_attempt = "job" in names, "attempt" in names

    def build(r: Record) -> e.Event:
        own = json.loads(r.text) if r.fields is None else r.fields
        if has_job:
            own["job"] = r.job
        if has_attempt:
            own["attempt"] = r.name(r.attempt)
        if r.fields is not None:  # not from a file: what our own code says is taken as it is
            return struct(n=r.n, host=r.host, t_us=r.t_us, **own)
        return msgspec.convert({"n": r.n, "host": r.host, "t_us": r.t_us, **own}, struct)

    return build


BUILDERS: dict[Kind, Callable[[Record], e.Event]] = {
    Kind.CALL_INVOKED: _call_invoked,
    Kind.CALL_RETURNED: _call_returned,
    Kind.ATTEMPT_BEGAN: _attempt_began,
    Kind.PROCESS_ENDED: _ended(e.ProcessEnded),
    Kind.BODY_BEGAN: _body_began,
    Kind.BODY_CANCELLED: _body_cancelled,
    Kind.BODY_ENDED: _ended(e.BodyEnded),
    Kind.SLOT_SET: _slot(e.SlotSet),
    Kind.SLOT_MISSED: _slot(e.SlotMissed),
    Kind.SLOT_OVERWRITTEN: _slot_by(e.SlotOverwritten),
    Kind.SLOT_REMOVED: _slot_by(e.SlotRemoved),
    Kind.HOST_BEGAN: _fields(e.HostBegan),
    Kind.HOST_STOPPING: _fields(e.HostStopping),
    Kind.HOST_ENDED: _fields(e.HostEnded),
    Kind.BLIND: _fields(e.Blind),
    Kind.ERROR_RAISED: _fields(e.ErrorRaised),
    Kind.UPKEEP_ENDED: _fields(e.UpkeepEnded),
    Kind.JOB_STATE: _fields(e.JobState),
    Kind.QUEUE_DEPTH: _fields(e.QueueDepth),
    Kind.ANSWERED: _fields(e.Answered),
    Kind.RUN_BEGAN: _fields(e.RunBegan),
    Kind.PHASE_BEGAN: _fields(e.PhaseBegan),
    Kind.FAULT_INJECTED: _fields(e.FaultInjected),
    Kind.FAULT_HEALED: _fields(e.FaultHealed),
    Kind.HOST_STARTED: _fields(e.HostStarted),
    Kind.HOST_SIGNALLED: _fields(e.HostSignalled),
    Kind.HOST_EXITED: _fields(e.HostExited),
    Kind.LIMIT_REACHED: _fields(e.LimitReached),
    Kind.RUN_ENDED: _fields(e.RunEnded),
    Kind.SERVER_FOUND: _fields(e.ServerFound),
}
