"""Ends the coroutines of hosts that are gone, so that none of them speaks up when it is forgotten.

A coroutine that is only let go of is closed by Python at some later time: its `finally` blocks run
then, without a loop, and what they raise is printed. So every one is closed here, from the inside
out: closing an outer one whose inner one awaits once more would leave that behind. A host is muted
by then, and whatever its code still does has no effect.
"""

from __future__ import annotations

import asyncio
from typing import Any

CLOSES_MAX = 200
DEPTH_MAX = 100


def unwind_task(task: asyncio.Task[Any]) -> None:
    """Close the coroutine of a task that will never run again, as if the task did it."""
    loop = task.get_loop()
    asyncio.tasks._enter_task(loop, task)
    try:
        _close(task.get_coro())
    finally:
        asyncio.tasks._leave_task(loop, task)


def _close(coroutine: Any) -> None:
    for _ in range(CLOSES_MAX):
        inner = _innermost(coroutine)
        if inner is None:
            return
        try:
            inner.close()
        except BaseException:  # noqa: BLE001, S112 - what a dead host's cleanup raises is nobody's
            continue


def _innermost(coroutine: Any) -> Any:
    """The last one in the chain of awaits that has not ended; none if the first one has."""
    found = None
    for _ in range(DEPTH_MAX):
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is None:
            break
        found = coroutine
        awaited = getattr(coroutine, "cr_await", None)
        coroutine = awaited if awaited is not None else getattr(coroutine, "gi_yieldfrom", None)
    return found
