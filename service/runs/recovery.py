"""What an earlier process of the service left: a run that was cut off, a damaged index, orphans.

    open_store  ──damaged?──► set aside, a new one, rows made from the run directories
    recover     running ──► ended, interrupted, and said so; its partial history is judged later
                `.deleting-…` ──► deleted, with its row;  a folder without a row ──► said in the log

A run whose runner had written its verdict before the service could note it keeps that verdict.
A broken run directory never stops the service: what cannot be read is said in the run's `error`.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from chaos import plan_file, stored
from chaos.errors import SaqChaosError
from chaos.plan import Plan
from chaos.reports import verdict_json
from chaos.verdict import Verdict
from service.errors import Unavailable
from service.models import EventData, Run
from service.run_files import read_own, size_of
from service.runs import retention, summary
from service.runs.journal import Journal
from service.runs.judging import Judging
from service.runs.retention import DELETING
from service.runs.store import INDEX, Store

ROOM_BYTES = 1 << 20  # SQLite's shared memory and its log need less
CUT_OFF = "the service ended while this run went on; what it had started was ended with it"
ADOPTED = "the index of runs was damaged; this run was found again by its directory"
_LOG = logging.getLogger("service.runs")


def open_store(data_dir: Path, runs_dir: Path) -> Store:
    """The index; a damaged one is set aside and made again from the run directories."""
    try:
        return Store(data_dir)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):  # full, locked, no permission: not damage
            raise Unavailable(
                f"the index ({INDEX}) cannot be opened: {error}{way_out(data_dir)}"
            ) from error
        aside = _set_aside(data_dir)
        _LOG.error(
            "the index of runs is damaged (%s): it was set aside as %s, and a new one is made "
            "from the run directories",
            error, aside.name,
        )  # fmt: skip
    store = Store(data_dir)
    for entry in reversed(stored.runs(runs_dir)):
        adopt(store, entry.path, entry.changed_s)
    return store


def way_out(folder: Path) -> str:
    """What to do about a database that cannot be opened, where the disk tells."""
    if shutil.disk_usage(folder).free < ROOM_BYTES:
        return "; the disk of the data directory is full: make room, and start the service again"
    return "; another process may hold it, or its permissions are wrong"


def _set_aside(data_dir: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    aside = data_dir / f"{INDEX}.damaged-{stamp}"
    (data_dir / INDEX).rename(aside)
    with suppress(FileNotFoundError):  # it may hold what the damaged file lacks
        (data_dir / f"{INDEX}-wal").rename(f"{aside}-wal")
    (data_dir / f"{INDEX}-shm").unlink(missing_ok=True)
    return aside


def adopt(store: Store, folder: Path, changed_s: float) -> None:
    """Make a row for a run directory."""
    plan, verdict, problem = read_folder(folder)
    at = datetime.fromtimestamp(changed_s, UTC)
    run = Run(
        id=folder.name,
        state="ended",
        outcome="error" if verdict is None else None,
        plan=plan.plan if plan else "unknown",
        world="sim" if verdict and verdict.world == "sim" else "live",
        seed=plan.seed if plan else 0,
        variants=list(plan.variants) if plan else [],
        gate=plan.gate if plan else "strict",
        labels={},
        trigger="api",
        requested_by="unknown",
        created_at=at,
        ended_at=at,
        error=problem or None,
    )
    run = with_stored(run, verdict)
    try:
        store.add(run, "")
        store.put(run, size_of(folder))
        store.append(run.id, "note", EventData(text=ADOPTED))
        store.append(run.id, "ended", EventData(outcome=run.outcome, exit_code=run.exit_code))
    except Unavailable as error:
        _LOG.error("run %s could not be taken into the index: %s", folder.name, error)


def read_folder(folder: Path) -> tuple[Plan | None, Verdict | None, str]:
    """The plan and the verdict of a run directory, as far as they can be read, and what cannot."""
    plan, verdict, problem = None, None, ""
    try:
        text = read_own(folder / stored.PLAN_FILE).decode()
        plan = plan_file.loads(text, stored.PLAN_FILE)
    except (SaqChaosError, OSError, ValueError):
        problem = "its plan.yaml cannot be read"
    try:
        content = read_own(folder / stored.VERDICT_FILE)
        verdict = verdict_json.loads(content, stored.VERDICT_FILE)
    except (SaqChaosError, OSError, ValueError):
        problem = problem or "its verdict.json is missing, or cannot be read"
    return plan, verdict, problem


def with_stored(run: Run, verdict: Verdict | None) -> Run:
    """The run with what its stored verdict says."""
    if verdict is None:
        return run
    code = summary.exit_code(verdict)
    return run.model_copy(
        update={
            "outcome": summary.outcome(code, stopped=False),
            "exit_code": code,
            "verdict": summary.of_variants(verdict),
            "gate_answer": summary.of_gate(verdict.gate),
        }
    )


def recover(store: Store, journal: Journal, judging: Judging, runs_dir: Path) -> None:
    """End what went on when the service ended, and look through the run directories."""
    for run in store.in_state("running"):
        _end(run, journal, judging, runs_dir / run.id)
    known = dict.fromkeys(store.ids())
    for folder in sorted(runs_dir.iterdir()):
        if folder.name.startswith(DELETING):
            _delete(store, folder)
        elif folder.is_dir() and not folder.is_symlink() and folder.name not in known:
            _LOG.warning("%s is no run of this service: it is left alone", folder.name)


def _delete(store: Store, folder: Path) -> None:
    """Go on with a deletion that the end of the service, or a full disk, has cut off."""
    try:
        retention.finish(store, folder, folder.name.removeprefix(DELETING))
    except (Unavailable, OSError) as error:
        _LOG.error("%s is deleted at a later start: %s", folder.name, error)


def _end(run: Run, journal: Journal, judging: Judging, folder: Path) -> None:
    verdict = read_folder(folder)[1]
    if verdict is not None:
        whole = with_stored(run, verdict)
        text = "its end was found in its run directory: the service was away when it came"
    else:
        whole = run.model_copy(
            update={"outcome": "interrupted", "exit_code": 130, "error": CUT_OFF}
        )
        text = CUT_OFF
    whole = whole.model_copy(update={"state": "ended", "ended_at": datetime.now(UTC)})
    _LOG.warning("run %s: %s", run.id, text)
    journal.say(run.id, "note", EventData(text=text))
    journal.conclude(whole, text, size_of(folder))
    if verdict is None:
        judging.add(run.id)
