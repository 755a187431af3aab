"""The process of one run, as the service sees it: started, told, read, ended.

    service ──► launcher ─exec─► python -m service.runs.runner ──► watchdog, servers, workers

The launcher ties the runner to the thread that starts it, so a `kill -9` of the service ends the
runner at once; the runner's own watchdog then ends whatever it had started. The runner leads a
session of its own, so ^C at the service's terminal reaches the service alone, which ends its run in
good order. Of the service's settings the runner's environment holds none but where environments
and server binaries are: tokens and passwords are not for the code under test.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import msgspec

from chaos.live.processes import LAUNCHER
from service.runs import messages

MODULE = "service.runs.runner"
KEPT = ("SAQCHAOS_CACHE", "SAQCHAOS_REDIS_SERVER")
PREFIX = "SAQCHAOS_"


class RunnerProcess:
    """A runner that was started. Use `start`, and `close` in every way of leaving."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    @classmethod
    async def start(cls, start: messages.Start, log: Path) -> RunnerProcess:
        """Start a runner and give it its request; what it prints goes to the end of `log`.

        Raises:
            OSError: it could not be started.
        """
        argv = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid())]
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *argv, sys.executable, "-P", "-m", MODULE,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors,
                start_new_session=True, env=environment(), limit=messages.LINE_MAX,
            )  # fmt: skip
        runner = cls(process)
        await runner.tell(start)
        return runner

    async def tell(self, one: messages.Start | messages.Command) -> bool:
        """Give it a line; false if it is gone."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(messages.line(one))
            await self._process.stdin.drain()
        except (ConnectionError, RuntimeError):
            return False
        return True

    async def messages(self) -> AsyncIterator[messages.Message]:
        """What it says, until it says no more. A line that is no message is left out."""
        assert self._process.stdout is not None
        while text := await self._line(self._process.stdout):
            with suppress(msgspec.DecodeError):
                yield messages.read_message(text)

    async def _line(self, stdout: asyncio.StreamReader) -> bytes:
        try:
            return await stdout.readline()
        except ValueError:  # longer than any message: it is not one of ours
            return b"\n"

    async def exited(self) -> int:
        """Its exit code, negative for a signal, once it is gone."""
        return await self._process.wait()

    def kill(self) -> None:
        """End it at once, with what it leads; its watchdog ends the rest."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    async def close(self) -> None:
        """Leave nothing behind: not the process, not its pipes."""
        if self._process.returncode is None:
            self.kill()
        await self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
            with suppress(ConnectionError):
                await self._process.stdin.wait_closed()


def environment() -> dict[str, str]:
    """The runner's variables: the service's, without its settings."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or not name.upper().startswith(PREFIX)
    }
