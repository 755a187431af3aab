"""Each fault on a real world: what injecting it does, and that healing undoes it."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from random import Random
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter

from chaos import faults
from chaos import plan as plans
from chaos.errors import WorldError
from chaos.event import (
    CallInvoked,
    CallReturned,
    HostExited,
    HostSignalled,
    HostStarted,
    QueueDepth,
)
from chaos.faults import Fault
from chaos.live.watchdog import process
from chaos.live.world import LiveWorld
from chaos.seed import Seed
from chaos.world import CAPABILITIES, Depth, Kill, Server
from tests.live.conftest import ANSWER_US, VARIANT, Seen, Worlds, job, plan

W11, W12, W13 = (f"{VARIANT}/worker-1.{n}" for n in (1, 2, 3))
W21, W22 = (f"{VARIANT}/worker-2.{n}" for n in (1, 2))
REDIS = f"{VARIANT}/redis"


def fault(name: str, **fields: Any) -> Fault:
    """The fault that a plan's YAML would give."""
    text = json.dumps({"fault": name, "at": ["1s"], **fields})
    return faults.make(TypeAdapter(plans.Fault).validate_json(text))


def stream() -> Random:
    return Seed(1).stream("target", 0)


def state_of(seen: Seen, host: str) -> str:
    """The state letter of a host's last process: T is stopped."""
    pid = [event.pid for event in seen.of(HostStarted) if event.target == host][-1]
    found = process(pid)
    return found.state if found else "gone"


def fleet_over_time(seen: Seen) -> list[int]:
    """How many workers there were after each start and end of one, from the second start on."""
    count, counts = 0, []
    changes: list[HostStarted | HostExited] = [*seen.of(HostStarted), *seen.of(HostExited)]
    for event in sorted(changes, key=lambda event: event.t_us):
        if "worker" in event.target:
            count += 1 if isinstance(event, HostStarted) else -1
            counts.append(count)
    return counts[1:]


def test_every_fault_of_the_plan_can_be_made_and_is_described() -> None:
    specs = get_args(get_args(plans.Fault)[0])
    names = [get_args(spec.model_fields["fault"].annotation)[0] for spec in specs]
    assert [kind.name for kind in faults.FAULTS] == names
    assert all(kind.description for kind in faults.FAULTS)
    server = [kind.name for kind in faults.FAULTS if kind.make.server]  # type: ignore[attr-defined]
    assert tuple(server) == plans.SERVER_FAULTS


async def test_healing_without_an_injection_changes_nothing(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        before = len(seen.of(HostStarted))
        for kind in faults.FAULTS:
            timed = kind.name not in ("sweep", "rolling_restart", "kill", "abort", "script_flush")
            more = {"latency": {"max": "1ms"}, "clock_skew": {"by": "1s"}}.get(kind.name, {})
            healer = fault(kind.name, **({"for": "1s"} if timed else {}), **more)
            if any(need not in CAPABILITIES["live"] for need in healer.needs):
                continue
            assert all(isinstance(world, need) for need in healer.needs)
            await healer.heal(world)
            await healer.heal(world)
        assert world.hosts("worker") == (W11, W21)
        assert len(seen.of(HostStarted)) == before
        assert seen.of(HostSignalled) == []


async def test_a_live_world_has_what_is_said_of_it_and_no_network_of_its_own(
    worlds: Worlds,
) -> None:
    async with worlds.open() as (world, _):
        every = CAPABILITIES["sim"]
        can = tuple(capability for capability in every if isinstance(world, capability))
        assert can == CAPABILITIES["live"]


async def test_sweep_sweeps_although_the_lock_is_held(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        sweep = fault("sweep", wait="50ms")
        producer = f"{VARIANT}/producer-1.1"
        for _ in range(2):  # the second one finds the lock of the first
            await sweep.inject(world, stream())
            await sweep.heal(world)
        calls = [
            event.outcome
            for event in seen.of(CallReturned)
            if event.op == "sweep" and event.host == producer
        ]
        assert len(calls) == 2
        assert "fail" not in calls


async def test_abort_aborts_as_many_unfinished_jobs_as_asked(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        for number in range(5):
            await world.tell(job(f"k{number}", takes_us=20_000_000))
        await seen.until(lambda: len(world.keys()) == 5)
        abort = fault("abort", count=3)
        await abort.inject(world, stream())
        await abort.heal(world)
        wanted = sorted(stream().sample([f"k{n}" for n in range(5)], 3))
        await seen.until(lambda: aborted(seen) == wanted)


def aborted(seen: Seen) -> list[str]:
    return sorted(event.job for event in seen.of(CallInvoked) if event.op == "abort")


async def test_abort_does_nothing_while_there_is_no_job(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        await fault("abort", count=3).inject(world, stream())
        assert await world.tell(Depth(), wait_us=ANSWER_US)
        assert aborted(seen) == []


async def test_kill_ends_one_worker_at_once_and_heals_with_a_new_one(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        kill = fault("kill", replace_after="10ms")
        assert kill.hold_us == 10_000
        await kill.inject(world, stream())
        victim = stream().choice([W11, W21])
        assert seen.exits() == [(victim, -9, True)]
        assert len(world.hosts("worker")) == 1
        await kill.heal(world)
        await kill.heal(world)
        assert len(world.hosts("worker")) == 2
        assert victim not in world.hosts("worker")


async def test_pause_freezes_one_worker_and_heals_by_letting_it_go_on(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        pause = fault("pause", **{"for": "300ms"})
        assert pause.hold_us == 300_000
        victim = stream().choice([W11, W21])
        await pause.inject(world, stream())
        await seen.until(lambda: state_of(seen, victim) == "T")
        await pause.heal(world)
        await seen.until(lambda: state_of(seen, victim) in "SR")
        assert seen.exits() == []


async def test_pause_heals_although_its_worker_is_gone(worlds: Worlds) -> None:
    async with worlds.open() as (world, _):
        pause = fault("pause", **{"for": "300ms"})
        await pause.inject(world, stream())
        assert isinstance(world, Kill)
        await world.kill(stream().choice([W11, W21]))
        await pause.heal(world)


async def test_rolling_restart_replaces_every_worker_with_at_most_the_surge(
    worlds: Worlds,
) -> None:
    async with worlds.open() as (world, seen):
        deploy = fault("rolling_restart", max_surge=1, max_unavailable=0)
        await deploy.inject(world, stream())
        await deploy.heal(world)
        assert world.hosts("worker") == (W12, W22)
        assert sorted(seen.exits()) == [(W11, 0, True), (W21, 0, True)]
        assert fleet_over_time(seen) == [2, 3, 2, 3, 2]


async def test_rolling_restart_without_a_surge_has_at_most_that_many_too_few(
    worlds: Worlds,
) -> None:
    async with worlds.open() as (world, seen):
        deploy = fault("rolling_restart", max_surge=0, max_unavailable=1)
        await deploy.inject(world, stream())
        await deploy.heal(world)
        assert world.hosts("worker") == (W12, W22)
        assert fleet_over_time(seen) == [2, 1, 2, 1, 2]


async def test_an_interrupted_rolling_restart_heals_to_one_worker_a_slot(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        deploy = fault("rolling_restart", max_surge=2)
        injecting = asyncio.create_task(deploy.inject(world, stream()))
        await seen.until(lambda: len(seen.of(HostSignalled)) == 2)  # old ones wind down
        injecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await injecting
        await deploy.heal(world)
        assert world.hosts("worker") == (W12, W22)
        assert sorted(seen.exits()) == [(W11, 0, True), (W21, 0, True)]


async def test_rolling_restarts_and_kills_at_once_leave_a_whole_fleet(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        kills = [fault("kill") for _ in range(3)]
        deploys = [fault("rolling_restart", max_surge=2), fault("rolling_restart")]
        draws = [Seed(n).stream("target") for n in range(5)]
        await asyncio.gather(
            *(
                _tolerant(found, world, draw)
                for found, draw in zip([*deploys, *kills], draws, strict=True)
            )
        )
        await asyncio.gather(*(found.heal(world) for found in (*kills, *deploys)))
        slots = [host.rpartition("/")[2].partition(".")[0] for host in world.hosts("worker")]
        assert slots == ["worker-1", "worker-2"]
        assert all(expected for _, _, expected in seen.exits())


async def _tolerant(found: Fault, world: LiveWorld, draw: Random) -> None:
    """Inject; it may find that another fault left no worker to act on."""
    with suppress(WorldError):
        await found.inject(world, draw)


@pytest.mark.parametrize(("data", "queued"), [("kept", 1), ("lost", 0)])
async def test_redis_restart_keeps_or_loses_what_is_queued(
    worlds: Worlds, data: str, queued: int
) -> None:
    async with worlds.open() as (world, seen):
        waiting = job("later")
        assert await world.tell(
            type(waiting)(function="saq_chaos_body", key="later", kwargs=waiting.kwargs,
                          scheduled_in_us=60_000_000),
            wait_us=ANSWER_US,
        )  # fmt: skip
        restart = fault("redis_restart", data=data, **{"for": "100ms"})
        assert restart.hold_us == 100_000
        await restart.inject(world, stream())
        assert world.hosts("redis") == ()
        await restart.heal(world)
        await restart.heal(world)
        assert world.hosts("redis") == (REDIS,)
        await _answers(world, seen)
        assert seen.of(QueueDepth)[-1].incomplete == queued
        assert world.hosts("worker") == (W11, W21)


async def _answers(world: LiveWorld, seen: Seen) -> None:
    for _ in range(50):
        if await world.tell(Depth(), wait_us=2_000_000):
            await seen.until(lambda: seen.of(QueueDepth))
            return
        await asyncio.sleep(0.1)
    pytest.fail("the queue does not answer after the restart")


async def test_redis_pause_freezes_the_server_and_heals_by_letting_it_go_on(
    worlds: Worlds,
) -> None:
    async with worlds.open() as (world, seen):
        pause = fault("redis_pause", **{"for": "200ms"})
        await pause.inject(world, stream())
        await seen.until(lambda: state_of(seen, REDIS) == "T")
        assert not await world.tell(Depth(), wait_us=200_000)
        await pause.heal(world)
        await _answers(world, seen)
        assert seen.exits() == []


async def test_a_restart_of_a_paused_redis_heals_both(worlds: Worlds) -> None:
    async with worlds.open() as (world, seen):
        pause = fault("redis_pause", **{"for": "200ms"})
        restart = fault("redis_restart", **{"for": "100ms"})
        await pause.inject(world, stream())
        await restart.inject(world, stream())
        await pause.heal(world)
        await restart.heal(world)
        assert isinstance(world, Server)
        await _answers(world, seen)


async def test_a_fault_without_any_worker_to_act_on_says_so(worlds: Worlds) -> None:
    async with worlds.open(plan(workers={"count": 1})) as (world, _):
        await fault("kill").inject(world, stream())
        with pytest.raises(WorldError) as error:
            await fault("pause", **{"for": "1s"}).inject(world, stream())
        assert str(error.value) == f"{VARIANT}: no worker is up, so the fault has no target"
