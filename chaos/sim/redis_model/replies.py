"""What commands answer with: reply objects, and errors by the server's own words.

    handler ──► bytes | int | None | list | Status          as redis-py's parser gives them
            └─► raise CommandError("ERR …")                 becomes redis-py's exception for it

`Status` marks what the wire would carry as a simple string, for only Lua can tell it from a bulk
string. It is `bytes` to everybody else. This module knows no command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from redis._parsers.base import BaseParser
from redis.exceptions import ResponseError

Reply: TypeAlias = Any  # bytes, int, None, ResponseError, or a list of these, nested


class Status(bytes):
    """A simple string, such as OK."""

    __slots__ = ()


class CommandError(Exception):
    """A command's error reply. `text` begins with the code word: `ERR syntax error`."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Unmodelled(CommandError):
    """The model has no such command or option. `what` names it; `text` is what a client reads."""

    def __init__(self, text: str, what: str) -> None:
        super().__init__(text)
        self.what = what


class _Silence:
    """The type of `NO_REPLY`."""

    def __repr__(self) -> str:
        return "NO_REPLY"


OK = Status(b"OK")
QUEUED = Status(b"QUEUED")
PONG = Status(b"PONG")
NO_REPLY = _Silence()  # the handler delivered its replies itself, or the client is blocked now

SYNTAX = "ERR syntax error"
WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
NOT_AN_INTEGER = "ERR value is not an integer or out of range"
NOT_A_FLOAT = "ERR value is not a valid float"
NO_SUCH_KEY = "ERR no such key"


def as_exception(text: str) -> ResponseError:
    """The exception that redis-py's parser makes of an error line."""
    parse: Callable[[str], ResponseError] = BaseParser.parse_error
    return parse(text)


def wrong_arity(name: str) -> CommandError:
    """A command got too few or too many arguments; subcommands are named `client|setinfo`."""
    return CommandError(f"ERR wrong number of arguments for '{name}' command")
