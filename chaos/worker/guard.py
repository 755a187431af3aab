"""The connection guard: from here on this process talks to one Redis only.

An application that is soaked may hold other Redis clients: a second queue, a cache, a lock. They
must not reach what they were written for. So the connection classes of redis-py, sync and asyncio,
are made to check the address before they connect, and so are subclasses, Sentinel and Cluster
connections, whether they exist already or are defined later. A refused connection raises
`AddressRefused`, a redis-py ConnectionError that names the address and the only one allowed; each
address is also said once on stderr, since the application may swallow the error.

The address is host, port and database, or socket path and database; `localhost` and `127.0.0.1` are
one host. It does not look at other services, nor at Redis clients that are not built on redis-py.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any

import redis.asyncio.connection
import redis.connection
from redis.exceptions import ConnectionError as RedisConnectionError

from .config import HostError, describe, say

_METHODS = ("connect", "connect_check_health", "_connect")


class AddressRefused(RedisConnectionError):
    """This process may not connect there."""


@dataclasses.dataclass(frozen=True)
class Address:
    """Where a Redis is: `host:port` or a socket's path, and the number of the database."""

    place: str
    database: int = 0

    def __str__(self) -> str:
        return f"{self.place}/{self.database}"


def address_of_url(url: str) -> Address:
    """The address that a Redis URL names.

    Raises:
        HostError: it is no Redis URL. The message does not hold the URL: it may have a password.
    """
    try:
        options = redis.asyncio.connection.parse_url(url)
    except ValueError as error:
        raise HostError(f"redis_url is no Redis URL: {describe(error)}") from None
    return _address(dict(options).get)


def install(url: str) -> None:
    """Refuse every connection of redis-py that goes elsewhere than `url`, for good."""
    gate = _Gate(address_of_url(url))
    for base in (
        redis.connection.AbstractConnection,
        redis.asyncio.connection.AbstractConnection,
    ):
        gate.guard_tree(base)
        _guard_later_subclasses(base, gate)


class _Gate:
    """Checks connections against the one allowed address."""

    def __init__(self, allowed: Address) -> None:
        self._allowed = allowed
        self._refused: list[Address] = []

    def check(self, connection: Any) -> None:
        """Raise AddressRefused unless this connection goes to the allowed address."""
        address = _address(lambda name: getattr(connection, name, None))
        if address == self._allowed:
            return
        message = (
            f"refused a connection to the Redis at {address}: this run may only use {self._allowed}"
        )
        if address not in self._refused:
            self._refused.append(address)
            say(message)
        raise AddressRefused(message)

    def guard_tree(self, cls: type[Any]) -> None:
        """Guard this class and every subclass that exists."""
        self.guard_class(cls)
        for subclass in cls.__subclasses__():
            self.guard_tree(subclass)

    def guard_class(self, cls: type[Any]) -> None:
        """Guard what this very class defines. Its base's methods are guarded where they stand.

        A connection that Sentinel manages does not know its address until `connect_to`, which ends
        in a base class's method; its own `connect` is left alone.
        """
        for name in _METHODS:
            method = cls.__dict__.get(name)
            if not inspect.isfunction(method) or (name == "connect" and hasattr(cls, "connect_to")):
                continue
            setattr(cls, name, self._guarded(method))

    def _guarded(self, method: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(method):

            @functools.wraps(method)
            async def connect_async(connection: Any, *args: Any, **kwargs: Any) -> Any:
                self.check(connection)
                return await method(connection, *args, **kwargs)

            return connect_async

        @functools.wraps(method)
        def connect(connection: Any, *args: Any, **kwargs: Any) -> Any:
            self.check(connection)
            return method(connection, *args, **kwargs)

        return connect


def _guard_later_subclasses(base: Any, gate: _Gate) -> None:
    def init_subclass(cls: type[Any], /, **kwargs: Any) -> None:
        super(base, cls).__init_subclass__(**kwargs)
        gate.guard_class(cls)

    base.__init_subclass__ = classmethod(init_subclass)


def _address(get: Callable[[str], Any]) -> Address:
    """The address in `path`, or else in `host` and `port`; redis-py's defaults where they lack."""
    database = int(get("db") or 0)
    path = get("path")
    if path:
        return Address(f"unix:{path}", database)
    host = str(get("host") or "localhost").lower()
    host = "127.0.0.1" if host == "localhost" else host
    return Address(f"{host}:{int(get('port') or 6379)}", database)
