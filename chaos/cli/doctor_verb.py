"""`saq-chaos doctor`: what this machine has and lacks, each line with the way out."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import click

from chaos.cli import output
from chaos.errors import SaqChaosError

EXIT_FAIL = 4
_PYTHON_MIN = (3, 11)
_DISK_WARN = 2 << 30
_DISK_FAIL = 200 << 20
_ALLOCATED = 1 << 20
_VERSION_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was looked at. `said` ends with the way out, if one is needed."""

    state: Literal["ok", "warn", "fail"]
    what: str
    said: str


@click.command("doctor", short_help="Say what this machine has and lacks, with the way out.")
@click.option(
    "--index", is_flag=True, help="Ask the package index too (needs a network; may take a while)."
)
@click.option(
    "--run-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Where runs would be kept: looked at for room.",
)
@click.option("--json", "as_json", is_flag=True, help="Write the lines as JSON.")
def command(index: bool, run_dir: Path, as_json: bool) -> int:
    """Look at everything that a soak needs on this machine, without starting one.

    Exit code 0 if a soak can run here (warnings included), 4 if something is missing.
    """
    lines = tuple(examine(run_dir, index))
    if as_json:
        output.answer(json.dumps([asdict(line) for line in lines], indent=2) + "\n")
    else:
        output.answer("".join(f"{line.state:4}  {line.what}: {line.said}\n" for line in lines))
    return EXIT_FAIL if any(line.state == "fail" for line in lines) else 0


def examine(run_dir: Path, index: bool) -> Iterator[Line]:
    """Every check, in the order in which a soak would meet them."""
    yield python_line(sys.version_info[:3])
    yield platform_line(platform.system())
    yield cores_line(os.cpu_count() or 1)
    yield _server_line()
    yield _installer_line()
    yield _environments_line()
    yield _loopback_line()
    yield _disk_line(run_dir)
    if index:
        yield _index_line()


def python_line(version: tuple[int, ...]) -> Line:
    """The interpreter that runs us."""
    text = ".".join(map(str, version))
    if version >= _PYTHON_MIN:
        return Line("ok", "Python", f"{text} ({sys.executable})")
    return Line("fail", "Python", f"{text} is too old: install 3.11 or newer")


def platform_line(system: str) -> Line:
    """Only Linux can promise that nothing survives a killed controller."""
    if system == "Linux":
        return Line("ok", "platform", f"Linux {platform.release()}, {platform.machine()}")
    return Line(
        "fail",
        "platform",
        f"{system} is not supported: processes could outlive a killed run. "
        "Use Linux, a Linux container or WSL 2",
    )


def cores_line(count: int) -> Line:
    """One core runs everything in turn: races become rare, not wrong."""
    if count > 1:
        return Line("ok", "cores", str(count))
    return Line("warn", "cores", "1: runs work, but meet races less often; 2 or more are better")


def _server_line() -> Line:
    from chaos.live.binary import find_server

    try:
        binary = find_server()
        said = subprocess.run(
            [binary, "--version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_SECONDS,
            check=True,
        ).stdout.strip()
    except SaqChaosError as error:
        return Line("fail", "Redis server", str(error))
    except (OSError, subprocess.SubprocessError) as error:
        return Line("fail", "Redis server", f"{binary} does not run ({error}): install another")
    return Line("ok", "Redis server", f"{said} ({binary})")


def _installer_line() -> Line:
    from chaos.installer import Tool

    tool = Tool.find()
    if tool.uv:
        return Line("ok", "installer", f"uv ({tool.uv})")
    with contextlib.suppress(ImportError):
        import ensurepip
        import venv

        found = f"{venv.__name__} and {ensurepip.__name__}"
        faster = "environments build faster with uv: pip install 'saq-chaos[fast]'"
        return Line("warn", "installer", f"no uv, {found} are here; {faster}")
    return Line(
        "fail",
        "installer",
        "neither uv nor venv with ensurepip: pip install uv, or on Debian apt-get install "
        "python3-venv",
    )


def _environments_line() -> Line:
    from chaos import stored

    entries = stored.environments()
    if not entries:
        said = "none is built yet: the first soak builds them (needs the package index)"
        return Line("ok", "environments", said)
    titles = ", ".join(sorted({entry.title for entry in entries}))
    return Line("ok", "environments", f"{len(entries)} are ready, also offline: {titles}")


def _loopback_line() -> Line:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
    except OSError as error:
        said = f"cannot listen on 127.0.0.1 ({error.strerror}): allow loopback sockets here"
        return Line("fail", "loopback", said)
    return Line("ok", "loopback", f"a free port was found ({port})")


def _disk_line(run_dir: Path) -> Line:
    """Room, and whether the file system can allocate it: recorders do not grow sparse files."""
    folder = next(path for path in (run_dir, *run_dir.absolute().parents) if path.is_dir())
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, _ALLOCATED)
    except OSError as error:
        said = f"cannot write in {folder} ({error.strerror}): name another with --run-dir"
        return Line("fail", "disk", said)
    return room_line(shutil.disk_usage(folder).free, folder)


def room_line(free: int, folder: Path) -> Line:
    """A soak of three minutes writes some hundred megabytes."""
    said = f"{free / (1 << 30):.1f} GiB free in {folder}"
    if free < _DISK_FAIL:
        return Line("fail", "disk", f"{said}: too little; run saq-chaos clean, or use --run-dir")
    if free < _DISK_WARN:
        return Line("warn", "disk", f"{said}: enough for short runs; saq-chaos clean makes room")
    return Line("ok", "disk", said)


def _index_line() -> Line:
    from chaos.installer import Tool

    try:
        known = Tool.find().knows("0.26.4")
    except SaqChaosError as error:
        said = " ".join(str(error).split())
        return Line("warn", "package index", f"{said}; environments that are built work offline")
    if known:
        return Line("ok", "package index", "it answers and has saq 0.26.4")
    return Line("warn", "package index", "it answers, but has no saq 0.26.4: is it a mirror?")
