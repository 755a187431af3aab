"""The Redis of one variant: a server of our own, or one at an explicit URL.

Our own is a plain child process on loopback, on a free port, with its own empty folder, and writes
nothing to disk unless it is asked to keep its data over a restart. One that we did not start is
treated as somebody else's: nothing but our own marked keys is touched there, and FLUSH and CONFIG
SET are never sent. How to find the binary is `binary.py`'s.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.exceptions import RedisError

from chaos.clock import SECOND_US
from chaos.errors import ServerFailed, UsageError
from chaos.live.binary import find_server
from chaos.live.processes import Process, Processes
from chaos.live.watchdog import FOLDER_PREFIX

START_SECONDS = 15.0
STOP_US = 10 * SECOND_US
PORT_TRIES = 5
_POLL_SECONDS = 0.02
_IN_USE = b"Address already in use"
_KEYS_PER_SCAN = 1_000
_SCANS_MAX = 1_000_000


class OwnServer:
    """A server process that is ours to stop, pause and start again on the same address."""

    def __init__(self, processes: Processes, host: str, log: Path) -> None:
        self.host = host
        self.version = ""
        self.port = 0
        self.process: Process | None = None
        self._processes = processes
        self._log = log
        self._binary = find_server()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}redis-"))
        processes.forget_folder_at_end(self._folder)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.running

    async def start(self) -> Process:
        """Start it; returns once it answers. The first time a free port is chosen, then kept.

        Raises:
            ServerFailed: it does not come up; the message ends with what it printed.
        """
        chosen = self.port
        for _ in range(PORT_TRIES):
            self.port = chosen or _free_port()
            before = self._log.stat().st_size if self._log.exists() else 0
            self.process = await self._launch()
            if await self._comes_up(self.process):
                return self.process
            await self._end(self.process)
            if _IN_USE not in self._log.read_bytes()[before:]:
                break
            await asyncio.sleep(0.2)  # of a port of our own: somebody's connection had it for now
        raise ServerFailed(
            f"{self.host}: {self._binary} did not come up on 127.0.0.1:{self.port} within "
            f"{START_SECONDS:.0f} s; it printed:\n{self.process.log_tail() if self.process else ''}"
        )

    async def stop(self, *, keep_data: bool) -> None:
        """Shut it down, its data saved or thrown away. Nothing happens if it does not run.

        Raises:
            ServerFailed: it was to keep its data and did not end in time.
        """
        process = self.process
        if process is None or not process.running:
            return
        process.expected = True
        process.signal(signal.SIGCONT, group=True)  # a paused server would never answer
        process.paused = False
        with suppress(RedisError, OSError):
            async with _client(self.url) as client:
                await client.shutdown(save=keep_data, nosave=not keep_data)
        ended = await process.exited(STOP_US)
        if ended is None:
            await self._end(process)
            if keep_data:
                raise ServerFailed(
                    f"{self.host} did not save its data and end within {STOP_US // SECOND_US} s; "
                    f"it printed:\n{process.log_tail()}"
                )
        if not keep_data:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(mode=0o700)

    async def close(self) -> None:
        """End it for good, and remove its folder."""
        if self.process is not None:
            await self._end(self.process)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _launch(self) -> Process:
        argv = [
            str(self._binary), "--bind", "127.0.0.1", "--port", str(self.port),
            "--dir", str(self._folder), "--save", "", "--appendonly", "no", "--daemonize", "no",
            "--logfile", "",
        ]  # fmt: skip
        return await self._processes.start(self.host, argv, self._log, cwd=self._folder)

    async def _comes_up(self, process: Process) -> bool:
        """Whether it answers before it exits and before the deadline.

        The answer must name our own process: somebody else's server may have taken the port.
        """
        for _ in range(int(START_SECONDS / _POLL_SECONDS)):
            if not process.running:
                return False
            with suppress(RedisError, OSError):
                async with _client(self.url) as client:
                    info = await client.info("server")
                    if info.get("process_id") == process.pid:
                        self.version = _name_and_version(info)
                        return True
            await asyncio.sleep(_POLL_SECONDS)
        return False

    async def _end(self, process: Process) -> None:
        process.expected = True
        process.signal(signal.SIGKILL, group=True)
        await process.exited(STOP_US)


class ExternalServer:
    """A server that somebody else runs. Told twice to use it, we still touch our own keys alone."""

    def __init__(self, url: str, *, allow: bool, mark: str) -> None:
        """Take the URL; nothing is connected yet.

        Raises:
            UsageError: the second yes is missing, or the URL cannot be one of a Redis.
        """
        _check_form(url)
        if not allow:
            raise UsageError(
                f"{without_password(url)} is a Redis that we did not start, and a soak loads it "
                f"hard: say so a second time with --allow-external, or leave --redis-url out"
            )
        self.url = url
        self.mark = mark
        self.version = ""

    async def start(self) -> None:
        """Make sure that it answers.

        Raises:
            ServerFailed: it does not; the message holds no password.
        """
        try:
            async with asyncio.timeout(START_SECONDS), _client(self.url) as client:
                self.version = _name_and_version(await client.info("server"))
        except (RedisError, OSError, ValueError) as error:
            reason = "no answer in time" if isinstance(error, TimeoutError) else str(error)
            raise ServerFailed(
                f"cannot reach {without_password(self.url)}: {self._quiet(reason)}"
            ) from None

    async def remove_our_keys(self) -> int:
        """Delete every key with our mark in its name, and no other; how many there were."""
        removed, cursor = 0, 0
        async with _client(self.url) as client:
            for _ in range(_SCANS_MAX):
                cursor, keys = await client.scan(cursor, f"*{self.mark}*", _KEYS_PER_SCAN)
                removed += int(await client.delete(*keys)) if keys else 0
                if cursor == 0:
                    break
        return removed

    def _quiet(self, text: str) -> str:
        password = urlsplit(self.url).password
        return text.replace(password, "***") if password else text


def _check_form(url: str) -> None:
    """Refuse what is no URL of a Redis. Nothing of it is shown: any part may be the password."""
    if url.partition("://")[0] not in ("redis", "rediss", "unix"):
        raise UsageError(
            "the Redis URL must begin with redis://, rediss:// or unix://, such as "
            "redis://127.0.0.1:6379/0"
        )
    try:
        parts = urlsplit(url)
        sound = parts.port != 0 and "@" not in parts.path
    except ValueError:
        sound = False
    if not sound:
        raise UsageError(
            "the Redis URL has no valid host and port: write redis://127.0.0.1:6379/0, with a "
            "port from 1 to 65535, and / ? # @ in a password as %2F %3F %23 %40"
        )


def without_password(url: str) -> str:
    """The URL as it may be shown: the user's name and password are taken out."""
    parts = urlsplit(url)
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"


@asynccontextmanager
async def _client(url: str) -> AsyncIterator[Redis]:
    """A connection of our own for a few commands, with short timeouts."""
    client = Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5)
    try:
        yield client
    finally:
        await client.aclose()


def _name_and_version(info: dict[str, Any]) -> str:
    """`valkey 9.1.2` or `redis 7.4.0`: Valkey also reports the Redis that it stands for."""
    if "valkey_version" in info:
        return f"valkey {info['valkey_version']}"
    return f"redis {info.get('redis_version', 'of unknown version')}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
