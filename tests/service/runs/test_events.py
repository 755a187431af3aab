"""Event streams: no gap between what is stored and what comes, however slow the readers are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from service.errors import NotFound, TooMany
from service.models import Event, EventData
from service.runs import feed
from service.runs.feed import Feeds
from service.runs.journal import Journal
from service.runs.store import Store
from service.settings import Settings
from tests.service.runs.running import API, Managing, followed, sim

EVENTS = 1_500  # more than a feed's tail, and than one portion from the store
SECONDS = 60.0


@pytest.fixture
async def journal(data_dir: Path, settings: Callable[..., Settings]) -> Journal:
    """A journal over an index of its own, with one run "run" in it."""
    return _journal(data_dir, settings)


def _journal(data_dir: Path, settings: Callable[..., Settings]) -> Journal:
    from service.runs import resolve
    from service.runs.manager import _fresh

    data_dir.mkdir()
    store = Store(data_dir)
    request = sim()
    run = _fresh(request, resolve.resolve(request, settings()).plan, API)
    store.add(run.model_copy(update={"id": "run"}), "")
    return Journal(store, Feeds(store.events, 300))


async def _read(feeds: Feeds, after: int = 0) -> list[int]:
    async with asyncio.timeout(SECONDS):
        return [event.id async for event in feeds.follow("run", after)]


async def _first(stream: AsyncIterator[Event]) -> Event:
    return await anext(stream)


def _feeds(journal: Journal) -> Feeds:
    return journal._feeds


async def test_two_hundred_subscribers_get_every_event_once_whenever_they_come(
    journal: Journal,
) -> None:
    feeds = _feeds(journal)
    feeds.open("run")
    readers = [asyncio.create_task(_read(feeds)) for _ in range(100)]
    for number in range(1, EVENTS):
        journal.say("run", "note", EventData(text=str(number)))
        if number % 15 == 0:
            readers.append(asyncio.create_task(_read(feeds, after=number // 2)))
            await asyncio.sleep(0)
    journal.say("run", "ended", EventData(outcome="passed"))
    lists = await asyncio.gather(*readers)
    assert len(lists) == 199
    assert all(ids == list(range(1, EVENTS + 1)) for ids in lists[:100])
    assert all(ids == list(range(ids[0], EVENTS + 1)) for ids in lists[100:])
    assert [ids[0] for ids in lists[100:]] == [n // 2 + 1 for n in range(15, EVENTS, 15)]
    assert len(feeds) == 0


async def test_a_subscriber_that_reads_nothing_costs_nothing_and_loses_its_stream_not_events(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    feeds = _feeds(journal)
    feeds.open("run")
    slow = feeds.follow("run", 0)
    journal.say("run", "note", EventData(text="1"))
    assert (await anext(slow)).id == 1
    for number in range(2, EVENTS):
        journal.say("run", "note", EventData(text=str(number)))
    assert feeds.drop_the_slow() == 0
    monkeypatch.setattr(feed, "PATIENCE_S", -1)
    assert (feeds.drop_the_slow(), len(feeds)) == (1, 0)
    assert [event.id async for event in slow] == []
    journal.say("run", "ended", EventData(outcome="passed"))
    assert await _read(feeds, after=1) == list(range(2, EVENTS + 1))


async def test_a_subscriber_that_waits_for_events_is_not_slow(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    feeds = _feeds(journal)
    feeds.open("run")
    reader = asyncio.create_task(_read(feeds))
    await asyncio.sleep(0)
    monkeypatch.setattr(feed, "PATIENCE_S", -1)
    assert feeds.drop_the_slow() == 0
    journal.say("run", "ended", EventData(outcome="passed"))
    assert await reader == [1]


async def test_the_limit_of_subscribers_is_an_answer_and_a_closed_stream_is_room(
    journal: Journal,
) -> None:
    feeds = Feeds(lambda run, after, limit: [], 2)
    feeds.open("run")
    streams = [feeds.follow("run", 0) for _ in range(2)]
    readers = [asyncio.create_task(_first(stream)) for stream in streams]
    await asyncio.sleep(0)
    with pytest.raises(TooMany, match="2 event streams are open"):
        feeds.check_room()
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    feeds.check_room()
    assert len(feeds) == 0


@pytest.mark.usefixtures("simulated")
async def test_a_stream_can_be_taken_up_at_any_id_and_ends_with_the_run(manager: Managing) -> None:
    runs = await manager()
    run = runs.submit(sim(), API)
    whole = await followed(runs, run.id)
    for after in (0, 1, len(whole) - 1, len(whole), len(whole) + 5):
        again = await followed(runs, run.id, after)
        assert again == whole[after:]
    assert all(isinstance(event, Event) for event in whole)
    with pytest.raises(NotFound, match="no run is called 'none'"):
        runs.events("none", 0)


async def test_streams_end_when_the_service_goes(manager: Managing) -> None:
    runs = await manager()
    run = runs.submit(sim(), API)
    reader = asyncio.create_task(followed(runs, run.id))
    await asyncio.sleep(0.05)
    await runs.close()
    events = await reader
    assert [event.data.state for event in events][:1] == ["queued"]
