"""A model with a clock that tests set, and clients that write commands as text."""

from __future__ import annotations

from typing import Any

from redis.exceptions import ResponseError

from chaos.sim.redis_model import RedisModel

EPOCH_US = 1_700_000_000_000_000


class Client:
    """One connection; `read` holds what it has read and not taken yet."""

    def __init__(self, model: RedisModel) -> None:
        self._model = model
        self.read: list[Any] = []
        self.number = model.connect(self.read.append)

    def send(self, *args: str | bytes) -> None:
        """Send a command: one text with blanks between the words, or the words themselves."""
        words = args[0].split() if len(args) == 1 and isinstance(args[0], str) else args
        self._model.execute(
            self.number, tuple(w.encode() if isinstance(w, str) else w for w in words)
        )

    def take(self) -> list[Any]:
        """Everything read since the last time, errors as `!text`."""
        taken = [seen(reply) for reply in self.read]
        self.read.clear()
        return taken

    def do(self, *args: str | bytes) -> Any:
        """Send a command, and its one reply."""
        self.send(*args)
        (reply,) = self.take()
        return reply

    def leave(self) -> None:
        """Close the connection."""
        self._model.disconnect(self.number)

    @property
    def is_blocked(self) -> bool:
        return self._model.is_blocked(self.number)


def seen(reply: Any) -> Any:
    """A reply with errors as text that begins with `!`, and plain bytes."""
    if isinstance(reply, list):
        return [seen(item) for item in reply]
    if isinstance(reply, ResponseError):
        return f"!{reply}"
    return bytes(reply) if isinstance(reply, bytes) else reply


class Driver:
    """A model, its clock and its clients."""

    def __init__(self, **options: Any) -> None:
        self.now_us = 0
        self.model = RedisModel(lambda: self.now_us, epoch_us=EPOCH_US, **options)

    def client(self) -> Client:
        """A new connection."""
        return Client(self.model)

    def pass_ms(self, time_ms: int) -> None:
        """Let time pass, and whoever waits in vain give up at the right moment."""
        until_us = self.now_us + time_ms * 1_000
        for _ in range(1_000):
            deadline_us = self.model.next_deadline_us()
            if deadline_us is None or deadline_us > until_us:
                break
            self.now_us = max(self.now_us, deadline_us)
            self.model.advance()
        self.now_us = until_us
