"""A run directory that leads elsewhere, by a link or as one: nothing is read or deleted through."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from service import run_files
from service.api import comparing
from service.runs import retention
from service.runs.recovery import read_folder
from service.runs.store import Store
from tests.service.runs.running import ANN, API, Managing, ended, sim


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder of somebody else's, with a file in it and one below."""
    folder = tmp_path / "elsewhere"
    (folder / "below").mkdir(parents=True)
    (folder / "kept").write_text("12345")
    (folder / "below" / "kept").write_text("67890")
    return folder


def is_there(path: Path) -> bool:
    """Also a link that leads nowhere."""
    return os.path.lexists(path)


def is_whole(folder: Path) -> bool:
    texts = [(folder / name).read_text() for name in ("kept", "below/kept")]
    return texts == ["12345", "67890"]


@pytest.mark.usefixtures("simulated")
async def test_a_run_directory_that_became_a_link_is_deleted_without_what_it_leads_to(
    manager: Managing, elsewhere: Path
) -> None:
    runs = await manager()
    whole = await ended(runs, runs.submit(sim(), API).id)
    folder = runs.folder(whole.id)
    folder.rename(folder.with_name("moved"))
    folder.symlink_to(elsewhere)
    await runs.delete(whole.id, ANN)
    assert not is_there(folder)
    assert is_whole(elsewhere)


async def test_a_half_deleted_run_that_is_a_link_is_removed_without_what_it_leads_to(
    manager: Managing, data_dir: Path, elsewhere: Path
) -> None:
    link = data_dir / "runs" / f"{retention.DELETING}old"
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    await manager()
    assert not is_there(link)
    assert is_whole(elsewhere)


def test_links_inside_a_deleted_run_are_removed_and_not_followed(
    tmp_path: Path, elsewhere: Path
) -> None:
    folder = tmp_path / "runs" / "r1"
    (folder / "hosts").mkdir(parents=True)
    for link in (folder / "out", folder / "hosts" / "out"):
        link.symlink_to(elsewhere)
    store = Store(tmp_path)
    retention.remove(store, tmp_path / "runs", tmp_path, "r1")
    store.close()
    assert list((tmp_path / "runs").iterdir()) == []
    assert is_whole(elsewhere)


@pytest.mark.usefixtures("simulated")
async def test_recovery_and_comparison_read_no_file_through_a_link(
    manager: Managing, tmp_path: Path
) -> None:
    runs = await manager()
    one = runs.folder((await ended(runs, runs.submit(sim(), API).id)).id)
    plan, verdict, problem = read_folder(one)
    assert (plan is None, verdict is None, problem) == (False, False, "")
    assert comparing._recipe(one) is not None
    linked = tmp_path / "linked"
    linked.symlink_to(one)
    assert read_folder(linked) == (None, None, "its plan.yaml cannot be read")
    assert comparing._recipe(linked) is None
    for name in ("plan.yaml", "verdict.json"):
        (one / name).rename(tmp_path / name)
        (one / name).symlink_to(tmp_path / name)
    assert read_folder(one) == (None, None, "its plan.yaml cannot be read")
    assert comparing._recipe(one) is None
    assert not run_files.is_own(one)


def test_what_lies_behind_a_link_is_not_counted(tmp_path: Path, elsewhere: Path) -> None:
    folder = tmp_path / "r1"
    folder.mkdir()
    (folder / "own").write_text("123")
    (folder / "out").symlink_to(elsewhere)
    (tmp_path / "linked").symlink_to(elsewhere)
    sizes = [run_files.size_of(one) for one in (folder, elsewhere, tmp_path / "linked")]
    assert sizes == [3, 10, 0]
