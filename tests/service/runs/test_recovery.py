"""What a service finds that was killed, whose index is damaged, or whose run directories are."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from service.ports import RunFilter
from service.runs.store import INDEX, MIGRATIONS, Store, VersionTooNew
from tests.service.runs.running import API, Managing, ended, followed, nothing_is_left, sim

SCRIPT = Path(__file__).parent / "service_process.py"
Service = Callable[[], subprocess.Popen[str]]


@pytest.fixture
def service(data_dir: Path, plans_dir: Path) -> Iterator[Service]:
    """Starts a service process; what still runs at the end is ended."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        argv = [sys.executable, str(SCRIPT), str(data_dir), str(plans_dir)]
        root = str(Path(__file__).parents[3])
        process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": root}
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=60)


@pytest.mark.usefixtures("built", "simulated")
async def test_a_killed_service_leaves_no_process_and_the_next_one_says_what_became_of_its_runs(
    manager: Managing, service: Service
) -> None:
    process = await asyncio.to_thread(service)
    assert process.stdout is not None
    first, second = (await asyncio.to_thread(process.stdout.readline)).split()
    assert await asyncio.to_thread(process.stdout.readline) == "begun\n"
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    nothing_is_left(first)

    runs = await manager()
    cut = runs.get(first)
    assert (cut.state, cut.outcome, cut.exit_code) == ("ended", "interrupted", 130)
    assert cut.error == (
        "the service ended while this run went on; what it had started was ended with it"
    )
    events = await followed(runs, first)
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    assert [event.type for event in events[-2:]] == ["note", "ended"]
    waited = await ended(runs, second)
    assert waited.outcome == "passed", waited.error
    async with asyncio.timeout(60):
        while runs.get(first).verdict is None:
            await asyncio.sleep(0.05)
    verdict = runs.get(first).verdict
    assert verdict is not None
    assert verdict[0].counters["attempts"] > 3
    names = sorted(path.name for path in runs.folder(first).iterdir())
    assert {"history.jsonl", "verdict.json", "report.html", "junit.xml"} <= set(names)


@pytest.mark.usefixtures("simulated")
async def test_a_damaged_index_is_set_aside_and_made_again_from_the_run_directories(
    manager: Managing, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runs = await manager()
    good = await ended(runs, runs.submit(sim(seed=4), API).id)
    await runs.close()
    broken = data_dir / "runs" / "broken"
    shutil.copytree(runs_dir_of(data_dir, good.id), broken)
    (broken / "verdict.json").write_text("{garbage")
    (data_dir / INDEX).write_bytes(b"this is no database" * 1_000)

    again = await manager()
    assert "the index of runs is damaged (file is not a database)" in caplog.text
    assert len(set_aside(data_dir)) == 1
    found = {run.id: run for run in again.find(RunFilter(), None, 10).runs}
    assert sorted(found) == sorted([good.id, "broken"])
    whole = found[good.id]
    assert (whole.outcome, whole.exit_code, whole.plan, whole.seed) == ("passed", 0, "sim", 4)
    assert whole.verdict == good.verdict
    assert (found["broken"].outcome, found["broken"].error) == (
        "error", "its verdict.json is missing, or cannot be read",
    )  # fmt: skip
    types = [event.type for event in await followed(again, good.id)]
    assert types == ["note", "ended"]
    assert (await ended(again, again.submit(sim(), API).id)).outcome == "passed"


def set_aside(data_dir: Path) -> list[Path]:
    """The damaged indexes that were kept."""
    return list(data_dir.glob(f"{INDEX}.damaged-*"))


def runs_dir_of(data_dir: Path, run: str) -> Path:
    return data_dir / "runs" / run


async def test_an_index_of_a_later_version_is_left_alone(manager: Managing, data_dir: Path) -> None:
    runs = await manager()
    await runs.close()
    store = Store(data_dir)
    store._connection.execute(f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    store.close()
    with pytest.raises(VersionTooNew, match="start the newer saq-chaos that wrote it"):
        await manager()
    assert set_aside(data_dir) == []


async def test_folders_of_others_are_left_alone_and_half_deleted_runs_are_deleted(
    manager: Managing, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (data_dir / "runs" / "mine").mkdir(parents=True)
    (data_dir / "runs" / ".deleting-old" / "hosts").mkdir(parents=True)
    await manager()
    assert "mine is no run of this service: it is left alone" in caplog.text
    assert [path.name for path in (data_dir / "runs").iterdir() if path.is_dir()] == ["mine"]
