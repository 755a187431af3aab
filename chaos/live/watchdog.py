"""Ends what a dead controller left behind: a process of its own, which waits for end of file.

    controller ──stdin──►  mark TEXT        every process of the run has TEXT in its environment
                           + PID STARTTIME  a process was started, the leader of its own session
                           - PID            it is gone, its session too
                           dir PATH         a temporary folder of the run
                           config PATH      a host's config: a salt and perhaps a password in it
                ──EOF──►   the controller is dead, or done

At end of file it wakes (SIGCONT) and ends (SIGKILL) every process that leads or belongs to a listed
session, or that carries the mark (a grandchild may have made a session of its own), and removes the
folders and configs. A pid alone proves nothing, for pids are used again: a leader counts only with
its start time, and a member only if it is not older than its leader.

Only the standard library, and no package: it runs isolated, by path, in a session of its own.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROUNDS = 40  # of ending processes; a fork bomb is not ours to win
PAUSE_SECONDS = 0.05
FOLDER_PREFIX = "saqchaos-"
CONFIG_SUFFIX = ".json"


class Seen(NamedTuple):
    """One process, from /proc."""

    pid: int
    session: int
    started: int
    state: str


class Charge:
    """What the controller has told so far."""

    def __init__(self) -> None:
        self.mark = b""
        self.leaders: dict[int, int] = {}  # pid: start time in clock ticks
        self.folders: list[Path] = []
        self.configs: list[Path] = []

    def told(self, line: str) -> None:
        """Take one line in; one that makes no sense is ignored, nobody could answer it."""
        word, _, rest = line.strip().partition(" ")
        if word == "+" and len(rest.split()) == 2:
            pid, started = rest.split()
            self.leaders[int(pid)] = int(started)
        elif word == "-" and rest.isdigit():
            self.leaders.pop(int(rest), None)
        elif word == "dir":
            self.folders.append(Path(rest))
        elif word == "config":
            self.configs.append(Path(rest))
        elif word == "mark":
            self.mark = rest.encode()

    def left(self) -> list[Seen]:
        """The processes of the run that are still there, zombies not counted."""
        return [seen for seen in processes() if seen.state != "Z" and self._ours(seen)]

    def _ours(self, seen: Seen) -> bool:
        if seen.pid == os.getpid():
            return False
        started = self.leaders.get(seen.session)
        if started is not None and seen.started >= started and self._leader_is_not_another(seen):
            return True
        return bool(self.mark) and self.mark in environment_of(seen.pid)

    def _leader_is_not_another(self, seen: Seen) -> bool:
        """A session keeps its number, so its leader is ours, or gone and not replaced."""
        leader = process(seen.session)
        return leader is None or leader.started == self.leaders[seen.session]

    def end_all(self) -> None:
        """End what is left, again and again while anything comes up; remove folders, configs."""
        for _ in range(ROUNDS):
            left = self.left()
            for seen in left:
                _send(seen, signal.SIGKILL)
                _send(seen, signal.SIGCONT)
            if not left:
                break
            time.sleep(PAUSE_SECONDS)
        for folder in self.folders:
            if folder.name.startswith(FOLDER_PREFIX) and folder.parent == _temporary():
                shutil.rmtree(folder, ignore_errors=True)
        for config in self.configs:
            if config.suffix == CONFIG_SUFFIX:
                config.unlink(missing_ok=True)


def processes() -> list[Seen]:
    """All processes that /proc shows, by pid."""
    names = (path.name for path in Path("/proc").iterdir())
    pids = sorted(int(name) for name in names if name.isdigit())
    return [seen for seen in map(process, pids) if seen is not None]


def process(pid: int) -> Seen | None:
    """One process, or none if it is gone. (Fields after the name: proc_pid_stat(5).)"""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return Seen(pid, int(fields[3]), int(fields[19]), fields[0])


def environment_of(pid: int) -> bytes:
    """The environment that a process was started with; nothing if it is not ours to read."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def _send(seen: Seen, number: int) -> None:
    """Signal a process, unless its pid is already another's."""
    now = process(seen.pid)
    if now is None or now.started != seen.started:
        return
    try:
        os.kill(seen.pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _temporary() -> Path:
    return Path(tempfile.gettempdir())


def main() -> None:
    """Listen until the controller is gone, then clean up after it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    charge = Charge()
    for line in sys.stdin:
        charge.told(line)
    charge.end_all()


if __name__ == "__main__":
    main()
