"""Schedules: when they are due, what happens while a run goes on, what a restart makes of them.

The queue is the real one, but nothing is taken from it: its runs wait for ever, so that a test says
when one has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from service.errors import Conflict, Invalid, NotAllowed, NotFound, TooMany
from service.models import ScheduleRequest
from service.ports import Caller, RunFilter
from service.runs.manager import RunManager
from service.schedules.cron import next_after
from service.schedules.keeper import Keeper
from service.settings import Limits, Settings

ANN = Caller("ann", "operator")
MONDAY = datetime(2026, 1, 5, 12, 0, 30, tzinfo=UTC)


@dataclass
class Clock:
    """A clock that is set by hand."""

    now: datetime = MONDAY

    def __call__(self) -> datetime:
        return self.now

    def to(self, **moved: int) -> None:
        self.now += timedelta(**moved)


def request(**changes: object) -> ScheduleRequest:
    values = {"name": "nightly", "cron": "0 * * * *", "run": {"plan": "smoke", "world": "sim"}}
    return ScheduleRequest.model_validate({**values, **changes})


@pytest.fixture
async def runs(settings: Settings) -> AsyncIterator[RunManager]:
    """A queue from which nothing is taken."""
    manager = RunManager(settings)
    await manager.start()
    working = manager._tasks[0]
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    yield manager
    await manager.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keepers(settings: Settings, runs: RunManager, clock: Clock) -> Callable[[], Keeper]:
    return lambda: Keeper(settings, runs, lambda run, webhooks: None, clock)


@pytest.fixture
async def keeper(keepers: Callable[[], Keeper]) -> AsyncIterator[Keeper]:
    made = keepers()
    yield made
    await made.close()


def made_by(runs: RunManager, state: str | None = None) -> list[str]:
    """Ids of the schedule's runs, the newest first."""
    found = runs.find(RunFilter(trigger="schedule"), None, 100).runs
    return [run.id for run in found if state in (None, run.state)]


async def test_a_schedule_makes_a_run_when_it_is_due_and_not_before(
    keeper: Keeper, runs: RunManager, clock: Clock
) -> None:
    made = keeper.create(request(), ANN)
    assert made.next_at == datetime(2026, 1, 5, 13, 0, tzinfo=UTC)
    clock.to(minutes=59)
    assert await keeper.tick() == []
    clock.to(minutes=1)
    (run,) = await keeper.tick()
    found = runs.get(run)
    assert (found.trigger, found.schedule, found.requested_by) == ("schedule", "nightly", "ann")
    after = keeper.get("nightly")
    assert (after.last_run, after.last_at) == (run, clock.now)
    assert after.next_at == datetime(2026, 1, 5, 14, 0, tzinfo=UTC)
    assert await keeper.tick() == []


async def test_forbid_leaves_a_time_out_while_a_run_goes_on(
    keeper: Keeper, runs: RunManager, clock: Clock
) -> None:
    keeper.create(request(concurrency="forbid"), ANN)
    clock.to(hours=1)
    (first,) = await keeper.tick()
    clock.to(hours=1)
    assert await keeper.tick() == []
    assert keeper.get("nightly").last_error == f"left out: run {first} still goes on"
    await runs.stop(first, ANN)
    clock.to(hours=1)
    (second,) = await keeper.tick()
    assert keeper.get("nightly").last_error is None
    assert made_by(runs) == [second, first]


async def test_allow_lets_the_next_one_wait(keeper: Keeper, runs: RunManager, clock: Clock) -> None:
    keeper.create(request(concurrency="allow"), ANN)
    for _ in range(2):
        clock.to(hours=1)
        await keeper.tick()
    assert len(made_by(runs, "queued")) == 2


async def test_replace_stops_the_one_before(keeper: Keeper, runs: RunManager, clock: Clock) -> None:
    keeper.create(request(concurrency="replace"), ANN)
    clock.to(hours=1)
    (first,) = await keeper.tick()
    clock.to(hours=1)
    (second,) = await keeper.tick()
    assert runs.get(first).outcome == "stopped"
    assert made_by(runs, "queued") == [second]


async def test_of_many_missed_times_one_is_caught_up_after_a_restart(
    keepers: Callable[[], Keeper], runs: RunManager, clock: Clock
) -> None:
    before = keepers()
    before.create(request(), ANN)
    await before.close()
    clock.to(days=3)
    after = keepers()
    assert len(await after.tick()) == 1
    assert await after.tick() == []
    assert after.get("nightly").next_at == datetime(2026, 1, 8, 13, 0, tzinfo=UTC)
    await after.close()


async def test_a_clock_that_was_days_ahead_and_is_set_right_keeps_no_schedule_waiting(
    keeper: Keeper, clock: Clock
) -> None:
    keeper.create(request(concurrency="allow"), ANN)
    clock.to(days=400)
    assert len(await keeper.tick()) == 1
    clock.to(days=-400)
    assert await keeper.tick() == []
    assert keeper.get("nightly").next_at == MONDAY.replace(hour=13, minute=0, second=0)
    clock.to(hours=1)
    assert len(await keeper.tick()) == 1
    assert await keeper.tick() == []


async def test_a_time_that_comes_twice_is_served_once(keeper: Keeper, clock: Clock) -> None:
    keeper.create(request(concurrency="allow"), ANN)
    clock.to(hours=1)
    assert len(await keeper.tick()) == 1
    clock.to(hours=-2)
    made = []
    for _ in range(9):
        clock.to(minutes=15)
        made += await keeper.tick()
    assert made == []
    assert keeper.get("nightly").next_at == MONDAY.replace(hour=14, minute=0, second=0)


async def test_the_keeper_outlives_a_database_that_cannot_be_used_and_says_so_once(
    keeper: Keeper, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("service.schedules.keeper.AGAIN_S", 0.06)
    keeper.create(request(), ANN)
    clock.to(hours=1)
    database = keeper._store._db._connection
    database.execute("PRAGMA query_only=1")
    tick, tried = keeper.tick, asyncio.Semaphore(0)

    async def counted() -> list[str]:
        tried.release()
        return await tick()

    monkeypatch.setattr(keeper, "tick", counted)
    keeper.start()
    for _ in range(4):
        await tried.acquire()
    said = [one.message for one in caplog.records if one.name == "service.schedules"]
    assert len(said) == 1
    assert said[0].startswith("schedules wait: requests.sqlite3 in the data directory cannot be")
    database.execute("PRAGMA query_only=0")
    async with asyncio.timeout(60):
        while keeper.get("nightly").last_run is None:
            await asyncio.sleep(0.02)


async def test_only_so_many_ended_runs_are_kept(
    keeper: Keeper, runs: RunManager, clock: Clock
) -> None:
    keeper.create(request(keep=2, concurrency="replace"), ANN)
    made = []
    for _ in range(5):
        clock.to(hours=1)
        made += await keeper.tick()
    assert made_by(runs, "queued") == [made[4]]
    assert made_by(runs, "ended") == [made[3], made[2]]


async def test_a_refusal_is_told_and_the_next_time_is_tried(
    keeper: Keeper, runs: RunManager, clock: Clock
) -> None:
    keeper.create(request(), ANN)
    await runs.lock("an incident", Caller("root", "admin"))
    clock.to(hours=1)
    assert await keeper.tick() == []
    refused = keeper.get("nightly").last_error
    assert refused == "The service is locked: root locked the service: an incident"
    await runs.release(Caller("root", "admin"))
    clock.to(hours=1)
    assert len(await keeper.tick()) == 1


async def test_a_schedule_that_is_switched_off_has_no_next_time(
    keeper: Keeper, clock: Clock
) -> None:
    keeper.create(request(), ANN)
    changed = keeper.change("nightly", request(enabled=False))
    assert changed.next_at is None
    clock.to(days=1)
    assert await keeper.tick() == []


async def test_what_would_be_refused_at_night_is_refused_now(keeper: Keeper) -> None:
    with pytest.raises(Invalid, match="would never run"):
        keeper.create(request(run={"plan": "smoke", "dry_run": True}), ANN)
    with pytest.raises(NotFound, match="no plan is called 'nope'"):
        keeper.create(request(run={"plan": "nope"}), ANN)
    with pytest.raises(NotAllowed, match=r"stock@0\.1"):
        keeper.create(request(run={"plan": "smoke", "variants": ["stock@0.1"]}), ANN)
    with pytest.raises(Invalid, match="Bad minute"):
        keeper.create(request(cron="61 * * * *"), ANN)
    assert keeper.all() == []


async def test_a_name_is_taken_once_and_kept(keeper: Keeper) -> None:
    keeper.create(request(), ANN)
    with pytest.raises(Conflict, match="'nightly' already"):
        keeper.create(request(), ANN)
    with pytest.raises(Invalid, match="keeps its name"):
        keeper.change("nightly", request(name="daily"))
    with pytest.raises(NotFound, match="'weekly'"):
        keeper.change("weekly", request(name="weekly"))


async def test_there_are_only_so_many_schedules(
    settings: Settings, runs: RunManager, clock: Clock
) -> None:
    few = settings.model_copy(update={"limits": Limits(schedules=1)})
    keeper = Keeper(few, runs, lambda run, webhooks: None, clock)
    keeper.create(request(), ANN)
    with pytest.raises(TooMany, match="there are 1 schedules"):
        keeper.create(request(name="more"), ANN)
    await keeper.close()


async def test_a_new_schedule_wakes_the_keeper(
    keeper: Keeper, runs: RunManager, clock: Clock
) -> None:
    keeper.start()
    keeper.create(request(), ANN)
    clock.to(hours=1)
    keeper._changed.set()
    async with asyncio.timeout(60):
        while not made_by(runs):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("*/15 * * * *", datetime(2026, 1, 5, 12, 15, tzinfo=UTC)),
        ("0 3 * * SUN", datetime(2026, 1, 11, 3, 0, tzinfo=UTC)),
        ("30 2 29 2 *", datetime(2028, 2, 29, 2, 30, tzinfo=UTC)),
    ],
)
def test_cron_is_five_fields_in_utc(cron: str, expected: datetime) -> None:
    assert next_after(cron, MONDAY) == expected


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("* * * * * *", "has 6 fields: write five"),
        ("@daily", "has 1 fields: write five"),
        ("0 3 30 2 *", "Bad day-of-month"),
    ],
)
def test_what_is_no_cron_says_what_is(cron: str, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        next_after(cron, MONDAY)


async def test_schedules_over_http(client: httpx.AsyncClient) -> None:
    wanted = {"name": "nightly", "cron": "0 3 * * *", "run": {"plan": "smoke", "world": "sim"}}
    made = await client.post("/v1/schedules", json=wanted)
    assert (made.status_code, made.headers["location"]) == (201, "/v1/schedules/nightly")
    assert (await client.post("/v1/schedules", json=wanted)).status_code == 409
    changed = await client.put("/v1/schedules/nightly", json={**wanted, "keep": 3})
    assert changed.json()["request"]["keep"] == 3
    listed = (await client.get("/v1/schedules")).json()["schedules"]
    assert [one["request"]["name"] for one in listed] == ["nightly"]
    assert (await client.delete("/v1/schedules/nightly")).status_code == 204
    assert (await client.get("/v1/schedules/nightly")).status_code == 404
