"""The run directory: its name, its first files, and the link to the latest one.

`runs/<id>/` is 0700 and new; the id is the UTC time, the plan and the seed, so that a listing is in
order and a person can tell runs apart. What each file of it holds stands in docs/results.md.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from chaos.errors import WorldError
from chaos.live.hosts import Files
from chaos.plan import Plan

LATEST = "latest"
PRIVATE_UMASK = 0o077
_TRIES = 100


def private_umask() -> None:
    """Whatever this process writes from now on is 0600 or 0700, whoever lets others read.

    For a whole process of ours (a verb), not for a library call inside somebody else's.
    """
    os.umask(PRIVATE_UMASK)


def make(runs_dir: Path, plan: Plan, name: str = "") -> Path:
    """A new run directory with its hosts/ folder; `runs/latest` then points to it.

    `name` is its name, which must be free; empty: made of the time, the plan and the seed.

    Raises:
        WorldError: it cannot be made; the message names the path and the system's reason.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    try:
        runs_dir.mkdir(parents=True, exist_ok=True)
        wanted = name or f"{stamp}-{plan.plan}-{plan.seed}"
        folder = _new_folder(runs_dir, wanted, 1 if name else _TRIES)
        (folder / "hosts").mkdir(mode=0o700)
        _point_latest(runs_dir / LATEST, folder.name)
    except OSError as error:
        raise WorldError(
            f"cannot make a run directory in {runs_dir}: {error.strerror}; "
            f"name another place with --run-dir"
        ) from error
    return folder


def wall_clock() -> str:
    """Now, in ISO 8601 with UTC: the one wall-clock time that a history holds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def new_salt() -> str:
    """What this run's job contents are hashed with; it is stored nowhere after the run."""
    return os.urandom(16).hex()


def forget_salts(folder: Path) -> None:
    """Delete the hosts' config files: the salt stands in them, and a Redis password may."""
    for path in sorted((folder / "hosts").rglob("*.json")):
        path.unlink(missing_ok=True)


def controller_files(folder: Path) -> Files:
    """Where the controller's own events go."""
    return Files(folder / "hosts", "controller")


def _new_folder(runs_dir: Path, name: str, tries: int) -> Path:
    for number in range(1, tries + 1):
        folder = runs_dir / (name if number == 1 else f"{name}.{number}")
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(0, f"{tries} runs named {name} exist already", str(runs_dir))


def _point_latest(link: Path, target: str) -> None:
    """Replace the link in one step, so that a reader never finds it missing."""
    fresh = link.with_name(f".{LATEST}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)
