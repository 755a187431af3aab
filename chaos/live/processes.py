"""The processes of one world: started, watched, signalled, and ended without exception.

    controller ──► watchdog (own session)   told of every start and end
               ──► launcher ─exec─► process (own session, own log, dies with the controller)

A process is waited for through a pidfd: while it is a zombie its pid cannot be used again, so what
it left in its session is ended before it is reaped. Children are started from the main thread
alone, because the kernel ties them to the thread that started them (`launcher.py`). This file does
not know what a worker is; names, restarts and events are `world.py`'s.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from chaos.clock import SECOND_US
from chaos.errors import HostFailed
from chaos.installer import clean_environment
from chaos.live.watchdog import process as in_proc

_HERE = Path(__file__).parent
LAUNCHER = _HERE / "launcher.py"
WATCHDOG = _HERE / "watchdog.py"
MARK_VARIABLE = "SAQCHAOS_PROCESS_OF"
STDIN_BUFFER_MAX = 1 << 20
END_SECONDS = 5.0
LOG_TAIL_BYTES = 4_000


class Process:
    """One running or ended process. `code` is its exit code, negative for a signal."""

    def __init__(self, host: str, popen: subprocess.Popen[bytes], log: Path) -> None:
        self.host = host
        self.log = log
        self.pid = popen.pid
        self.paused = False
        self.expected = False
        self._popen = popen
        self._pidfd = os.pidfd_open(popen.pid)
        self._exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._stdin: asyncio.WriteTransport | None = None

    @property
    def running(self) -> bool:
        return not self._exited.done()

    async def exited(self, within_us: int | None = None) -> int | None:
        """The exit code, once there is one; none if that takes longer than `within_us`."""
        seconds = None if within_us is None else within_us / SECOND_US
        with suppress(TimeoutError):
            return await asyncio.wait_for(asyncio.shield(self._exited), seconds)
        return None

    def signal(self, number: int, *, group: bool = False) -> bool:
        """Send a signal to the process, or to all it started as well; false if it is gone."""
        if not self.running:
            return False
        try:
            if group:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    async def write(self, data: bytes) -> bool:
        """Give the process a line on stdin; false if it does not take it any more."""
        for _ in range(int(END_SECONDS / 0.01)):
            if self._stdin is None or self._stdin.is_closing():
                return False
            if self._stdin.get_write_buffer_size() < STDIN_BUFFER_MAX:
                self._stdin.write(data)
                return True
            await asyncio.sleep(0.01)  # the process is paused or overwhelmed
        return False

    def close_stdin(self) -> None:
        """End of file on stdin: how a producer is asked to finish."""
        if self._stdin is not None:
            self._stdin.close()

    def log_tail(self) -> str:
        """The last lines of what the process printed, indented; for an error message."""
        return tail_of(self.log)

    async def watch(self) -> None:
        """Notice the end from now on, and connect stdin."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._pidfd, self._ended)
        if self._popen.stdin is not None:
            transport, _ = await loop.connect_write_pipe(asyncio.Protocol, self._popen.stdin)
            self._stdin = transport

    def _ended(self) -> None:
        """It is a zombie: its pid is still its own, so what it left can be ended safely."""
        asyncio.get_running_loop().remove_reader(self._pidfd)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        code = self._popen.wait()
        os.close(self._pidfd)
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.abort()
        self._exited.set_result(code)


class Processes:
    """All processes of one world. Use `open`, and `close` in every way of leaving."""

    def __init__(self, watchdog: subprocess.Popen[bytes], mark: str) -> None:
        self._watchdog = watchdog
        self._mark = mark
        self._closed = False
        self._running: dict[int, Process] = {}
        self._reapers: list[asyncio.Task[None]] = []

    @classmethod
    def open(cls) -> Processes:
        """Start the watchdog; nothing else runs yet."""
        _refuse_other_threads()
        watchdog = subprocess.Popen(
            [sys.executable, "-I", "-S", str(WATCHDOG)], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, start_new_session=True, cwd="/",
        )  # fmt: skip
        mark = f"{MARK_VARIABLE}={os.getpid()}-{secrets.token_hex(8)}"
        processes = cls(watchdog, mark)
        processes._tell(f"mark {mark}")
        return processes

    async def start(
        self,
        host: str,
        argv: Sequence[str],
        log: Path,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: bool = False,
    ) -> Process:
        """Start a process in a session of its own; its output goes to the end of `log`.

        Raises:
            HostFailed: it cannot be started at all.
        """
        _refuse_other_threads()
        if self._closed:
            raise HostFailed(f"cannot start {host}: its world is closed")
        name, _, value = self._mark.partition("=")
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            popen = subprocess.Popen(  # noqa: ASYNC220 - asyncio reaps by itself, we must not
                [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *argv],
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=fd, stderr=fd,
                env={**clean_environment(dict(env or {})), name: value}, cwd=cwd,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise HostFailed(f"cannot start {host}: {error.strerror} ({argv[0]})") from error
        finally:
            os.close(fd)
        try:
            process = Process(host, popen, log)
        except OSError as error:
            popen.kill()
            popen.wait()
            raise HostFailed(
                f"cannot watch {host}: {error.strerror} (pidfd_open, Linux 5.3 and newer)"
            ) from error
        return await self._adopt(process)

    def forget_folder_at_end(self, folder: Path) -> None:
        """A temporary folder that the watchdog removes if nobody else did."""
        self._tell(f"dir {folder}")

    def forget_config_at_end(self, config: Path) -> None:
        """A host's config, which the watchdog deletes if nobody else did."""
        self._tell(f"config {config.absolute()}")

    async def close(self) -> None:
        """End whatever still runs, then let the watchdog look for the rest and end itself."""
        self._closed = True
        for process in list(self._running.values()):
            process.expected = True
            process.signal(signal.SIGKILL, group=True)
            process.signal(signal.SIGCONT, group=True)
        for process in list(self._running.values()):
            await process.exited(int(END_SECONDS * SECOND_US))
        await asyncio.gather(*self._reapers)
        if self._watchdog.stdin is not None:
            with suppress(BrokenPipeError):
                self._watchdog.stdin.close()
        await _ended(self._watchdog)

    async def _adopt(self, process: Process) -> Process:
        seen = in_proc(process.pid)
        self._running[process.pid] = process
        if seen is not None:
            self._tell(f"+ {process.pid} {seen.started}")
        await process.watch()
        self._reapers = [task for task in self._reapers if not task.done()]
        self._reapers.append(asyncio.create_task(self._release(process)))
        return process

    async def _release(self, process: Process) -> None:
        await process.exited()
        del self._running[process.pid]
        self._tell(f"- {process.pid}")

    def _tell(self, line: str) -> None:
        if self._watchdog.stdin is None:
            return
        with suppress(BrokenPipeError):  # killed by somebody: the launcher still ties processes
            self._watchdog.stdin.write(f"{line}\n".encode())
            self._watchdog.stdin.flush()


async def _ended(watchdog: subprocess.Popen[bytes]) -> None:
    for _ in range(int(END_SECONDS / 0.01)):
        if watchdog.poll() is not None:
            return
        await asyncio.sleep(0.01)
    watchdog.kill()
    watchdog.wait()


def tail_of(log: Path) -> str:
    """The last lines of a log, indented."""
    try:
        data = log.read_bytes()[-LOG_TAIL_BYTES:]
    except OSError:
        data = b""
    lines = data.decode("utf-8", "replace").splitlines()[-12:]
    return "\n".join(f"  {line}" for line in lines) or "  (it printed nothing)"


def _refuse_other_threads() -> None:
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("processes are started from the main thread only (see launcher.py)")
