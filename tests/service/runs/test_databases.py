"""Databases that are not what they should be: made again, or named with the way out."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from service.database import FILE
from service.errors import Unavailable
from service.ports import RunFilter
from service.runs import recovery
from service.runs.store import INDEX, MIGRATIONS, Store
from service.webhooks.store import DeliveryStore
from tests.service.runs.running import API, Managing, ended, sim


def changed(path: Path, script: str) -> None:
    """The database after a script."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)


def _spoil(path: Path) -> None:
    path.write_bytes(b"no database" * 999)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000])


def _strange(path: Path) -> None:
    path.unlink()
    changed(path, "CREATE TABLE runs (id TEXT); INSERT INTO runs VALUES ('theirs')")


def kept_aside(data_dir: Path) -> list[bytes]:
    return [path.read_bytes() for path in data_dir.glob(f"{INDEX}.damaged-*[0-9]")]


DAMAGES: dict[str, Callable[[Path], None]] = {
    "garbage": _spoil,
    "cut": _cut,
    "strange": _strange,
    "column": lambda path: changed(path, "ALTER TABLE runs DROP COLUMN request"),
    "table": lambda path: changed(path, "DROP TABLE events"),
}


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize("damage", DAMAGES)
async def test_an_index_that_is_none_of_ours_is_kept_aside_and_made_again(
    damage: str, manager: Managing, data_dir: Path
) -> None:
    runs = await manager()
    whole = await ended(runs, runs.submit(sim(), API).id)
    await runs.close()
    DAMAGES[damage](data_dir / INDEX)
    before = (data_dir / INDEX).read_bytes()
    again = await manager()
    assert [one.id for one in again.find(RunFilter(), None, 9).runs] == [whole.id]
    assert again.get(whole.id).verdict == whole.verdict
    assert kept_aside(data_dir) == [before]


def test_an_index_that_another_process_holds_is_named_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.runs.store.WAIT_SECONDS", 0.05)
    Store(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / INDEX, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        text = rf"the index \({INDEX}\) cannot be opened: database is locked; another process"
        with pytest.raises(Unavailable, match=text):
            recovery.open_store(tmp_path, tmp_path)
    recovery.open_store(tmp_path, tmp_path).close()
    assert list(tmp_path.glob("*damaged*")) == []


@pytest.mark.parametrize("content", [b"no database" * 999, b"SQLite format 3\0" + b"\7" * 999])
def test_requests_that_cannot_be_read_are_named_and_left_alone(
    content: bytes, tmp_path: Path
) -> None:
    (tmp_path / FILE).write_bytes(content)
    text = rf"{FILE} in the data directory cannot be used: .*put it back from a backup"
    with pytest.raises(Unavailable, match=text):
        DeliveryStore(tmp_path)
    assert (tmp_path / FILE).read_bytes() == content


def test_requests_with_tables_of_somebody_else_are_named(tmp_path: Path) -> None:
    changed(tmp_path / FILE, "CREATE TABLE watches (whom TEXT)")
    with pytest.raises(Unavailable, match="its table watches is none of this saq-chaos"):
        DeliveryStore(tmp_path)


@pytest.mark.parametrize("name", [INDEX, FILE])
def test_a_start_that_a_database_forbids_ends_with_a_line_and_no_traceback(
    name: str, tmp_path: Path
) -> None:
    if name == INDEX:
        Store(tmp_path).close()
        changed(tmp_path / INDEX, f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    else:
        (tmp_path / FILE).write_bytes(b"no database" * 999)
    before = (tmp_path / name).read_bytes()
    settings = {"SAQCHAOS_DATA_DIR": str(tmp_path), "SAQCHAOS_PORT": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "service"],
        env={**os.environ, **settings}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("the service could not start: ")
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
async def test_a_run_directory_that_nobody_may_read_does_not_stop_the_start(
    manager: Managing, data_dir: Path
) -> None:
    folders = [data_dir / "runs" / name for name in ("closed", ".deleting-closed")]
    for folder in folders:
        (folder / "hosts").mkdir(parents=True)
        folder.chmod(0)
    try:
        assert (await manager()).ready() == ""
    finally:
        for folder in folders:
            folder.chmod(0o700)
