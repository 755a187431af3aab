"""The static files of the console: read once, served from memory, cached for ever by version.

    static/ ──read_all()──► Assets ──► /static/<version>/js/run.js

The version is a digest of all files, so a changed file changes every address, and a browser never
mixes modules of two versions: they import each other by relative paths, below the same version.
A request names a key of a table, never a path of the file system.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

FOLDER = Path(__file__).parent / "static"
MEDIA_TYPES = MappingProxyType(
    {
        ".css": "text/css; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".svg": "image/svg+xml",
        "": "text/plain; charset=utf-8",
    }
)
VERSION_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent."""

    content: bytes
    media_type: str
    etag: str


@dataclass(frozen=True, slots=True)
class Assets:
    """All files by their path below `static/`, and the version that they are together."""

    version: str
    files: Mapping[str, Asset]


def read_all(folder: Path = FOLDER) -> Assets:
    """Every file below `folder`. Raises KeyError for an ending that no media type is known for."""
    files = {
        path.relative_to(folder).as_posix(): _read(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    names = "\n".join(f"{name} {asset.etag}" for name, asset in files.items())
    version = hashlib.sha256(names.encode()).hexdigest()[:VERSION_DIGITS]
    return Assets(version, MappingProxyType(files))


def _read(path: Path) -> Asset:
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:VERSION_DIGITS]
    return Asset(content, MEDIA_TYPES[path.suffix], f'"{digest}"')
