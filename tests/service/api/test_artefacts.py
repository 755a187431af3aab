"""Files of a run directory that are not what they should be: neither followed nor waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from service.api import artefacts
from service.errors import Conflict
from service.models import Run

RUN = Run.model_validate(
    {"id": "r1", "state": "ended", "outcome": "passed", "plan": "p", "world": "sim", "seed": 1,
     "variants": ["v"], "gate": "strict", "labels": {}, "trigger": "api", "requested_by": "ann",
     "created_at": "2026-01-01T00:00:00Z"}
)  # fmt: skip


def test_links_pipes_folders_and_giants_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "r1"
    folder.mkdir()
    (tmp_path / "secret").write_text("of the server")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    with (folder / "giant").open("wb") as file:
        file.truncate(2 << 30)
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    paths = [folder / name for name in ("link", "folder", "pipe", "giant")]
    for path in [*paths, tmp_path / "elsewhere" / "secret"]:
        with pytest.raises(Conflict, match=f"{path.name} of run r1 is there and cannot be read"):
            artefacts.whole(RUN, path, "text/plain")
    with pytest.raises(Conflict):
        artefacts.streamed(RUN, folder / "link", "text/plain", gzip=False)
