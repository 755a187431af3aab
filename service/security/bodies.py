"""Reads a request's body whole, within its limits, before anything else looks at it.

Bytes are counted as they come, since a chunked body says no length and a length can lie. Brackets
of JSON are counted before it is parsed: parsers, models and writers recurse, and a text of a few
kilobytes can nest deeper than any of them can go. Lone surrogates (`"\\ud800"`) are JSON but no
Unicode: no database or file would take them. A key that stands twice in one object is refused too:
parsers disagree about which of the two counts, and a person meant one of them.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from starlette.types import Message, Receive

from service.errors import BadRequest, TooLarge

DEPTH_MAX = 50
READ_S = 30
# A string that never ends reaches to the end: were it no match, each quote in it would be tried.
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_DIGITS_MAX = 400  # more than the largest float has
_SHOWN_MAX = 60


async def read(receive: Receive, declared: str | None, bytes_max: int) -> bytes:
    """The whole body.

    Raises:
        BadRequest: its length is no number, the client went away, or it takes too long.
        TooLarge: it has more bytes than a body may have.
    """
    if declared is not None:
        if not (declared.isascii() and declared.isdigit()):
            raise BadRequest(f"Content-Length {declared[:30]!r} is no number")
        if len(declared) > 15 or int(declared) > bytes_max:
            raise _too_large(bytes_max)
    try:
        async with asyncio.timeout(READ_S):
            return await _read(receive, bytes_max)
    except TimeoutError as error:
        raise BadRequest(f"the body was not there within {READ_S} s: send it again") from error


async def _read(receive: Receive, bytes_max: int) -> bytes:
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadRequest("the client went away before the body was there")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > bytes_max:
            raise _too_large(bytes_max)
        chunks.append(chunk)
        more = message.get("more_body", False)
    return b"".join(chunks)


def replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body once, and then whatever else comes."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


def check_json(body: bytes) -> None:
    """Refuse JSON that nests too deeply, or that holds text which is no Unicode.

    Raises:
        BadRequest: what is wrong. Whether it is JSON at all is left to its parser.
    """
    _check_text(body)
    depth = 0
    for match in _TOKENS.finditer(body):
        bracket = match[0]
        if bracket in (b"[", b"{"):
            depth += 1
            if depth > DEPTH_MAX:
                raise BadRequest(f"the JSON nests more than {DEPTH_MAX} levels deep")
        elif bracket in (b"]", b"}"):
            depth -= 1
    _check_values(body)


def _check_text(body: bytes) -> None:
    """JSON between systems is UTF-8 (RFC 8259); in UTF-16 the brackets could not be counted."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(f"the body is no UTF-8 text: byte {error.start} is wrong") from error
    if b"\0" in body:
        raise BadRequest("the body is no UTF-8 text: it holds a zero byte")


def _check_values(body: bytes) -> None:
    """What a parser would let pass and nothing after it should see."""
    try:
        data = json.loads(body, object_pairs_hook=_once_each, parse_int=_number)
    except ValueError:
        return  # no JSON: its parser says where
    if _SURROGATE.search(body):
        _check_surrogates(data)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys stand there once each."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                shown = key[:_SHOWN_MAX]
                raise BadRequest(f"the key {shown!r} stands twice in an object: keep one")
            seen.add(key)
    return found


def _number(digits: str) -> int:
    if len(digits) > _DIGITS_MAX:
        raise BadRequest(
            f"the number {digits[:_SHOWN_MAX]}… has {len(digits)} digits: at most {_DIGITS_MAX}"
        )
    return int(digits)


def _check_surrogates(data: Any) -> None:
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise BadRequest(
            r"the JSON holds half of a surrogate pair (\ud800 to \udfff), which is no character"
        ) from error


def _too_large(bytes_max: int) -> TooLarge:
    return TooLarge(
        f"the body is larger than {bytes_max} bytes: the operator's SAQCHAOS_LIMITS__BODY_BYTES "
        f"is the limit"
    )
