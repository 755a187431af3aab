"""One connection from a client's host to the server: what asyncio's streams would be, and the wire.

    client's host                      wire                          server
    send ─────────────── request hop, FIFO ──────────────────► model.execute
    read ◄── inbox ◄──── reply hop, FIFO ──────────────────── deliver

The client's end behaves as a StreamReader and a StreamWriter over TCP do, because redis-py relies
on their corners: a read that is cancelled leaves its reply in the inbox; an end of stream comes
after what was sent before it; a reset hides what was not read yet, and is raised by every later
read and drain; closing wakes a pending read with the end of the stream. What travels are command
arguments and reply objects, each whole: there is no half of a reply.
"""

from __future__ import annotations

import asyncio
import errno
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

Args: TypeAlias = tuple[bytes, ...]
ADDRESS = ("127.0.0.1", 6379)  # of the server, as asyncio's error messages name it
Held: TypeAlias = tuple[tuple[str | int, ...], Sequence[str], Callable[..., None], tuple[Any, ...]]
Reply: TypeAlias = Any  # bytes, int, None, a redis-py exception, or a list of these


class Wire(Protocol):
    """What carries a link's messages to the server."""

    def dial(self, link: Link) -> None:
        """Ask the server for a connection."""

    def request(self, link: Link, commands: list[Args]) -> None:
        """Send commands, in one piece."""

    def hang_up(self, link: Link) -> None:
        """Tell the server that the client has closed the connection."""


class _Closed:
    """The type of `CLOSED`."""

    def __repr__(self) -> str:
        return "CLOSED"


CLOSED = _Closed()  # what `read` returns at the end of the stream


class Link:
    """One connection.

    Attributes:
        name: `worker-1.2/c3`: the third connection of that host. Names its draws on the tape.
        host: full name of the client's host.
        client: its number at the server; 0: the server does not know it (yet, or any more).
        broken: cut in the middle: whatever is under way is lost. The ends learn of it later.
        abandoned: the client's host is gone, and nothing of it runs any more.
        sent, answered: messages so far, each way.
        sent_us, answered_us: when the last message arrives, each way.
        asked: names of the commands that the server has, and that are not answered.
        outbox: replies that leave the server with the present step.
        standing_in: the reply that replaces the model's next one (an error by a rule).
        subscribed: what the server sends on it are pushes.
        held_requests, held_replies: messages that wait until a rule ends.
    """

    __slots__ = (
        "_closed", "_closing", "_connected", "_eof", "_error", "_gone", "_inbox", "_loop",
        "_waiter", "_wire", "abandoned", "answered", "answered_us", "asked", "broken", "client",
        "held_replies", "held_requests", "host", "name", "outbox", "sent", "sent_us",
        "standing_in", "subscribed",
    )  # fmt: skip

    def __init__(self, name: str, host: str, wire: Wire) -> None:
        self.name = name
        self.host = host
        self.client = 0
        self.broken = self.abandoned = self.subscribed = False
        self.sent = self.answered = self.sent_us = self.answered_us = 0
        self.asked: deque[bytes] = deque()
        self.outbox: list[Reply] = []
        self.standing_in: Reply | None = None
        self.held_requests: list[Held] = []
        self.held_replies: list[Held] = []
        self._wire = wire
        self._inbox: deque[Reply] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._closed: asyncio.Future[None] | None = None
        self._error: OSError | None = None
        self._connected = self._closing = self._gone = self._eof = False

    # --- the client's calls -----------------------------------------------------------------------

    async def connect(self) -> None:
        """Open it.

        Raises:
            OSError: refused, or broken meanwhile.
        """
        self._loop = asyncio.get_running_loop()
        self._wire.dial(self)
        try:
            while not self._connected and self._error is None:
                await self._news()
        except BaseException:
            self.close()
            raise
        if self._error is not None:
            raise self._error

    def send(self, commands: Iterable[Args]) -> None:
        """Send commands, in one piece. As with a socket, it tells of no trouble: `drain` does."""
        if not self._closing and self._error is None:
            self._wire.request(self, list(commands))

    async def drain(self) -> None:
        """Say whether the connection still takes anything.

        Raises:
            OSError: it was reset, or is closed at this end.
        """
        if self._error is not None:
            raise self._error
        if self._closing:
            await asyncio.sleep(0)
        if self._gone:
            raise ConnectionResetError("Connection lost")

    async def read(self) -> Reply:
        """The next reply or push; CLOSED at the end of the stream.

        Raises:
            OSError: the connection was reset.
            RuntimeError: somebody else is reading.
        """
        if self._error is not None:
            raise self._error
        inbox = self._inbox
        while not inbox:
            if self._eof:
                return CLOSED
            await self._news()
            if self._error is not None:
                raise self._error
        return inbox.popleft()

    def at_eof(self) -> bool:
        """Whether the stream has ended and everything is read. Unread replies count as no end."""
        return self._eof and not self._inbox

    def close(self) -> None:
        """Close this end; a pending read comes back at the loop's next turn."""
        if self._closing or self.abandoned:
            return
        self._closing = True
        self._wire.hang_up(self)
        if self._loop is not None and not self._gone and not self._loop.is_closed():
            self._loop.call_soon(self._closed_here)

    async def wait_closed(self) -> None:
        """Return once this end is closed."""
        if not self._gone:
            if self._closed is None or self._closed.done():
                self._closed = asyncio.get_running_loop().create_future()
            await self._closed

    # --- what arrives at the client ---------------------------------------------------------------

    def accepted(self) -> None:
        """The server took the connection."""
        self._connected = True
        self._wake()

    def refused(self) -> None:
        """Nobody listens."""
        self._error = ConnectionRefusedError(errno.ECONNREFUSED, f"Connect call failed {ADDRESS}")
        self._gone = True
        self._wake()

    def receive(self, replies: list[Reply]) -> None:
        """Replies arrive."""
        if not (self.broken or self._closing or self._gone):
            self._inbox += replies
            self._wake()

    def ended(self) -> None:
        """The server closed the connection: the end of the stream."""
        if not self.broken:
            self._eof = True
            if not self._connected:
                self.reset()
            self._wake()

    def reset(self) -> None:
        """The connection is cut, and this end hears of it."""
        if not self._gone:
            self._error = ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
            self._lost()

    # --- within -----------------------------------------------------------------------------------

    async def _news(self) -> None:
        if self._waiter is not None:
            raise RuntimeError(
                "readuntil() called while another coroutine is already waiting for incoming data"
            )
        assert self._loop is not None
        self._waiter = waiter = self._loop.create_future()
        try:
            await waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _closed_here(self) -> None:
        if not self._gone:
            self._eof = True
            self._lost()

    def _lost(self) -> None:
        """The transport is gone. After a reset the stream has an error, and no end."""
        self._gone = True
        self._wake()
        if self._closed is not None and not self._closed.done():
            self._closed.set_result(None)
