"""What is kept on disk, and reading it back: runs and environments.

    runs/<id>/ ─┬─ history.jsonl ───────────┐
                └─ hosts/**/*.events ──merge─┴─► StoredRun ──► judged again
    cache/environments/<key>/saq-chaos.json ──► Entry

A run that crashed has no history.jsonl, but its recorders' files: they are merged. Only folders
that carry our own marker files count as ours, here and when something is deleted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from chaos import host_files
from chaos.environments import environments_dir
from chaos.errors import HistoryError
from chaos.history import History
from chaos.host_files import HOSTS_FOLDER

PLAN_FILE = "plan.yaml"
HISTORY_FILE = "history.jsonl"
VERDICT_FILE = "verdict.json"
ENVIRONMENT_MARKER = "saq-chaos.json"


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A history and what lies beside it.

    Attributes:
        history: all events.
        folder: the run directory, if there is one.
        plan_file: the stored plan, if there is one.
        rebuilt: whether the history was merged from recorder files.
    """

    history: History
    folder: Path | None
    plan_file: Path | None
    rebuilt: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """Something of ours on disk. `changed_s` is its file system time in seconds."""

    path: Path
    title: str
    changed_s: float
    finished: bool = True


def open_run(path: Path) -> StoredRun:
    """Read a history file or a run directory.

    Raises:
        HistoryError: there is no history there, or a line of it is no event.
    """
    if path.is_dir():
        return _open_folder(path)
    folder = path.parent if is_run(path.parent) else None
    plan = path.parent / PLAN_FILE
    return StoredRun(History.read(path), folder, plan if plan.is_file() else None)


def _open_folder(folder: Path) -> StoredRun:
    plan = folder / PLAN_FILE
    plan_file = plan if plan.is_file() else None
    if (folder / HISTORY_FILE).is_file():
        return StoredRun(History.read(folder / HISTORY_FILE), folder, plan_file)
    history = rebuild(folder)
    if not history:
        raise HistoryError(
            f"{folder} holds no history: neither {HISTORY_FILE} nor {HOSTS_FOLDER}/*.events with "
            f"events in them; name a run directory (runs/latest) or a history file"
        )
    return StoredRun(history, folder, plan_file, rebuilt=True)


def rebuild(folder: Path) -> History:
    """The history of a run directory, merged from its recorders' files.

    Stamps count from the first event of all, since the run's own beginning may not be recorded.
    """
    return host_files.merge(folder, host_files.first_ns(folder))


def is_run(folder: Path) -> bool:
    """Whether this is a run directory of ours: a stored plan and the folder of its hosts."""
    try:
        return (folder / PLAN_FILE).is_file() and (folder / HOSTS_FOLDER).is_dir()
    except PermissionError:  # nobody can tell: it is left alone
        return False


def runs(runs_dir: Path) -> tuple[Entry, ...]:
    """The run directories in `runs_dir`, the newest first. Links are no runs."""
    if not runs_dir.is_dir():
        return ()
    folders = [path for path in sorted(runs_dir.iterdir()) if not path.is_symlink()]
    entries = [_run_entry(path) for path in folders if path.is_dir() and is_run(path)]
    return _newest_first(entries)


def _run_entry(folder: Path) -> Entry:
    """A run's time is that of what it wrote last."""
    written = [folder, *sorted((folder / HOSTS_FOLDER).rglob("*.events"))]
    changed_s = max(path.stat().st_mtime for path in written)
    return Entry(folder, folder.name, changed_s, (folder / VERDICT_FILE).is_file())


def environments() -> tuple[Entry, ...]:
    """The finished environments in the cache, the newest first."""
    folder = environments_dir()
    if not folder.is_dir():
        return ()
    markers = [path / ENVIRONMENT_MARKER for path in sorted(folder.iterdir()) if path.is_dir()]
    return _newest_first([_environment_entry(marker) for marker in markers if marker.is_file()])


def _environment_entry(marker: Path) -> Entry:
    try:
        title = str(json.loads(marker.read_text("utf-8"))["title"])
    except (ValueError, KeyError, TypeError):
        title = marker.parent.name
    return Entry(marker.parent, title, marker.stat().st_mtime)


def _newest_first(entries: list[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: (-entry.changed_s, entry.path.name)))
