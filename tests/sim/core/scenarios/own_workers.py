"""Worker classes that misbehave, for `module:WorkerClass` patches."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from saq.worker import Worker


class Spinning(Worker):  # type: ignore[misc, type-arg, unused-ignore]
    """Its slots never wait for anything."""

    async def process(self) -> bool:
        for _ in range(10**9):
            await asyncio.sleep(0)
        return True


class Connecting(Worker):  # type: ignore[misc, type-arg, unused-ignore]
    """It opens a connection of its own."""

    async def process(self) -> bool:
        socket.create_connection(("127.0.0.1", 9))
        return True


class Failing(Worker):  # type: ignore[misc, type-arg, unused-ignore]
    """It does not start."""

    async def start(self) -> Any:
        raise OSError("no disk")
