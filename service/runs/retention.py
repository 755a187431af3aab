"""Which ended runs are kept, and how one is deleted: out of sight, its files, then its row.

    runs/R ──renamed──► runs/.deleting-R ──emptied──► the row goes ──► the empty folder goes

The renaming decides: whatever ends the service after it, the next start goes on from there. Files
go before the row, so that on a full disk a deletion makes the room that the index needs for it. A
folder that could only be renamed never looks like half a run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from chaos.clock import SECOND_US
from service.runs.store import Ended, Store
from service.settings import Retention

DAY_S = 86_400
DELETING = ".deleting-"


class Today:
    """The time that ages are taken from: no later than this process can know it to be.

    A wall clock that jumps forward while the service runs would make every run old at once. So the
    time is that of the wall clock at the start and what a monotonic clock has counted since, or the
    wall clock where that is earlier. A clock that is wrong at the start is believed.

    Args:
        wall_s: the wall clock at the start, seconds since 1970.
        clock_us: the monotonic clock at the start.
    """

    def __init__(self, wall_s: float, clock_us: int) -> None:
        self._wall_s = wall_s
        self._clock_us = clock_us

    def now_s(self, wall_s: float, clock_us: int) -> float:
        """Seconds since 1970."""
        return min(wall_s, self._wall_s + (clock_us - self._clock_us) / SECOND_US)


def surplus(runs: list[Ended], keep: Retention, now_s: float) -> Iterator[str]:
    """The runs to be deleted, the oldest first; never the newest. `runs` are the oldest first."""
    size = sum(run.size for run in runs)
    left = len(runs)
    for run in runs[:-1]:
        is_old = now_s - run.ended > keep.days * DAY_S
        if is_old or left > keep.runs or size > keep.total_bytes:
            size -= run.size
            left -= 1
            yield run.id


def remove(store: Store, runs_dir: Path, logs: Path, run: str) -> None:
    """Delete an ended run: its files and its row.

    Raises:
        OSError: its directory cannot be moved; nothing was deleted.
        Unavailable: the index cannot be written; the files are gone, and asking again is the way.
    """
    folder, doomed = runs_dir / run, runs_dir / f"{DELETING}{run}"
    if folder.is_symlink():
        folder.unlink()  # where it leads is nothing of ours
    elif folder.is_dir():
        folder.rename(doomed)
    (logs / f"{run}.log").unlink(missing_ok=True)
    finish(store, doomed, run)


def finish(store: Store, doomed: Path, run: str) -> None:
    """The rest of a deletion that was decided. Raises Unavailable as `remove` does."""
    if doomed.is_symlink():
        doomed.unlink()
    elif doomed.is_dir():
        for entry in sorted(doomed.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                with suppress(OSError):
                    entry.unlink()
    store.remove(run)
    shutil.rmtree(doomed, ignore_errors=True)
