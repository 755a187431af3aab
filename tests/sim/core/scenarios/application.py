"""A user's application: its own queue, a module-level list that each process has for itself."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from saq import Queue

RUNS: list[str] = []


async def send(ctx: dict[str, Any], *, to: str) -> int:
    await asyncio.sleep(0.05)
    RUNS.append(to)
    return len(RUNS)


def render(ctx: dict[str, Any], *, to: str) -> str:
    time.sleep(0.02)
    return f"page of {to}"


settings = {
    "queue": Queue.from_url("redis://example.invalid:6379/3", name="mail"),
    "functions": [send, render],
    "concurrency": 3,
}
