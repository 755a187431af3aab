"""What tests of the runs share: short plans, requests for them, and waiting for what they say."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from service.models import Event, Run, RunRequest
from service.ports import Caller, Trigger
from service.runs.manager import RunManager

VARIANT = "stock@0.26.3"
SECONDS = 60.0
API = Trigger("api", "ann")
ANN = Caller("ann", "operator")
# One virtual minute: a third of a second to run.
SIM = """
plan: sim
duration: 10s
drain: 10s
variants: [stock@0.26.3]
workload: {kind: same_key, keys: 0, rate: 5/s}
promises: [no-phantom-runs]
exposures: {attempts: 10}
"""
LIVE = """
plan: live
duration: 2s
drain: 10s
variants: [stock@0.26.3]
workers: {count: 1, concurrency: 4, grace: 0s, deadline: 200ms}
workload: {kind: same_key, keys: 0, rate: 20/s}
promises: [no-phantom-runs]
exposures: {attempts: 5}
"""

Managing = Callable[..., Awaitable[RunManager]]


def sim(**changes: Any) -> RunRequest:
    """A request for a simulated run."""
    return RunRequest(plan="sim", world="sim", **changes)


def live(**changes: Any) -> RunRequest:
    """A request for a live run."""
    return RunRequest(plan="live", **changes)


async def followed(manager: RunManager, run: str, after: int = 0) -> list[Event]:
    """Every event of a run above `after`, to its last one."""
    async with asyncio.timeout(SECONDS):
        return [event async for event in manager.events(run, after)]


async def ended(manager: RunManager, run: str) -> Run:
    """A run, once it has ended."""
    await followed(manager, run)
    return manager.get(run)


async def until(manager: RunManager, run: str, wanted: Callable[[Event], bool]) -> Event:
    """The first event of a run that is wanted; fails with those that came instead."""
    seen: list[Event] = []
    async with asyncio.timeout(SECONDS):
        async for event in manager.events(run, 0):
            seen.append(event)
            if wanted(event):
                return event
    pytest.fail(f"it never came; these did: {[(one.type, one.data) for one in seen]}")


def processes_of(*words: str) -> list[str]:
    """Command lines of processes that name one of `words`, or have it in their environment."""
    found = []
    for entry in sorted(Path("/proc").iterdir()):
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if any(word.encode() in line for word in words):
                found.append(f"{entry.name}: {line[:200]!r}")
    return found


def nothing_is_left(*words: str, seconds: float = 30.0) -> None:
    """No process that names one of `words` is left within `seconds`."""
    deadline = time.monotonic() + seconds
    left = processes_of(*words)
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = processes_of(*words)
    assert left == []
