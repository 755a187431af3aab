"""Which runs are kept, what a full disk does, and that nothing piles up over many runs."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from service.errors import Conflict, NotFound, Unavailable
from service.ports import RunFilter
from service.runs.manager import RunManager
from service.runs.retention import surplus
from service.runs.store import Ended
from service.settings import Limits, Retention
from tests.service.runs.running import ANN, API, Managing, ended, followed, sim, until

DAY = 86_400.0
RUNS = [Ended(f"r{n}", n * DAY, 100, None) for n in range(1, 6)]


@pytest.mark.parametrize(
    ("keep", "now", "deleted"),
    [
        (Retention(), 6 * DAY, []),
        (Retention(runs=2), 6 * DAY, ["r1", "r2", "r3"]),
        (Retention(days=3), 6 * DAY, ["r1", "r2"]),
        (Retention(days=3), 100 * DAY, ["r1", "r2", "r3", "r4"]),
    ],
)
def test_runs_beyond_the_count_or_the_age_are_deleted_but_never_the_newest(
    keep: Retention, now: float, deleted: list[str]
) -> None:
    assert list(surplus(RUNS, keep, now)) == deleted


def test_the_oldest_runs_make_room_for_the_total_size_and_the_newest_stays() -> None:
    large = [run._replace(size=1_000) for run in RUNS]
    assert list(surplus(large, Retention(total_bytes=2_500), 6 * DAY)) == ["r1", "r2", "r3"]
    assert list(surplus(large, Retention(total_bytes=1_024), 6 * DAY)) == ["r1", "r2", "r3", "r4"]
    assert list(surplus([], Retention(), 0.0)) == []


@pytest.mark.usefixtures("simulated")
async def test_old_runs_go_with_their_files_and_a_run_is_deleted_when_it_has_ended(
    manager: Managing,
) -> None:
    runs = await manager(retention=Retention(runs=2))
    asked = [runs.submit(sim(seed=seed), API) for seed in (1, 2, 3)]
    with pytest.raises(Conflict, match="has not ended: stop it first"):
        await runs.delete(asked[2].id, ANN)
    folders = [runs.folder(run.id) for run in asked]
    for run in asked:
        await ended(runs, run.id)
    async with asyncio.timeout(30):
        while len(runs.find(RunFilter(), None, 10).runs) == 3:
            await asyncio.sleep(0.02)
    assert [folder.is_dir() for folder in folders] == [False, True, True]
    await runs.delete(asked[1].id, ANN)
    assert [folder.is_dir() for folder in folders] == [False, False, True]
    with pytest.raises(NotFound):
        runs.get(asked[1].id)


@pytest.mark.usefixtures("simulated")
async def test_the_size_of_a_run_is_that_of_its_files_and_its_events(manager: Managing) -> None:
    runs = await manager()
    whole = await ended(runs, runs.submit(sim(), API).id)
    files = sum(path.stat().st_size for path in files_of(runs.folder(whole.id)))
    said = sum(
        len(one.data.model_dump_json(exclude_none=True)) for one in await followed(runs, whole.id)
    )
    (kept,) = runs._store.ended()
    last = len((await followed(runs, whole.id))[-1].data.model_dump_json(exclude_none=True))
    assert kept.size == files + said - last


def files_of(folder: Path) -> list[Path]:
    """All files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.usefixtures("simulated")
async def test_a_broken_run_directory_breaks_neither_the_list_nor_the_run(
    manager: Managing,
) -> None:
    runs = await manager()
    whole = await ended(runs, runs.submit(sim(), API).id)
    folder = runs.folder(whole.id)
    (folder / "verdict.json").write_text("{")
    assert runs.find(RunFilter(), None, 10).runs == [runs.get(whole.id)]
    shutil.rmtree(folder)
    assert runs.get(whole.id).verdict == whole.verdict
    await runs.delete(whole.id, ANN)
    assert runs.find(RunFilter(), None, 10).runs == []


@pytest.mark.usefixtures("simulated")
async def test_a_deletion_that_the_index_cannot_take_is_finished_by_the_next_one_or_the_next_start(
    manager: Managing, data_dir: Path
) -> None:
    runs = await manager()
    one, two, last = [await ended(runs, runs.submit(sim(), API).id) for _ in range(3)]
    _connection(runs).execute("PRAGMA query_only=1")
    for run in (one, two):
        with pytest.raises(Unavailable, match="the index cannot be written"):
            await runs.delete(run.id, ANN)
        assert not (data_dir / "runs" / run.id).exists()
        assert list((data_dir / "runs" / f".deleting-{run.id}").iterdir()) == []
    _connection(runs).execute("PRAGMA query_only=0")
    await runs.delete(one.id, ANN)
    await runs.close()
    again = await manager()
    assert [run.id for run in again.find(RunFilter(), None, 10).runs] == [last.id]
    folders = [path.name for path in (data_dir / "runs").iterdir() if not path.is_symlink()]
    assert folders == [last.id]


# --- a full disk ----------------------------------------------------------------------------------


def _connection(runs: RunManager) -> sqlite3.Connection:
    """The index: a test has no file system of its own to fill up."""
    return runs._store._connection


async def test_a_full_index_is_said_and_takes_runs_again_once_there_is_room(
    manager: Managing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.runs.manager.TIDY_SECONDS", 0.05)
    monkeypatch.setattr("service.runs.queue.RunQueue._next", lambda self: None)
    runs = await manager(limits=Limits(waiting_runs=10_000))
    pages = _connection(runs).execute("PRAGMA page_count").fetchone()[0]
    _connection(runs).execute(f"PRAGMA max_page_count={pages}")
    text = "the index cannot be written: database or disk is full"
    with pytest.raises(Unavailable, match=text):
        _submit_many(runs)
    assert runs.ready() == text
    assert runs.find(RunFilter(), None, 1).runs != []
    _connection(runs).execute("PRAGMA max_page_count=1000000")
    async with asyncio.timeout(30):
        while runs.ready():
            await asyncio.sleep(0.02)
    assert runs.submit(sim(), API).state == "queued"


def _submit_many(runs: RunManager) -> None:
    for seed in range(1_000):
        runs.submit(sim(seed=seed, labels={"much": "x" * 200}), API)


@pytest.mark.usefixtures("simulated")
async def test_an_index_that_takes_no_more_events_ends_the_run_and_its_end_is_not_forgotten(
    manager: Managing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.runs.manager.TIDY_SECONDS", 0.05)
    runs = await manager()
    run = runs.submit(sim(), API)
    await until(runs, run.id, lambda event: event.data.state == "running")
    _connection(runs).execute("PRAGMA query_only=1")
    async with asyncio.timeout(60):
        while runs.get(run.id).state != "ended":
            await asyncio.sleep(0.02)
    text = "the index cannot be written: attempt to write a readonly database"
    broken = runs.get(run.id)
    assert (broken.outcome, broken.exit_code) == ("error", 4)
    assert broken.error == f"its events cannot be kept: {text}"
    assert runs.ready() == text
    _connection(runs).execute("PRAGMA query_only=0")
    async with asyncio.timeout(30):
        while runs.ready():
            await asyncio.sleep(0.02)
    events = await followed(runs, run.id)
    assert (events[-1].type, events[-1].data.outcome) == ("ended", "error")
    assert runs.get(run.id).error == broken.error


@pytest.mark.usefixtures("simulated")
async def test_a_run_directory_that_cannot_be_written_ends_the_run_as_an_error(
    manager: Managing, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.runs.manager.TIDY_SECONDS", 0.05)
    runs = await manager()
    (data_dir / "runs").rmdir()
    run = runs.submit(sim(), API)
    (data_dir / "runs").write_text("in the way")
    whole = await ended(runs, run.id)
    assert (whole.outcome, whole.exit_code) == ("error", 4)
    assert whole.error is not None
    assert whole.error.startswith("cannot make a run directory in ")
    while not runs.ready():
        await asyncio.sleep(0.02)
    assert runs.ready() == "run directories cannot be written: Not a directory"
    with pytest.raises(Unavailable, match="run directories cannot be written"):
        runs.submit(sim(), API)
    (data_dir / "runs").unlink()
    (data_dir / "runs").mkdir()
    async with asyncio.timeout(30):
        while runs.ready():
            await asyncio.sleep(0.02)
    assert (await ended(runs, runs.submit(sim(), API).id)).outcome == "passed"


# --- nothing piles up -----------------------------------------------------------------------------


def children() -> list[str]:
    """The pids of this process's children, zombies too."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return listed.split()


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.usefixtures("simulated")
async def test_runs_that_are_started_and_stopped_leave_no_process_and_no_descriptor(
    manager: Managing,
) -> None:
    runs = await manager()
    await _start_and_stop(runs)
    before: tuple[Any, ...] = (descriptors(), children(), len(asyncio.all_tasks()))
    for _ in range(5):
        await _start_and_stop(runs)
    assert (descriptors(), children(), len(asyncio.all_tasks())) == before


async def _start_and_stop(runs: RunManager) -> None:
    run = runs.submit(sim(), API)
    async for event in runs.events(run.id, 0):
        if event.data.state == "running":
            await runs.stop(run.id, ANN)
    assert runs.get(run.id).outcome in ("stopped", "passed")
    while runs._queue.current is not None:
        await asyncio.sleep(0.01)
