"""A service of our own for a bench: `python -m service` on a free loopback port, ended with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos.errors import WorldError

START_SECONDS = 60.0
END_SECONDS = 60.0
STEP_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ServiceProcess:
    """A running service: its process id, its address and its data directory."""

    pid: int
    url: str
    data_dir: Path

    def open_files(self) -> int:
        """File descriptors that it holds now."""
        return sum(1 for _ in Path(f"/proc/{self.pid}/fd").iterdir())

    def descendants(self) -> tuple[int, ...]:
        """The process ids of all that it started and that still runs, in order."""
        parents: dict[int, int] = {}
        for folder in sorted(Path("/proc").iterdir()):
            if folder.name.isdigit():
                parents[int(folder.name)] = _parent(folder)
        found = [self.pid]
        for pid in found:
            found += [child for child in sorted(parents) if parents[child] == pid]
        return tuple(found[1:])


@contextmanager
def serving() -> Iterator[ServiceProcess]:
    """Start a service and end it.

    Raises:
        WorldError: it does not come up; the message has its last line.
    """
    with tempfile.TemporaryDirectory(prefix="saq-chaos-bench-") as folder:
        log = Path(folder) / "log"
        env = {name: os.environ[name] for name in sorted(os.environ) if _is_kept(name)}
        env |= {"SAQCHAOS_DATA_DIR": str(Path(folder) / "data"), "SAQCHAOS_PORT": "0"}
        env |= {"SAQCHAOS_LIMITS__REQUESTS_PER_S": "100000"}
        env |= {"SAQCHAOS_LIMITS__REQUESTS_BURST": "100000"}
        env |= {"SAQCHAOS_LIMITS__WRITES_PER_MINUTE": "100000"}
        with log.open("w") as said:
            process = subprocess.Popen(
                [sys.executable, "-m", "service"], env=env, stdin=subprocess.DEVNULL,
                stdout=said, stderr=said,
            )  # fmt: skip
            try:
                port = _port(process, Path(folder) / "data" / "port", log)
                url = f"http://127.0.0.1:{port}"
                yield ServiceProcess(process.pid, url, Path(folder) / "data")
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(END_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _is_kept(name: str) -> bool:
    """What we set ourselves must not be what the user's own service is set to."""
    return not name.startswith("SAQCHAOS_") or name in ("SAQCHAOS_CACHE", "SAQCHAOS_REDIS_SERVER")


def _port(process: subprocess.Popen[bytes], file: Path, log: Path) -> int:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if file.is_file() and (text := file.read_text("ascii").strip()):
            return int(text)
        time.sleep(STEP_SECONDS)
    lines = log.read_text("utf-8", "replace").strip().splitlines() or ["it said nothing"]
    raise WorldError(f"the service did not come up: {lines[-1]}")


def _parent(folder: Path) -> int:
    try:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):  # it has just ended
        return 0
