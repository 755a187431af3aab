"""A checkout of saq: which of its files count, their digest, and a copy that may be built in.

What counts is the package and the small files beside it: that is what an environment built from it
is named by, and what is copied away before a build backend writes into its folder.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SMALL_BYTES = 1 << 20


@contextmanager
def copied(source: Path | None) -> Iterator[Path | None]:
    """A copy of the checkout, gone afterwards; nothing where there is no checkout."""
    if source is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="saqchaos-source-") as folder:
        for path in _files(source):
            target = Path(folder) / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        yield Path(folder)


def content(source: Path) -> str:
    """SHA-256 over the names and the bytes of its files."""
    sha = hashlib.sha256()
    for path in _files(source):
        data = path.read_bytes()
        sha.update(f"{path.relative_to(source)}\0{len(data)}\0".encode() + data)
    return sha.hexdigest()


def _files(source: Path) -> list[Path]:
    """The package and the small files beside it; nothing of git, caches, or environments."""
    beside = [
        one for one in source.iterdir() if one.is_file() and one.stat().st_size < _SMALL_BYTES
    ]
    package = [path for path in (source / "saq").rglob("*") if path.is_file()]
    return sorted(path for path in (*beside, *package) if path.suffix != ".pyc")
