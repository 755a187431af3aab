"""The recorders' files of a run directory: their size while it runs, and their events after it.

    hosts/<variant>/<host>.events ──tail.EventFile each──► History.merge

A host's name is the path of its file below `hosts/` without the ending.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from chaos.history import History
from chaos.tail import EventFile

HOSTS_FOLDER = "hosts"


def size(folder: Path) -> int:
    """Bytes that the recorders of a run directory have taken on disk so far."""
    return sum(path.stat().st_size for path, _ in _files(folder))


def merge(folder: Path, origin_ns: int) -> History:
    """The history of a run directory; stamps count from `origin_ns` (CLOCK_MONOTONIC)."""
    return History.merge(EventFile(path, host, origin_ns).read() for path, host in _files(folder))


def first_ns(folder: Path) -> int:
    """CLOCK_MONOTONIC of the earliest event, to the microsecond; 0 if there is none."""
    stamps_us = [
        event.t_us for path, host in _files(folder) for event in EventFile(path, host, 0).read()[:1]
    ]
    return min(stamps_us, default=0) * 1_000


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    hosts = folder / HOSTS_FOLDER
    for path in sorted(hosts.rglob("*.events")):
        yield path, path.relative_to(hosts).with_suffix("").as_posix()
