"""The history of a run: its events in order, and their JSON Lines form.

    hosts/<host>.events ──tail.EventFile──► Event ──merge──► History ──► history.jsonl ──► History

A history is all that a checker sees beside the plan, so a stored one can be judged again by
tomorrow's checkers. It may also be written by hand: numbers can be left out.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from chaos.errors import HistoryError
from chaos.event import (
    CONTROLLER,
    AnyEvent,
    Event,
    HostExited,
    HostSignalled,
    HostStarted,
    RunBegan,
)

_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder().encode_lines
_decode = msgspec.json.Decoder(AnyEvent).decode


class History(Sequence[Event]):
    """All events of a run, ordered by stamp, numbered from 1 without gaps."""

    def __init__(self, events: Iterable[Event]) -> None:
        """Take events in order; whatever numbers they carry are replaced by their places."""
        self._events = [
            event if event.n == n else msgspec.structs.replace(event, n=n)
            for n, event in enumerate(events, 1)
        ]

    @classmethod
    def merge(cls, hosts: Iterable[Iterable[Event]]) -> History:
        """One history of many hosts' events. Each host's own order is kept exactly."""
        return cls(heapq.merge(*hosts, key=lambda event: event.t_us))

    @classmethod
    def read(cls, path: Path) -> History:
        """Read JSON Lines, also written by hand: numbers may be left out, stamps may repeat.

        Raises:
            HistoryError: the file is missing, or a line is no event; the message names the line.
        """
        return cls(_read_lines(path))

    def write(self, path: Path) -> None:
        """Write JSON Lines, one event a line."""
        with path.open("wb") as file:
            for event in self._events:
                file.write(_encode(event) + b"\n")

    def digest(self) -> str:
        """SHA-256 over the JSON Lines form: equal digests, equal histories."""
        sha = hashlib.sha256()
        for event in self._events:
            sha.update(_encode(event) + b"\n")
        return sha.hexdigest()

    def variants(self) -> tuple[str, ...]:
        """The variants that had hosts, in the order in which the run named them."""
        for event in self._events:
            if isinstance(event, RunBegan):
                return event.variants
        return tuple(dict.fromkeys(event.variant for event in self._events if event.variant))

    def of(self, variant: str) -> tuple[Event, ...]:
        """The events of one variant's hosts and the controller's events about it, in order."""
        return tuple(event for event in self._events if concerns(event, variant))

    def __getitem__(self, index: Any) -> Any:
        return self._events[index]

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)  # Sequence's own asks for every index


def read_line(line: bytes) -> Event:
    """The event of one line of a history.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return _decode(line)


def to_json(event: Event) -> bytes:
    """One line of a history, without its newline."""
    return _encode(event)


def to_json_lines(events: Sequence[Event]) -> bytes:
    """Lines of a history, each with its newline."""
    return _encode_lines(events)


def concerns(event: Event, variant: str) -> bool:
    """Whether an event belongs to one variant's story: its hosts', or the controller's about it."""
    if event.host != CONTROLLER:
        return event.variant == variant
    if isinstance(event, HostStarted | HostSignalled | HostExited):
        return event.target.rpartition("/")[0] == variant
    return getattr(event, "of", "") in ("", variant)


def _read_lines(path: Path) -> Iterator[Event]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _read_line(path, number, line)
    except OSError as error:
        raise HistoryError(f"cannot read the history {path}: {error.strerror}") from error


def _read_line(path: Path, number: int, line: bytes) -> Event:
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HistoryError(f"{path}:{number}: no event: {error}") from error
