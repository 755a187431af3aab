"""Numbers as the server reads and writes them: strict integers, floats, scores and durations.

An integer has one spelling (`01`, `+1` and ` 1` are none), must fit 64 bits. A score is written
with the fewest digits that read back as the same double, in the server's choice of exponent.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import lru_cache

from .replies import NOT_A_FLOAT, NOT_AN_INTEGER, CommandError

INTEGER_MIN = -(1 << 63)
INTEGER_MAX = (1 << 63) - 1
_PLAIN_MAX = INTEGER_MAX // 2  # whole numbers up to here are written as integers

_FLOAT = re.compile(
    rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE | re.ASCII
)


def integer(text: bytes, refusal: str = NOT_AN_INTEGER) -> int:
    """A 64-bit integer.

    Raises:
        CommandError: `refusal`, for anything else.
    """
    try:
        value = int(text)
    except ValueError:
        raise CommandError(refusal) from None
    if b"%d" % value != text or not INTEGER_MIN <= value <= INTEGER_MAX:
        raise CommandError(refusal)
    return value


@lru_cache(maxsize=4096)
def double(text: bytes) -> float | None:
    """A double; None if the text is none, is NaN, or lies outside what a double can hold."""
    if not _FLOAT.fullmatch(text):
        return None
    value = float(text)
    if math.isnan(value) or (math.isinf(value) and b"i" not in text.lower()):
        return None
    return value


def score(text: bytes) -> float:
    """A score of a sorted set.

    Raises:
        CommandError: the text is none.
    """
    value = double(text)
    if value is None:
        raise CommandError(NOT_A_FLOAT)
    return value


@lru_cache(maxsize=1024)
def bound(text: bytes) -> tuple[float, bool]:
    """A score and whether it is itself left out, of `5`, `(5`, `-inf`.

    Raises:
        CommandError: the text is none.
    """
    exclusive = text[:1] == b"("
    number = text[1:] if exclusive else text
    if number and (not _FLOAT.fullmatch(number) or math.isnan(float(number))):
        raise CommandError("ERR min or max is not a float")
    return float(number or 0), exclusive


@lru_cache(maxsize=256)
def timeout_ms(text: bytes) -> int:
    """The timeout of a blocking command, from seconds, rounded up to milliseconds.

    Raises:
        CommandError: it is none, below 0, or too far away.
    """
    if double(text) is None:
        raise CommandError("ERR timeout is not a float or out of range")
    seconds = Decimal(text.decode())
    if seconds.is_infinite() or seconds * 1_000 > INTEGER_MAX:
        raise CommandError("ERR timeout is out of range")
    if seconds < 0:
        raise CommandError("ERR timeout is negative")
    return math.ceil(seconds * 1_000)


@lru_cache(maxsize=4096)
def written(value: float) -> bytes:
    """A score as the server writes it: `3`, `0.1`, `1e+20`, `-inf`."""
    if math.isinf(value):
        return b"inf" if value > 0 else b"-inf"
    if value == int(value) and abs(value) <= _PLAIN_MAX:
        return b"%d" % int(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    return ("-" * sign + _placed(text, exponent, 7 - sign)).encode()


def _placed(digits: str, exponent: int, zeros_max: int) -> str:
    """Digits times ten to the exponent, plain while that stays short."""
    size = len(digits)
    power = abs(exponent + size - 1)
    if exponent >= 0 and power < size + zeros_max:
        return digits + "0" * exponent
    if exponent < 0 and (exponent > -7 or power < 4):
        whole = size + exponent
        return f"{digits[:whole]}.{digits[whole:]}" if whole > 0 else f"0.{'0' * -whole}{digits}"
    fraction = f".{digits[1:18]}" if size > 1 else ""
    return f"{digits[0]}{fraction}e{'-' if exponent + size < 1 else '+'}{power}"
