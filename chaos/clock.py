"""Time inside saq-chaos: integer microseconds, and the one place that turns text into them.

Durations are written `250ms`, `2s`, `1.5m`, `48h` in plans and on the command line. Inside, they
are `int` microseconds and the name of the variable ends in `_us`. Stamps come from
CLOCK_MONOTONIC, which all processes of one machine share and nobody can set.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import Protocol

MILLISECOND_US = 1_000
SECOND_US = 1_000_000

_UNITS_US = {"us": 1, "ms": 1_000, "s": SECOND_US, "m": 60 * SECOND_US, "h": 3_600 * SECOND_US}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h)")


def parse_duration_us(text: str) -> int:
    """Microseconds of a duration such as `250ms`, `2s`, `1.5m` or `48h`.

    Raises:
        ValueError: the text is no duration; the message shows it and the accepted form.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no duration: write a number and us, ms, s, m or h ('250ms')")
    return round(float(match[1]) * _UNITS_US[match[2]])


def format_duration(duration_us: int) -> str:
    """The shortest exact text of a duration that `parse_duration_us` reads back."""
    for unit in ("h", "m", "s", "ms"):
        if duration_us and duration_us % _UNITS_US[unit] == 0:
            return f"{duration_us // _UNITS_US[unit]}{unit}"
    return f"{duration_us}us" if duration_us else "0s"


class Clock(Protocol):
    """What a world's time can do. The live world's is this machine's, the simulator's virtual."""

    def now_us(self) -> int:
        """Microseconds on this world's monotonic clock."""

    async def sleep_us(self, duration_us: int) -> None:
        """Come back after `duration_us` microseconds (at once for zero or less)."""


class MonotonicClock:
    """CLOCK_MONOTONIC in microseconds."""

    def now_us(self) -> int:
        return time.monotonic_ns() // 1_000

    async def sleep_us(self, duration_us: int) -> None:
        await asyncio.sleep(max(0, duration_us) / SECOND_US)
