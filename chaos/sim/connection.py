"""redis-py's connection over a simulated link: the seam, as low as it can be without bytes.

    Redis, Pipeline, PubSub, ConnectionPool, Retry      redis-py's own, unmodified
    AbstractConnection: connect, handshake, send_packed_command, read_response, disconnect, …   too
    ───────────────────────────────────────────────────────────────────────────────────────────
    SimConnection: _connect, pack_command(s)            commands as arguments instead of RESP
    LinkParser: read_response                           reply objects instead of RESP
    Link                                                 in place of StreamReader and StreamWriter

So what a client does on a cut, a lost reply, a timeout or a cancel is the real code's doing, in
each version: this module decides none of it. It serves redis-py 5 to 7 and RESP 2, which is what
they speak unless they are told otherwise; RESP 3 raises by name.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterable
from typing import Any

import redis.asyncio
from redis._parsers import _AsyncRESP2Parser
from redis._parsers.socket import SERVER_CLOSED_CONNECTION_ERROR
from redis.asyncio.connection import AbstractConnection, ConnectionPool, parse_url
from redis.exceptions import ConnectionError as RedisConnectionError

from chaos.sim.link import CLOSED, Link, Reply
from chaos.sim.network import Network

URL = "redis://127.0.0.1:6379/0"  # what error messages name; there is one server, whatever it says
_WORDS: dict[str | bytes, tuple[bytes, ...]] = {}  # names of commands, split; there are few
_IGNORED = ("socket_keepalive", "socket_keepalive_options", "socket_type", "path")


class LinkParser(_AsyncRESP2Parser):
    """Reads reply objects off a link. Its states and their errors are the real parser's."""

    _stream: Any
    encoder: Any

    async def read_response(self, disable_decoding: bool = False) -> Reply:
        """The next reply; a ResponseError is returned, as the real parser does.

        Raises:
            redis.exceptions.ConnectionError: the stream has ended, or the reply is such an error.
            OSError: the connection was reset.
        """
        if not self._connected:
            raise RedisConnectionError(SERVER_CLOSED_CONNECTION_ERROR)
        reply = await self._stream.read()
        if reply is CLOSED:
            raise RedisConnectionError(SERVER_CLOSED_CONNECTION_ERROR)
        if isinstance(reply, RedisConnectionError):  # LOADING
            raise reply
        if disable_decoding or not self.encoder.decode_responses:
            return reply
        return self._decoded(reply)

    async def can_read_destructive(self) -> bool:
        """Whether the stream is at its end: as in the real one, unread replies do not count."""
        if not self._connected:
            return bool(await super().can_read_destructive())  # raises its version's error
        return bool(self._stream.at_eof())

    def _decoded(self, reply: Reply) -> Reply:
        if isinstance(reply, list):
            return [self._decoded(item) for item in reply]
        return self.encoder.decode(reply)


class _Writer:
    """The link as redis-py's `_writer`."""

    __slots__ = ("close", "drain", "wait_closed", "writelines")

    def __init__(self, link: Link) -> None:
        self.writelines = link.send
        self.drain = link.drain
        self.close = link.close
        self.wait_closed = link.wait_closed


class SimConnection(AbstractConnection):
    """A redis-py connection of one simulated host.

    It does not tell the server the client library's name and version (CLIENT SETINFO), as if those
    options were None: nobody looks at them, and they would be a quarter of a short run's commands.
    """

    _reader: Any
    _writer: Any

    def __init__(
        self,
        *,
        network: Network,
        sim_host: str,
        host: str = "127.0.0.1",
        port: int | str = 6379,
        **options: Any,
    ) -> None:
        self.network = network
        self.sim_host = sim_host
        self.host = host
        self.port = int(port)
        self._address = f"{host}:{port}"
        self._number = network.next_number()
        for name in _IGNORED:
            options.pop(name, None)
        super().__init__(**{**options, "parser_class": LinkParser})
        self.lib_name = self.lib_version = self.driver_info = None
        if self.protocol not in (2, "2"):
            raise NotImplementedError("the simulator speaks RESP 2: leave `protocol` at 2")

    def __hash__(self) -> int:
        """Pools keep a set of connections in use: it has one order in every process."""
        return self._number

    def repr_pieces(self) -> list[tuple[str, str | int]]:
        """What stands in its repr."""
        return [("host", self.host), ("port", self.port), ("db", self.db)]

    def pack_command(self, *args: Any) -> list[Any]:
        """One command as encoded arguments; a name of two words is two of them."""
        first = args[0]
        words = _WORDS.get(first)
        if words is None:
            name = first.encode() if isinstance(first, str) else bytes(first)
            words = _WORDS[first] = tuple(name.split())
        encode = self.encoder.encode
        packed = list(words)
        for arg in args[1:]:
            encoded = arg if type(arg) is bytes else encode(arg)  # type: ignore[no-untyped-call]
            packed.append(encoded if type(encoded) is bytes else bytes(encoded))
        return [tuple(packed)]

    def pack_commands(self, commands: Iterable[Iterable[Any]]) -> list[Any]:
        """Several commands, to be sent in one piece."""
        return [self.pack_command(*command)[0] for command in commands]

    async def _connect(self) -> None:
        link = self.network.open(self.sim_host)
        if self.socket_connect_timeout is None:
            await link.connect()
        else:
            async with asyncio.timeout(self.socket_connect_timeout):
                await link.connect()
        self._reader = link
        self._writer = _Writer(link)

    def _host_error(self) -> str:
        return self._address

    def __del__(self, _warnings: Any = None) -> None:
        """A connection that nobody holds is closed, as the real one is, without its warning."""
        writer = getattr(self, "_writer", None)
        if writer is not None:
            writer.close()
            self._writer = self._reader = None


def make_client(network: Network, host: str, url: str = URL, **options: Any) -> redis.asyncio.Redis:
    """A client as `redis.asyncio.from_url` makes it, on this network, for a host (full name).

    Options are those of redis-py's connection and pool. As with the real one, a client made from a
    URL does not retry commands unless it is given a `retry`.
    """
    given = {"network": network, "sim_host": host, **options, **_options_of(url)}
    pool = ConnectionPool(connection_class=SimConnection, **given)
    client = redis.asyncio.Redis(connection_pool=pool)
    client.auto_close_connection_pool = True
    return client


@functools.cache
def _options_of(url: str) -> dict[str, Any]:
    return dict(parse_url(url))
