"""The units of a plan: durations and rates as text in YAML, as integer microseconds inside.

`every: 250ms` becomes 250000 and, in JSON mode, `250ms` again; a rate of `20/s` becomes the 50000
microseconds between two events. The JSON Schema of each is the pattern of its text, since that is
what an editor sees. Which range a key accepts stands here, as one type for each range.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    WithJsonSchema,
)

from chaos.clock import SECOND_US, format_duration, parse_duration_us

HOUR_US = 3_600 * SECOND_US
DURATION_US_MAX = 8_784 * HOUR_US  # a leap year
INTERVAL_US_MAX = 168 * HOUR_US

_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*([smh])")
_RATE_UNITS_US = {"s": SECOND_US, "m": 60 * SECOND_US, "h": HOUR_US}


def _duration(value: Any) -> int:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no duration: write a number and its unit, such as '250ms'")
    try:
        duration_us = parse_duration_us(value)
    except OverflowError:
        duration_us = DURATION_US_MAX + 1
    if duration_us > DURATION_US_MAX:
        raise ValueError(f"{value!r} is too long: at most {format_duration(DURATION_US_MAX)}")
    return duration_us


def _positive(duration_us: int) -> int:
    if duration_us <= 0:
        raise ValueError("0 is too short: write a duration above 0, such as '250ms'")
    return duration_us


def _whole_seconds(duration_us: int) -> int:
    """saq hands these to Redis as the seconds of a SETEX, which refuses fractions."""
    if duration_us % SECOND_US:
        raise ValueError(
            f"{format_duration(duration_us)!r} is no whole number of seconds: "
            "saq gives this one to Redis as it is, and Redis takes whole seconds only"
        )
    return duration_us


def _interval(value: Any) -> int:
    """Microseconds between two events, from `20/s`, `6/m` or `1/h`."""
    match = _RATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is no rate: write a count and /s, /m or /h, such as '20/s'")
    count = float(match[1])
    interval_us = round(_RATE_UNITS_US[match[2]] / count) if count else INTERVAL_US_MAX + 1
    if not 1 <= interval_us <= INTERVAL_US_MAX:
        raise ValueError(f"{value!r} is out of range: from 0.006/h (one a week) to 1000000/s")
    return interval_us


def format_rate(interval_us: int) -> str:
    """The rate of one event each `interval_us`, as `_interval` reads it back exactly."""
    for unit, unit_us in _RATE_UNITS_US.items():
        count = round(unit_us / interval_us)
        if count and round(unit_us / count) == interval_us:
            return f"{count}/{unit}"
    for digits in range(1, 17):
        text = f"{HOUR_US / interval_us:.{digits}f}"
        if float(text) and round(HOUR_US / float(text)) == interval_us:
            return f"{text}/h"
    return f"{HOUR_US / interval_us!r}/h"


_DURATION_PATTERN = r"^\s*\d+(\.\d+)?\s*(us|ms|s|m|h)\s*$"
_POSITIVE_PATTERN = r"^\s*(?=[0-9.]*[1-9])\d+(\.\d+)?\s*(us|ms|s|m|h)\s*$"
_RATE_PATTERN = r"^\s*(?=[0-9.]*[1-9])\d+(\.\d+)?\s*/\s*[smh]\s*$"


def _text(what: str, pattern: str, example: str) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": "string", "title": what, "pattern": pattern, "examples": [example]}
    )


_AS_DURATION = PlainSerializer(format_duration, return_type=str, when_used="json")
_READ_DURATION = BeforeValidator(_duration)

Duration = Annotated[
    int, _READ_DURATION, _AS_DURATION, _text("duration", _DURATION_PATTERN, "250ms")
]
PositiveDuration = Annotated[
    int,
    AfterValidator(_positive),
    _READ_DURATION,
    _AS_DURATION,
    _text("duration above 0", _POSITIVE_PATTERN, "250ms"),
]
WholeSeconds = Annotated[
    int,
    AfterValidator(_whole_seconds),
    _READ_DURATION,
    _AS_DURATION,
    _text("whole seconds", _DURATION_PATTERN, "60s"),
]
PositiveSeconds = Annotated[
    int,
    AfterValidator(_positive),
    AfterValidator(_whole_seconds),
    _READ_DURATION,
    _AS_DURATION,
    _text("whole seconds above 0", _POSITIVE_PATTERN, "60s"),
]
Interval = Annotated[
    int,
    BeforeValidator(_interval),
    PlainSerializer(format_rate, return_type=str, when_used="json"),
    _text("rate", _RATE_PATTERN, "20/s"),
]


class Spec(BaseModel):
    """Base of every part of a plan: frozen, strict, and no unknown key."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
