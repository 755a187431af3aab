"""Feeds: the newest events of runs that go on, and who waits for more of them.

    publish(event) ──► tail of the run (bounded, shared) ──► every subscriber, by its own last id

A subscriber holds nothing but the id of the last event that it saw, so two hundred of them cost two
hundred numbers, none misses an event, and one that reads nothing costs no memory. It reads from the
shared tail, and from the store where the tail does not reach back far enough; that is why there is
no gap between the replay and what comes live. Whoever leaves events unread for `PATIENCE_S` loses
the stream, so that streams that nobody reads do not use up the limit; it resumes by id.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

from chaos.clock import SECOND_US, MonotonicClock
from service.errors import TooMany
from service.models import Event

TAIL = 512
BATCH = 500
PATIENCE_S = 120
RETRY_S = 5

Stored = Callable[[str, int, int], list[Event]]


class Feed:
    """The newest events of one run, and an asyncio.Event that is set when there are more."""

    def __init__(self) -> None:
        self.tail: deque[Event] = deque(maxlen=TAIL)
        self.more = asyncio.Event()

    def publish(self, event: Event) -> None:
        """Add an event, and wake up whoever waits."""
        self.tail.append(event)
        self.more.set()
        self.more = asyncio.Event()

    def since(self, after: int) -> list[Event] | None:
        """Events above `after`; none if the tail does not reach back that far."""
        if not self.tail or self.tail[0].id > after + 1:
            return None
        return [event for event in self.tail if event.id > after]


class _Subscriber:
    """One stream: when its reader last came for more, and whether it has lost the stream."""

    def __init__(self, now_us: int) -> None:
        self.asked_us = now_us
        self.waits = False
        self.lost = False


class Feeds:
    """All feeds and subscribers. Used on the service's own loop alone.

    Attributes:
        dropped: streams that were taken from the slow, so far; ended: runs, by outcome.
    """

    def __init__(self, stored: Stored, subscribers_max: int) -> None:
        self.dropped = 0
        self.ended: Counter[str] = Counter()
        self._stored = stored
        self._max = subscribers_max
        self._feeds: dict[str, Feed] = {}
        self._subscribers: dict[_Subscriber, None] = {}
        self._clock = MonotonicClock()
        self.closed = False

    def __len__(self) -> int:
        return len(self._subscribers)

    def open(self, run: str) -> Feed:
        """The feed of a run that goes on, or waits."""
        return self._feeds.setdefault(run, Feed())

    def publish(self, event: Event) -> None:
        """Tell the subscribers of its run; with the last event the feed is over."""
        self.open(event.run).publish(event)
        if event.type == "ended":
            self.ended[event.data.outcome or "error"] += 1
            self._feeds.pop(event.run, None)

    def close(self) -> None:
        """End all streams, as the service is going away."""
        self.closed = True
        for feed in self._feeds.values():
            feed.more.set()

    def forget(self, run: str) -> None:
        """A run was deleted: end its streams."""
        feed = self._feeds.pop(run, None)
        if feed is not None:
            feed.more.set()

    def drop_the_slow(self) -> int:
        """Take the stream from whoever has not read for too long; how many those were."""
        since_us = self._clock.now_us() - PATIENCE_S * SECOND_US
        slow = [one for one in self._subscribers if not one.waits and one.asked_us < since_us]
        for one in slow:
            one.lost = True
            del self._subscribers[one]
        self.dropped += len(slow)
        return len(slow)

    def check_room(self) -> None:
        """TooMany if no more subscribers are taken."""
        if len(self._subscribers) >= self._max:
            raise TooMany(
                f"{self._max} event streams are open, which is the limit "
                f"(SAQCHAOS_LIMITS__SUBSCRIBERS): close some, or come again",
                retry_after_s=RETRY_S,
            )

    async def follow(self, run: str, after: int) -> AsyncIterator[Event]:
        """Events above `after`, to the last one or until the stream is lost."""
        with self._subscribed() as subscriber:
            more = self._waiting_for(run)
            events = self._above(run, after)
            while not (subscriber.lost or self.closed):
                for event in events:
                    yield event
                    subscriber.asked_us = self._clock.now_us()
                    if subscriber.lost or event.type == "ended":
                        return
                    after = event.id
                if not events:
                    if more is None:
                        return
                    await self._wait(subscriber, more)
                more = self._waiting_for(run)  # before reading: what comes between wakes us up
                events = self._above(run, after)

    def _waiting_for(self, run: str) -> asyncio.Event | None:
        feed = self._feeds.get(run)
        return None if feed is None else feed.more

    def _above(self, run: str, after: int) -> list[Event]:
        feed = self._feeds.get(run)
        found = None if feed is None else feed.since(after)
        return self._stored(run, after, BATCH) if found is None else found

    async def _wait(self, subscriber: _Subscriber, more: asyncio.Event) -> None:
        subscriber.waits = True
        await more.wait()
        subscriber.waits = False
        subscriber.asked_us = self._clock.now_us()

    @contextmanager
    def _subscribed(self) -> Iterator[_Subscriber]:
        self.check_room()
        subscriber = _Subscriber(self._clock.now_us())
        self._subscribers[subscriber] = None
        try:
            yield subscriber
        finally:
            self._subscribers.pop(subscriber, None)
