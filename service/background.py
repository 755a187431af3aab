"""A task that goes on for as long as the service does: started, and ended, in one place."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress


class Background:
    """One task. It must end by itself at a cancel; what it raises otherwise comes out of `end`."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def start(self, work: Coroutine[None, None, None], name: str) -> None:
        """Begin the work."""
        self._task = asyncio.create_task(work, name=name)

    async def end(self) -> None:
        """Cancel it and wait for its end; nothing if it was never started."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
