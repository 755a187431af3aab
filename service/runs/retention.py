"""Which ended runs are kept, and how one is deleted: files first out of sight, then the row.

A directory that is being deleted is renamed first, so that a crash in between leaves something that
the next start knows to be rubbish, and never half a run that looks whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from service.runs.recovery import DELETING
from service.runs.store import Ended, Store
from service.settings import Retention

DAY_S = 86_400


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
        Unavailable: the index cannot be written.
    """
    folder, doomed = runs_dir / run, runs_dir / f"{DELETING}{run}"
    if folder.is_dir() and not folder.is_symlink():
        folder.rename(doomed)
    store.remove(run)
    shutil.rmtree(doomed, ignore_errors=True)
    (logs / f"{run}.log").unlink(missing_ok=True)
