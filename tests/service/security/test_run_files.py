"""What a run has left is read without being led elsewhere, waiting, or filling the memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from service import run_files


def test_a_run_directory_leads_nowhere_and_is_read_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_files, "WHOLE_MAX", 1 << 20)
    folder = tmp_path / "r1"
    (folder / "folder").mkdir(parents=True)
    (tmp_path / "secret").write_text("of the server")
    (folder / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "linked").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    (folder / "whole").write_bytes(b"x" * (1 << 20))
    (folder / "giant").write_bytes(b"x" * ((1 << 20) + 1))
    refused = [folder / name for name in ("link", "folder", "pipe", "giant")]
    for path in [*refused, tmp_path / "linked" / "whole"]:
        with pytest.raises(OSError, match=r"Too many levels|no regular file|larger than|is a link"):
            run_files.read_own(path)
    with pytest.raises(FileNotFoundError):
        run_files.read_own(folder / "missing")
    assert run_files.read_own(folder / "whole") == b"x" * (1 << 20)
