"""One connection as uvicorn's parser h11 serves it, with the limits that uvicorn does not set.

    connected ──HEAD_S──► a request's head is there ──► answer ──DRAIN_S──► its body is read
                                                          └─ nobody takes it for SEND_S ─► cut off

Without them a client that sends half a head, trickles a body that nobody wants any more, or reads
no answer keeps its connection for ever, and some hundreds of such clients keep out everybody else.
No deadline is moved by what trickles in. Who comes when all connections are taken is told so by the
guard, as a problem like any other; `/healthz` and `/readyz` answer also then, so that nothing
restarts a service because it is popular. Connections far beyond the limit are closed unheard: each
costs a descriptor. What is no HTTP is a problem document too.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from service.api import problems
from service.errors import BadRequest

HEAD_S = 20.0
DRAIN_S = 10.0
SEND_S = 60.0
CONNECTIONS_MAX = 2_000
CONNECTIONS_MIN = 16
SPARE = 64  # connections beyond the limit that are told so
DESCRIPTORS_KEPT = 256  # for the database, the runs, the files that are sent
FULL = "full"  # in a request's state: it came when all connections were taken
NO_HTTP = "the bytes are no HTTP/1.1 request, or its head is too large: send one as RFC 9112 has it"
_LOG = logging.getLogger("service.security")


def allowed() -> int:
    """How many connections there may be; the process's limit of descriptors is raised for them."""
    wanted = CONNECTIONS_MAX + SPARE + DESCRIPTORS_KEPT
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted and soft != resource.RLIM_INFINITY:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return CONNECTIONS_MAX
    return max(CONNECTIONS_MIN, soft - SPARE - DESCRIPTORS_KEPT)


class Connection(H11Protocol):
    """One connection. uvicorn makes it, with its own arguments."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._allowed = self.limit_concurrency or CONNECTIONS_MAX
        self.limit_concurrency = None  # uvicorn would answer in plain text
        self._inner = self.app
        self.app = self._noted
        self._deadline: asyncio.TimerHandle | None = None
        self._waits_for = ""
        self._unread: asyncio.TimerHandle | None = None

    async def _noted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The app, which is told whether all connections were taken."""
        scope["state"][FULL] = len(self.connections) > self._allowed
        await self._inner(scope, receive, send)

    # --- what uvicorn and the loop call -----------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has connected."""
        super().connection_made(transport)
        if len(self.connections) > self._allowed + SPARE:
            self.transport.abort()
        else:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over."""
        self._await("")
        self._read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """An answer was written."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """The client takes less than is written."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(SEND_S, self._cut_off, "it took no answer")

    def resume_writing(self) -> None:
        """The client has taken what was written."""
        self._read()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        if self.cycle is not None:
            self.cycle.disconnected = True  # whatever its app still says, it is too late
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()  # an answer is under way: nothing can be said any more
            return
        answer = problems.response(BadRequest(NO_HTTP), {"Connection": "close"})
        head = h11.Response(status_code=400, headers=answer.raw_headers, reason=b"Bad Request")
        for part in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(part) or b"")
        self.transport.close()

    # --- deadlines --------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Wait for what the client owes now, if anything; a deadline that goes on is not moved."""
        theirs, ours = self.conn.their_state, self.conn.our_state
        if theirs is h11.IDLE and self.timeout_keep_alive_task is None:
            self._await("head", HEAD_S)
        elif theirs is h11.SEND_BODY and ours not in (h11.SEND_RESPONSE, h11.SEND_BODY):
            self._await("rest of a body", DRAIN_S)
        else:
            self._await("")

    def _await(self, what: str, seconds: float = 0.0) -> None:
        if what == self._waits_for:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._waits_for, self._deadline = what, None
        if what:
            why = f"its {what} did not come within {seconds:g} s"
            self._deadline = self.loop.call_later(seconds, self._cut_off, why)

    def _read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _cut_off(self, why: str) -> None:
        _LOG.info("a connection from %s is cut off: %s", self.client, why)
        self.transport.abort()
