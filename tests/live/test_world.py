"""The live world: it comes up, does what it is told, replaces what dies, and leaves nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from redis.asyncio import Redis

from chaos import saq_settings
from chaos.environments import Environment
from chaos.errors import HostFailed, ServerFailed, UsageError
from chaos.event import (
    BodyEnded,
    CallReturned,
    HostBegan,
    HostEnded,
    HostSignalled,
    HostStarted,
    QueueDepth,
)
from chaos.live.hosts import Orders
from chaos.live.world import OwnServerWorld
from chaos.world import Depth, Keys, Kill, Pause, Restart, Server, Slots
from tests.conftest import RunningServer
from tests.live.conftest import ANSWER_US, SECONDS, VARIANT, Seen, Worlds, job, plan
from tests.live.test_processes import wait_until_gone

W11, W12 = f"{VARIANT}/worker-1.1", f"{VARIANT}/worker-1.2"
W21 = f"{VARIANT}/worker-2.1"
PRODUCER, REDIS = f"{VARIANT}/producer-1.1", f"{VARIANT}/redis"


def pid_of(seen: Seen, host: str) -> int:
    return next(event.pid for event in seen.of(HostStarted) if event.target == host)


def pids(seen: Seen) -> list[int]:
    return [event.pid for event in seen.of(HostStarted)]


async def test_a_world_is_up_runs_jobs_and_ends_as_saq_ends(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        assert world.hosts("worker") == (W11, W21)
        assert world.hosts("producer") == (PRODUCER,)
        assert world.hosts("redis") == (REDIS,)
        assert world.server.split()[0] in ("redis", "valkey")
        assert await world.tell(job("a"), wait_us=ANSWER_US)
        await seen.until(lambda: [event.job for event in seen.of(BodyEnded)] == ["a"])
    began = {event.host: (event.saq, event.patch, event.role) for event in seen.of(HostBegan)}
    assert began == {
        W11: ("0.26.4", "guarded", "worker"),
        W21: ("0.26.4", "guarded", "worker"),
        PRODUCER: ("0.26.4", "", "producer"),
    }
    assert sorted(event.host for event in seen.of(HostEnded)) == [PRODUCER, W11, W21]
    exits = [(W11, 0, True), (W21, 0, True), (PRODUCER, 0, True), (REDIS, -9, True)]
    assert sorted(seen.exits()) == sorted(exits)
    assert wait_until_gone(pids(seen)) == []


async def test_only_the_owner_can_read_what_a_run_writes(worlds: Worlds) -> None:
    async with worlds.open() as (_, _seen):
        folder = worlds.run_dir / "hosts" / VARIANT
        modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
        assert worlds.run_dir.stat().st_mode & 0o777 == 0o700
        assert folder.stat().st_mode & 0o777 == 0o700
        assert set(modes.values()) == {0o600}
        assert {"worker-1.1.json", "worker-1.1.events", "worker-1.1.log"} < set(modes)


async def test_it_has_the_capabilities_that_faults_need(worlds: Worlds) -> None:
    async with worlds.open() as (world, _):
        for capability in (Restart, Slots, Kill, Pause, Keys, Server):
            assert isinstance(world, capability)
        assert world.slots() == (1, 2)


async def test_an_answer_with_an_error_is_no_success(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        unknown = job("a")
        assert await world.tell(unknown, wait_us=ANSWER_US)
        assert not await world.tell(type(unknown)(function="nobody", key="b"), wait_us=ANSWER_US)
        assert await world.tell(Depth(), wait_us=ANSWER_US)
        await seen.until(lambda: seen.of(QueueDepth))


async def test_keys_are_those_of_unfinished_jobs(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        assert isinstance(world, Keys)
        await world.tell(job("slow", takes_us=30_000_000))
        await world.tell(job("quick"))
        await seen.until(lambda: "finish" in [event.op for event in seen.of(CallReturned)])
        await seen.until(lambda: world.keys() == ("slow",))


async def test_a_stopped_worker_ends_gracefully_and_its_slot_is_filled_again(
    worlds: Worlds,
) -> None:
    async with worlds.open() as (world, seen):
        assert isinstance(world, Restart)
        await world.stop(W11)
        assert world.hosts("worker") == (W21,)
        assert seen.exits() == [(W11, 0, True)]
        assert [(event.target, event.signal) for event in seen.of(HostSignalled)] == [
            (W11, "SIGTERM")
        ]
        assert await world.start(1) == W12
        assert world.hosts("worker") == (W12, W21)
        await world.stop(W11)  # long gone: no error


async def test_a_worker_is_started_once_redis_is_back(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        assert isinstance(world, OwnServerWorld)
        await world.stop(W11)
        await world.stop_server(keep_data=True)
        starting = asyncio.create_task(world.start(1))
        assert await asyncio.wait([starting], timeout=0.2) == (set(), {starting})
        assert W12 not in [event.target for event in seen.of(HostStarted)]
        await world.start_server()
        assert await starting == W12


async def test_a_worker_that_came_up_just_as_redis_went_away_is_started_again(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with worlds.open() as (world, seen):
        assert isinstance(world, OwnServerWorld)
        await world.stop(W11)
        await world.stop_server(keep_data=True)
        with monkeypatch.context() as patch:
            patch.setattr(OwnServerWorld, "_redis_is_away", lambda self: False)
            starting = asyncio.create_task(world.start(1))
            await seen.until(lambda: W12 in [event.target for event in seen.of(HostStarted)])
        await seen.until(lambda: starting.done() or seen.exits()[-1][:2] == (W12, 4))
        await world.start_server()
        assert await starting in (W12, f"{VARIANT}/worker-1.3")
        assert world.failure is None


async def test_a_worker_that_does_not_stop_is_killed(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.live.fleet.STOP_MARGIN_US", 0)
    async with worlds.open() as (world, seen):
        assert isinstance(world, Pause)
        await world.pause(W11)  # stopped, so SIGTERM cannot reach it
        await world.stop(W11)
        assert seen.exits() == [(W11, -9, True)]
        signals = [(event.target, event.signal) for event in seen.of(HostSignalled)]
        assert signals == [(W11, "SIGSTOP"), (W11, "SIGTERM"), (W11, "SIGKILL")]


async def test_a_worker_that_dies_unasked_is_recorded_and_replaced(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        os.kill(pid_of(seen, W11), signal.SIGKILL)
        await seen.until(lambda: world.hosts("worker") == (W12, W21))
        assert seen.exits() == [(W11, -9, False)]


async def test_a_worker_that_dies_again_and_again_fails_the_world(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.live.fleet.REPLACEMENTS_MAX", 1)
    with pytest.raises(HostFailed) as error:  # noqa: PT012 - leaving raises
        async with worlds.open() as (world, seen):
            os.kill(pid_of(seen, W11), signal.SIGKILL)
            await seen.until(lambda: world.hosts("worker") == (W12, W21))
            os.kill(pid_of(seen, W12), signal.SIGKILL)
            await seen.until(lambda: world.failure)
    assert str(error.value).startswith(
        f"{W12} exited with code -9, unasked, and it was replaced 1 times already; it printed:\n"
    )
    assert wait_until_gone(pids(seen)) == []


async def test_a_dead_producer_fails_the_world_at_the_next_command(worlds: Worlds) -> None:
    with pytest.raises(HostFailed, match="the producer is gone, so nothing can be enqueued"):  # noqa: PT012 - leaving raises
        async with worlds.open() as (world, seen):
            os.kill(pid_of(seen, PRODUCER), signal.SIGKILL)
            await seen.until(lambda: world.failure)
            await world.tell(job("a"))


async def test_a_redis_that_dies_unasked_fails_the_world_with_its_log(worlds: Worlds) -> None:
    with pytest.raises(ServerFailed, match=rf"^{VARIANT}/redis exited with code -9, unasked; it"):  # noqa: PT012 - leaving raises
        async with worlds.open() as (world, seen):
            os.kill(pid_of(seen, REDIS), signal.SIGKILL)
            await seen.until(lambda: world.failure)


async def test_a_worker_that_does_not_come_up_is_named_with_what_it_printed(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saq_settings, "_timers", lambda workers, own: {"sweep": 0.5})
    with pytest.raises(HostFailed) as error:
        async with worlds.open():
            pytest.fail("the world came up")
    assert "exited with code 4 before it was up; it printed:\n" in str(error.value)
    assert "timer sweep of 0.5 s" in str(error.value)


@pytest.mark.parametrize("error", [RuntimeError("ours"), asyncio.CancelledError()])
async def test_an_error_or_a_cancel_leaves_no_process(worlds: Worlds, error: BaseException) -> None:
    found: list[int] = []
    with pytest.raises(type(error)):  # noqa: PT012 - leaving raises
        async with worlds.open() as (world, seen):
            assert isinstance(world, Pause)
            found += pids(seen)
            await world.pause(W11)
            await world.pause(REDIS)
            raise error
    assert len(found) == 4
    assert wait_until_gone(found) == []
    assert sorted(code for _, code, _ in seen.exits()) == [-9, -9, -9, -9]


async def test_a_cancel_while_it_comes_up_leaves_no_process(worlds: Worlds) -> None:
    async def come_up() -> None:
        async with worlds.open():
            await asyncio.sleep(60)

    task = asyncio.create_task(come_up())
    started = worlds.run_dir / "hosts" / VARIANT / "worker-2.1.json"
    async with asyncio.timeout(SECONDS):
        while not started.exists():
            await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert processes_of(worlds.run_dir) == []


def test_a_killed_controller_leaves_no_process_although_a_worker_and_redis_are_frozen(
    environment: Callable[[str], Environment], tmp_path: Path
) -> None:
    root = Path(__file__).parent.parent.parent
    argv = [sys.executable, "-m", "tests.live.world_controller"]
    argv += [str(environment(VARIANT).python), str(tmp_path / "run")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=root) as controller:
        assert controller.stdout is not None
        found = json.loads(controller.stdout.readline())
        controller.kill()
    assert len(found) == 4
    assert wait_until_gone(found) == []
    assert left_of(tmp_path) == []


def left_of(folder: Path) -> list[bytes]:
    """Those of `processes_of` that do not end; the watchdog is the last to go."""
    deadline = time.monotonic() + SECONDS
    while (left := processes_of(folder)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def processes_of(folder: Path) -> list[bytes]:
    """Command lines of the processes that were started with something of this folder."""
    found: list[bytes] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes())
    return [line for line in found if os.fsencode(folder) in line]


# --- a Redis that is not ours ---------------------------------------------------------------------


async def test_an_explicit_redis_gets_marked_keys_only_and_is_cleaned(
    worlds: Worlds, redis_server: RunningServer
) -> None:
    async with Redis.from_url(redis_server.url) as client:
        await client.set("theirs", "1")
        async with worlds.open(redis_url=redis_server.url, allow_external=True) as (world, seen):
            assert not isinstance(world, Server)
            assert world.hosts("redis") == ()
            await world.tell(job("a"))
            await world.tell(job("slow", takes_us=30_000_000))
            await seen.until(lambda: [event.job for event in seen.of(BodyEnded)])
            await seen.until(lambda: world.keys() == ("slow",))
            names = [str(name) for name in await client.keys("*")]
            assert [name for name in names if "saqchaos-r1" not in name] == ["b'theirs'"]
            assert len(names) > 1
        assert await client.keys("*") == [b"theirs"]
    assert list((worlds.run_dir / "hosts" / VARIANT).glob("*.json")) == []


async def test_a_fault_on_a_redis_that_is_not_ours_is_refused(
    worlds: Worlds, redis_server: RunningServer
) -> None:
    faults = [{"fault": "redis_pause", "at": ["1s"], "for": "1s"}]
    with pytest.raises(UsageError) as error:
        async with worlds.open(
            plan(faults=faults), redis_url=redis_server.url, allow_external=True
        ):
            pytest.fail("the world came up")
    assert str(error.value) == (
        "fault redis_pause acts on the Redis server itself, and the one at the given URL is not "
        "ours: take redis_pause out of the plan, or leave --redis-url out"
    )


def test_an_app_keeps_its_own_settings_unless_the_plan_says_otherwise(worlds: Worlds) -> None:
    app = {"kind": "app", "calls": [{"function": "send"}]}
    said = plan(workload=app, workers={"count": 1, "grace": "3s", "timers": {"sweep": "2s"}})
    setting = worlds.setting(said, app="chat:settings")
    orders = Orders(
        plan=said, variant=setting.variant, environment=Environment(Path("python")),
        redis_url="redis://h/0", queue="q", salt="00", app="chat:settings", app_path=Path("/app"),
    )  # fmt: skip
    config = orders.config_of("worker", setting.files(W11))
    assert (config["concurrency"], config["timers"]) == (None, {"sweep": 2.0})
    assert (config["grace_s"], config["deadline_s"]) == (3.0, None)
    assert (config["app"], config["app_path"]) == ("chat:settings", "/app")
