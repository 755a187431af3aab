"""The two sides of a program: the model on a clock of its own, and a real server over redis-py.

Both answer the same questions: what does this client read now, is it blocked, what data is there.
The real side is read through redis-py's own connection and parser, so replies are the objects that
saq's client would get.
"""

from __future__ import annotations

from collections import deque
from typing import Any, TypeAlias

from redis import connection as redis_py
from redis.exceptions import AuthenticationError, RedisError, ResponseError

from chaos.clock import MILLISECOND_US, MonotonicClock
from chaos.errors import ServerFailed
from chaos.sim.redis_model import RedisModel

from .program import Args

ANSWER_SECONDS_MAX = 5.0
POLLS_MAX = 20_000
DEADLINES_MAX = 1_000
PATIENCE_SECONDS = 0.05
DATABASES_USED = 2
Connection: TypeAlias = Any  # redis-py's, which has no types
_CONNECTION: Any = redis_py.Connection
_PARSE_URL: Any = redis_py.parse_url


class Modelled:
    """A fresh model and its clients, on a clock that stands still but for `pause`."""

    def __init__(self, clients: int, epoch_us: int) -> None:
        self._now_us = 0
        self.model = RedisModel(lambda: self._now_us, epoch_us=epoch_us, strict=False)
        self.read: list[deque[Any]] = [deque() for _ in range(clients)]
        self._numbers = [self.model.connect(read.append) for read in self.read]
        self._answers: list[Any] = []
        self._controller = self.model.connect(self._answers.append)

    def send(self, client: int, args: Args) -> None:
        """A client sends a command; what everybody reads is in `read`."""
        self.model.execute(self._numbers[client], args)

    def pause(self, pause_ms: int) -> None:
        """Let time pass."""
        until_us = self._now_us + pause_ms * MILLISECOND_US
        for _ in range(DEADLINES_MAX):
            deadline_us = self.model.next_deadline_us()
            if deadline_us is None or deadline_us > until_us:
                break
            self._now_us = max(self._now_us, deadline_us)
            self.model.advance()
        self._now_us = until_us

    def close(self, client: int) -> None:
        """A client connects anew."""
        self.model.disconnect(self._numbers[client])
        self._numbers[client] = self.model.connect(self.read[client].append)

    def is_blocked(self, client: int) -> bool:
        """Whether it waits for something."""
        return self.model.is_blocked(self._numbers[client])

    def ask(self, *commands: Args) -> list[Any]:
        """The answers to commands of an uninvolved client."""
        self._answers.clear()
        for args in commands:
            self.model.execute(self._controller, args)
        return list(self._answers)


class Real:
    """A real server, emptied for each program, and the clients' connections to it.

    Args:
        url: the server's. Everything on it is deleted.
    """

    def __init__(self, url: str, clients: int) -> None:
        self._options: dict[str, Any] = {
            **_PARSE_URL(url), "protocol": 2, "socket_timeout": ANSWER_SECONDS_MAX,
        }  # fmt: skip
        self._clock = MonotonicClock()
        self._controller = self._connected()
        self._connections = [self._connected() for _ in range(clients)]
        self._ids = [self._id(connection) for connection in self._connections]

    def _connected(self) -> Connection:
        connection = _CONNECTION(**self._options)
        try:
            connection.connect()
        except RedisError as error:
            raise ServerFailed(f"the server to compare with does not answer: {error}") from error
        return connection

    def _id(self, connection: Connection) -> int:
        connection.send_command("CLIENT", "ID", check_health=False)
        return int(connection.read_response())

    def version(self) -> str:
        """Name and version of the server."""
        text = self.ask((b"INFO", b"server"))[0].decode()
        fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        name = fields.get("server_name", "redis")
        return f"{name} {fields.get(f'{name}_version', fields['redis_version'])}"

    def empty(self) -> int:
        """No data, no scripts, clients as new; the server's wall clock in microseconds."""
        for client, connection in enumerate(self._connections):
            connection.send_packed_command([_packed((b"RESET",))], check_health=False)
            answer = self.read(client)
            if answer != b"RESET":
                raise ServerFailed(f"the server answered RESET with {answer!r}")
        answers = self.ask((b"FLUSHALL",), (b"SCRIPT", b"FLUSH"), (b"TIME",))
        return int(answers[2][0]) * 1_000_000 + int(answers[2][1])

    def now_us(self) -> int:
        """This process's clock."""
        return self._clock.now_us()

    def send(self, client: int, args: Args) -> None:
        """A client sends a command."""
        self._connections[client].send_packed_command([_packed(args)], check_health=False)

    def read(self, client: int, gives_up: bool = False) -> Any:
        """The next thing that a client reads: an error is an exception object.

        Args:
            client: whose connection.
            gives_up: whether it waits with a deadline, so that being blocked says nothing yet.

        Raises:
            TimeoutError: there is none for seconds, or the client is blocked.
        """
        connection = self._connections[client]
        is_there = gives_up or connection.can_read(timeout=PATIENCE_SECONDS)
        if not is_there and self._is_blocked(client):
            raise TimeoutError(f"client {client} is blocked")
        return _answer(connection)

    def has_more(self, client: int) -> bool:
        """Whether there is something to read already."""
        return bool(self._connections[client].can_read(timeout=0))

    def becomes_blocked(self, client: int) -> bool:
        """Whether a client waits; it is waited for until the server has seen its command."""
        for _ in range(POLLS_MAX):
            if self._is_blocked(client):
                return True
            if self.has_more(client):
                return False
        return False

    def _is_blocked(self, client: int) -> bool:
        line = self._listed(client).decode()
        fields = dict(word.split("=", 1) for word in line.split())
        return "b" in fields.get("flags", "")

    def _listed(self, client: int) -> bytes:
        """The server's line about a client; empty if it is gone."""
        listed: bytes = self.ask((b"CLIENT", b"LIST", b"ID", b"%d" % self._ids[client]))[0]
        return listed

    def close(self, client: int) -> None:
        """A client connects anew, once the server has seen that it left."""
        self._connections[client].disconnect()
        for _ in range(POLLS_MAX):
            if not self._listed(client):
                break
        self._connections[client] = self._connected()
        self._ids[client] = self._id(self._connections[client])

    def ask(self, *commands: Args) -> list[Any]:
        """The answers to commands of an uninvolved client."""
        packed = b"".join([_packed(args) for args in commands])
        self._controller.send_packed_command([packed], check_health=False)
        return [_answer(self._controller) for _ in commands]

    def disconnect(self) -> None:
        """Close every connection."""
        for connection in (self._controller, *self._connections):
            connection.disconnect()


def _packed(args: Args) -> bytes:
    parts = [b"*%d\r\n" % len(args)]
    parts += [b"$%d\r\n%b\r\n" % (len(arg), arg) for arg in args]
    return b"".join(parts)


def _answer(connection: Connection) -> Any:
    try:
        return connection.read_response()
    except (ResponseError, AuthenticationError) as error:
        return error


def contents(side: Modelled | Real) -> dict[str, Any]:
    """All data of a side, in plain words: per database and key its type, value, and if it ends."""
    found: dict[str, Any] = {}
    for number in range(DATABASES_USED):
        names = sorted(side.ask((b"SELECT", b"%d" % number), (b"KEYS", b"*"))[1])
        types = side.ask(*[(b"TYPE", name) for name in names])
        values = side.ask(*[_reading(kind, name) for kind, name in zip(types, names, strict=True)])
        times = side.ask(*[(b"PTTL", name) for name in names])
        for name, kind, value, left_ms in zip(names, types, values, times, strict=True):
            place = f"database {number} key {name!r}"
            found[place] = (bytes(kind), value, "ends" if left_ms >= 0 else "stays")
    return found


def _reading(kind: bytes, name: bytes) -> Args:
    if kind == b"list":
        return b"LRANGE", name, b"0", b"-1"
    if kind == b"zset":
        return b"ZRANGE", name, b"0", b"-1", b"WITHSCORES"
    return b"GET", name
