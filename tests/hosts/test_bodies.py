"""The job bodies, on an event loop whose time jumps: durations are exact and nothing waits."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from chaos.worker import bodies
from chaos.worker.bodies import Profile, saq_chaos_body, saq_chaos_body_sync


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop that jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        selector = self._selector  # type: ignore[attr-defined]
        really_select = selector.select

        def select(timeout: float | None) -> Any:
            self._now += timeout or 0.0
            return really_select(0)

        selector.select = select

    def time(self) -> float:
        return self._now


class Job:
    """What a body sees of saq's Job."""

    def __init__(self, attempts: int = 1) -> None:
        self.attempts = attempts
        self.updates_at: list[float] = []

    async def update(self) -> None:
        self.updates_at.append(round(asyncio.get_running_loop().time(), 6))


def run(coroutine: Coroutine[Any, Any, Any]) -> tuple[Any, float]:
    """The result of a coroutine (an exception, if it ended so) and when it ended, in seconds."""
    loop = JumpingLoop()
    try:
        task = loop.create_task(coroutine)
        loop.run_until_complete(asyncio.wait([task]))
        result = "cancelled" if task.cancelled() else task.exception() or task.result()
        return result, round(loop.time(), 3)
    finally:
        loop.close()


def body(profile: Profile, job: Job | None = None) -> Coroutine[Any, Any, str]:
    return saq_chaos_body({"job": job or Job()}, bodies=[profile])


async def cancelled_at(profile: Profile, *seconds: float) -> str:
    """The body, cancelled at these times."""
    task = asyncio.create_task(body(profile))
    loop = asyncio.get_running_loop()
    for at in seconds:
        loop.call_at(at, task.cancel)
    return await task


@pytest.mark.parametrize(
    ("attempts", "expected"), [(-1, 1), (0, 1), (1, 1), (2, 2), (3, 3), (4, 3), (99, 3)]
)
def test_each_attempt_takes_its_own_profile_and_the_last_from_there_on(
    attempts: int, expected: int
) -> None:
    profiles: list[Profile] = [
        {"profile": "quick", "takes_us": number * 1_000_000} for number in (1, 2, 3)
    ]
    job = Job(attempts)
    assert run(saq_chaos_body({"job": job}, bodies=profiles)) == ("quick", float(expected))


def test_a_quick_body_takes_its_time_and_a_cancel_ends_it() -> None:
    profile: Profile = {"profile": "quick", "takes_us": 2_000_000}
    assert run(body(profile)) == ("quick", 2.0)
    assert run(cancelled_at(profile, 0.5)) == ("cancelled", 0.5)


def test_a_heartbeat_body_updates_its_job_each_beat_until_it_is_done() -> None:
    profile: Profile = {"profile": "heartbeat", "takes_us": 500_000, "beat_us": 200_000}
    job = Job()
    assert run(body(profile, job)) == ("heartbeat", 0.5)
    assert job.updates_at == [0.2, 0.4]
    assert run(cancelled_at(profile, 0.3)) == ("cancelled", 0.3)


def test_a_heartbeat_without_a_beat_is_still_bounded() -> None:
    job = Job()
    profile: Profile = {"profile": "heartbeat", "takes_us": 5_000, "beat_us": 0}
    assert run(body(profile, job)) == ("heartbeat", 0.005)
    assert len(job.updates_at) == 4


def test_a_stubborn_body_goes_on_after_a_cancel_and_then_ends_cancelled() -> None:
    profile: Profile = {"profile": "stubborn", "takes_us": 2_000_000, "winds_down_us": 300_000}
    assert run(body(profile)) == ("stubborn", 2.0)
    assert run(cancelled_at(profile, 0.5)) == ("cancelled", 0.8)


def test_a_stubborn_body_is_not_moved_by_further_cancels() -> None:
    profile: Profile = {"profile": "stubborn", "takes_us": 2_000_000, "winds_down_us": 300_000}
    assert run(cancelled_at(profile, 0.5, 0.6, 0.7)) == ("cancelled", 0.8)


def test_a_body_that_swallows_a_cancel_returns() -> None:
    profile: Profile = {"profile": "swallow", "takes_us": 2_000_000}
    assert run(body(profile)) == ("swallow", 2.0)
    assert run(cancelled_at(profile, 0.5)) == ("swallow", 0.5)


@pytest.mark.parametrize("error", [ValueError, KeyError, TimeoutError])
def test_a_raising_body_raises_what_it_is_told_after_its_time(error: type[Exception]) -> None:
    profile: Profile = {"profile": "raising", "takes_us": 1_000_000, "error": error.__name__}
    result, seconds = run(body(profile))
    assert (type(result), seconds) == (error, 1.0)
    with pytest.raises(error):
        saq_chaos_body_sync({"job": Job()}, bodies=[{**profile, "takes_us": 0}])


def test_the_sync_body_blocks_its_thread_for_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    profiles: list[Profile] = [
        {"profile": "thread", "takes_us": 1_500_000},
        {"profile": "thread", "takes_us": 250_000},
    ]
    assert saq_chaos_body_sync({"job": Job(2)}, bodies=profiles) == "thread"
    assert slept == [0.25]
    assert not inspect.iscoroutinefunction(saq_chaos_body_sync)


def test_the_functions_have_the_names_that_workloads_enqueue() -> None:
    assert [function.__qualname__ for function in bodies.FUNCTIONS] == [
        "saq_chaos_body",
        "saq_chaos_body_sync",
    ]
