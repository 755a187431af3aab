"""A run's events on the wire: `text/event-stream` with ids, types, pings and a bounded patience.

    Runs.events ──► lines_of ──► EventStream ──► one client
                                    ├─ ping, a comment, every 15 s of silence or not
                                    ├─ a client that takes nothing for 20 s is dropped
                                    └─ ends when the server ends

A client that is dropped loses its stream and no event: it comes back with the id of its last one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress

from prometheus_client import Gauge
from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.types import Receive, Scope, Send

from service.models import Event

PING_S = 15
SEND_S = 20
AT_ONCE_S = 0.05


class EventStream(EventSourceResponse):
    """The response. A client that does not read ends it without a word in the log.

    Args:
        lines: what is written.
        open_now: counts the streams that are open.
    """

    def __init__(self, lines: AsyncIterator[ServerSentEvent], open_now: Gauge) -> None:
        self._open_now = open_now
        super().__init__(lines, ping=PING_S, sep="\n", send_timeout=SEND_S,
                         ping_message_factory=_ping)  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(SendTimeoutError), self._open_now.track_inprogress():
            await super().__call__(scope, receive, send)
            if self.active:  # the server ends: the client shall see an end, not a broken line
                self.active = False
                await send({"type": "http.response.body", "body": b"", "more_body": False})


async def lines_of(events: AsyncIterator[Event]) -> AsyncIterator[ServerSentEvent]:
    """The events as they are written.

    What refuses a subscriber at once (too many, no such run) is raised here, before the answer has
    begun; an iterator that has nothing to say yet is not waited for.

    Raises:
        ServiceError: the subscription was refused.
    """
    first = asyncio.ensure_future(anext(events, None))
    await asyncio.wait([first], timeout=AT_ONCE_S)
    if first.done():
        first.result()
    return _lines(first, events)


async def _lines(
    first: asyncio.Future[Event | None], events: AsyncIterator[Event]
) -> AsyncIterator[ServerSentEvent]:
    try:
        event = await first
        if event is not None:
            yield written(event)
            async for later in events:
                yield written(later)
    finally:
        first.cancel()
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()


def written(event: Event) -> ServerSentEvent:
    """One event on the wire. Fields that say nothing are left out."""
    data = {
        "run": event.run,
        "at": event.at.isoformat(),
        **event.data.model_dump(mode="json", exclude_none=True),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return ServerSentEvent(text, event=event.type, id=str(event.id), sep="\n")


def _ping() -> ServerSentEvent:
    return ServerSentEvent(comment="ping", sep="\n")
