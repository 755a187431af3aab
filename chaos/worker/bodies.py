"""The job functions that the built-in workloads enqueue. What one does travels in its kwargs.

`bodies` holds one profile per attempt; attempt k takes the k-th, and the last one from there on:

    {"profile": …, "takes_us": …, "beat_us": …, "winds_down_us": …, "error": …}

    quick       takes `takes_us`; a cancel ends it
    heartbeat   the same, with an update of the job each `beat_us`
    stubborn    on a cancel it goes on for `winds_down_us` and then ends cancelled
    swallow     on a cancel it returns as if it were done
    raising     raises `error` after `takes_us`
    thread      for the sync function: blocks its thread for `takes_us` (a cancel cannot reach it)

Every body ends by itself. They run in both worlds: time comes from the event loop and from
`time.sleep` only, and there is no randomness; a spread is drawn when the job is enqueued.
In a thread nothing can be cancelled or awaited, so there every profile only waits and, if it is
the raising one, raises; in the event loop `thread` is the same as `quick`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, TypedDict

CANCELS_MAX = 1_000
BEAT_US_MIN = 1_000


class Profile(TypedDict, total=False):
    """What one attempt does, as it travels in a job's kwargs. Times are microseconds."""

    profile: str
    takes_us: int
    beat_us: int
    winds_down_us: int
    error: str


async def saq_chaos_body(ctx: Any, *, bodies: Sequence[Profile]) -> str:
    """Run the profile of this attempt in the event loop; returns the profile's name."""
    job = ctx["job"]
    body = _of_this_attempt(job, bodies)
    takes = body.get("takes_us", 0) / 1_000_000
    name = body["profile"]
    if name == "heartbeat":
        await _beat(job, body)
    elif name == "stubborn":
        await _wind_down_on_cancel(takes, body.get("winds_down_us", 0) / 1_000_000)
    elif name == "swallow":
        await _return_on_cancel(takes)
    else:
        await asyncio.sleep(takes)
    _raise_if_told(body)
    return name


def saq_chaos_body_sync(ctx: Any, *, bodies: Sequence[Profile]) -> str:
    """Run the profile of this attempt in a thread of saq's pool; returns the profile's name."""
    body = _of_this_attempt(ctx["job"], bodies)
    time.sleep(body.get("takes_us", 0) / 1_000_000)
    _raise_if_told(body)
    return body["profile"]


FUNCTIONS = (saq_chaos_body, saq_chaos_body_sync)


def _of_this_attempt(job: Any, bodies: Sequence[Profile]) -> Profile:
    """A stale retry can lower `attempts`, also to 0: the first profile then."""
    attempt = max(int(job.attempts) - 1, 0)
    return bodies[min(attempt, len(bodies) - 1)]


def _raise_if_told(body: Profile) -> None:
    if body["profile"] == "raising":
        error = _ERRORS[body.get("error", "ValueError")]
        raise error("raised by the body, as the plan says")


_ERRORS: dict[str, type[Exception]] = {
    "ValueError": ValueError,
    "KeyError": KeyError,
    "TimeoutError": TimeoutError,
}


async def _beat(job: Any, body: Profile) -> None:
    """One update per beat, none after the last: then the body is done."""
    left_us = body.get("takes_us", 0)
    beat_us = max(body.get("beat_us", 0), BEAT_US_MIN)
    while left_us > beat_us:
        await asyncio.sleep(beat_us / 1_000_000)
        await job.update()
        left_us -= beat_us
    await asyncio.sleep(left_us / 1_000_000)


async def _wind_down_on_cancel(takes: float, winds_down: float) -> None:
    try:
        await asyncio.sleep(takes)
    except asyncio.CancelledError:
        await _sleep_through(winds_down)
        raise


async def _sleep_through(seconds: float) -> None:
    """Sleep whatever cancels come meanwhile: saq's shutdown may cancel a body a second time."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    for _ in range(CANCELS_MAX):
        try:
            await asyncio.sleep(max(0.0, end - loop.time()))
        except asyncio.CancelledError:
            continue
        return


async def _return_on_cancel(takes: float) -> None:
    try:
        await asyncio.sleep(takes)
    except asyncio.CancelledError:
        return
