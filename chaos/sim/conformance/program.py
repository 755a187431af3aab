"""What a conformance program is made of, and how two replies are compared."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, TypeAlias

from redis.exceptions import ResponseError

Args: TypeAlias = tuple[bytes, ...]

# Real time passes between two commands; a key or client that ends soon must still be there, so a
# program whose steps up to the pause took longer than HURRY_MS is run again, after a few times with
# all these times stretched.
SHORT_MS_MIN = 20
SHORT_MS_MAX = 30
PAUSE_MS = 45
HURRY_MS = SHORT_MS_MIN - 4


class Mode(enum.Enum):
    """How a reply is compared."""

    EXACT = "equal"
    UNORDERED = "the same items, in any order"
    NEAR_S = "seconds that may differ by the time that passed"
    NEAR_MS = "milliseconds that may differ by the time that passed"
    CODE = "the same code word, if both are errors"


@dataclass(frozen=True, slots=True)
class Send:
    """A client sends a command. `short`: place of a time that ends before the next pause, or 0."""

    client: int
    args: Args
    mode: Mode = Mode.EXACT
    short: int = 0

    def stretched(self, factor: int) -> Args:
        """The arguments with the short time (milliseconds, or seconds with a point) stretched."""
        if not self.short or factor == 1:
            return self.args
        time = self.args[self.short]
        longer = b"%.3f" % (float(time) * factor) if b"." in time else b"%d" % (int(time) * factor)
        return (*self.args[: self.short], longer, *self.args[self.short + 1 :])

    def __str__(self) -> str:
        return f"{self.client}: {' '.join(_shown(arg) for arg in self.args)}"


@dataclass(frozen=True, slots=True)
class Pause:
    """Time passes: whatever is to end soon ends."""

    def __str__(self) -> str:
        return f"({PAUSE_MS} ms pass)"


@dataclass(frozen=True, slots=True)
class Close:
    """A client closes its connection and opens another."""

    client: int

    def __str__(self) -> str:
        return f"{self.client}: (connects anew)"


Step: TypeAlias = Send | Pause | Close
Program: TypeAlias = tuple[Step, ...]


def _shown(arg: bytes) -> str:
    text = repr(arg)[1:]
    return text if not arg or set(arg) & set(b" \r\n'\"\\") else text[1:-1]


def as_seen(reply: Any) -> Any:
    """A reply in plain values: an error becomes its type and text."""
    if isinstance(reply, list):
        return [as_seen(item) for item in reply]
    if isinstance(reply, Exception):
        return (type(reply).__name__, str(reply))
    return bytes(reply) if isinstance(reply, bytes) else reply


def agree(expected: Any, seen: Any, mode: Mode) -> bool:
    """Whether two replies, as seen, are the same under a mode."""
    if mode is Mode.UNORDERED and isinstance(expected, list) and isinstance(seen, list):
        return sorted(map(repr, _flat(expected))) == sorted(map(repr, _flat(seen)))
    if mode in _SLACK and isinstance(expected, int) and isinstance(seen, int):
        return expected == seen or (
            min(expected, seen) >= 0 and abs(expected - seen) <= _SLACK[mode]
        )
    if mode is Mode.CODE and isinstance(expected, tuple) and isinstance(seen, tuple):
        return expected[0] == seen[0] and _code(expected[1]) == _code(seen[1])
    return bool(expected == seen)


_PUSHES = (b"message", b"pmessage", b"subscribe", b"psubscribe", b"unsubscribe", b"punsubscribe")
_SLACK = {Mode.NEAR_S: 10, Mode.NEAR_MS: 10_000}


def _flat(items: list[Any]) -> list[Any]:
    """Items and those of the lists among them."""
    flat: list[Any] = []
    for item in items:
        flat += _flat(item) if isinstance(item, list) else [item]
    return flat


def _code(text: str) -> str:
    """The code word of an error, without the text that the parser left: capital letters."""
    word = text.partition(" ")[0]
    return word if word.isupper() else "ERR"


def is_push(reply: Any) -> bool:
    """Whether a reply is a published message or a subscription's, one of several perhaps."""
    return isinstance(reply, list) and bool(reply) and reply[0] in _PUSHES


def in_order(replies: list[Any]) -> list[Any]:
    """Replies with neighbouring pattern messages sorted: a server's patterns have no order."""
    ordered: list[Any] = []
    run: list[Any] = []
    for reply in [*replies, None]:
        if isinstance(reply, list) and reply[:1] == [b"pmessage"]:
            run.append(reply)
        else:
            ordered += [*sorted(run), reply]
            run = []
    return ordered[:-1]


def is_error(reply: Any) -> bool:
    """Whether a reply is an error."""
    return isinstance(reply, ResponseError)
