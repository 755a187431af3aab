"""The data directory is private, whatever the umask and whoever made it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.errors import UsageError
from service.security import folders
from tests.service.security.stage import app_of, settings_in


@pytest.fixture
def open_umask() -> Iterator[None]:
    """The most careless umask there is."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("open_umask")
def test_the_data_directory_is_made_private(tmp_path: Path) -> None:
    app_of(settings_in(tmp_path))
    assert mode(tmp_path / "data") == 0o700
    assert [mode(path) for path in (tmp_path / "data").iterdir()] == [0o600]


@pytest.mark.usefixtures("open_umask")
def test_a_directory_that_others_can_read_is_taken_from_them(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o777)
    app_of(settings_in(tmp_path))
    assert mode(tmp_path / "data") == 0o700


def test_a_directory_that_cannot_be_made_is_told_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file", "ascii")
    with pytest.raises(UsageError, match=r"cannot be made private .* set SAQCHAOS_DATA_DIR"):
        app_of(settings_in(tmp_path))


def test_what_a_process_makes_is_for_its_user_alone(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, sys\n"
        "from service.security.folders import private_umask\n"
        "os.umask(0)\n"
        "private_umask()\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "(folder / 'made').mkdir()\n"
        "(folder / 'made' / 'file').write_text('x')\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert (mode(tmp_path / "made"), mode(tmp_path / "made" / "file")) == (0o700, 0o600)


def test_a_file_is_written_once_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "key"
    assert folders.write_once(path, b"first") == b"first"
    assert folders.write_once(path, b"second") == b"first"
    assert path.read_bytes() == b"first"
    assert [one.name for one in tmp_path.iterdir()] == ["key"]


def test_a_key_that_others_could_read_is_taken_from_them(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"first")
    path.chmod(0o644)
    assert folders.write_once(path, b"second") == b"first"
    assert mode(path) == 0o600
