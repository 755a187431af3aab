"""The tape of a run: every decision that is not in its plan or script, by name.

    ("worker-1.1/c2", 17, "request") ─► latency of the 17th request on that connection, µs
    ("next", "worker-1.1", 40)       ─► which of the ready hosts runs next

A name says who decides what for which time, and no name counts the decisions of others: removing
some leaves the rest as they were. A drawn tape hashes the seed and the name; a fixed one holds the
decisions that a failure needs, and gives every other one its default. Only what differs from its
default is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Protocol

Name = tuple[str | int, ...]

LATENCY_US = 300  # one way; a round trip on a local network is about twice this
SPREAD_US = (50, 1_000, 5_000, 20_000)  # a latency that is not the default lies between 50 and one
FRACTION_PARTS = 1_000_000
_HALF = FRACTION_PARTS // 2


class Tape(Protocol):
    """Where decisions come from. `entries` are those that differ from their default."""

    entries: dict[str, int]

    def draw_latency_us(self, name: Name) -> int:
        """A one-way latency; `LATENCY_US` is the default."""

    def choose(self, name: Name, n: int) -> int:
        """One of `n` possibilities, from 0 to n - 1; the first is the default."""

    def happens(self, name: Name, share: float) -> bool:
        """Whether something happens that happens in `share` of all cases; no is the default."""

    def draw_fraction(self, name: Name) -> float:
        """From 0 (included) to 1 (not included); one half is the default."""


class DrawnTape:
    """Decisions drawn from a seed: two thirds of all latencies are the default one."""

    def __init__(self, seed: int) -> None:
        self.entries: dict[str, int] = {}
        self._hash = blake2b(str(seed).encode(), digest_size=8)

    def draw_latency_us(self, name: Name) -> int:
        text = key_of(name)
        drawn = self._number(text)
        if drawn % 3:
            return LATENCY_US
        drawn //= 3
        limit_us = SPREAD_US[1 + drawn % (len(SPREAD_US) - 1)]
        latency_us = SPREAD_US[0] + (drawn >> 8) % (limit_us - SPREAD_US[0])
        if latency_us != LATENCY_US:
            self.entries[text] = latency_us
        return latency_us

    def choose(self, name: Name, n: int) -> int:
        text = key_of(name)
        chosen = self._number(text) % n
        if chosen:
            self.entries[text] = chosen
        return chosen

    def happens(self, name: Name, share: float) -> bool:
        text = key_of(name)
        happens = self._number(text) % FRACTION_PARTS < share * FRACTION_PARTS
        if happens:
            self.entries[text] = 1
        return happens

    def draw_fraction(self, name: Name) -> float:
        text = key_of(name)
        parts = self._number(text) % FRACTION_PARTS
        if parts != _HALF:
            self.entries[text] = parts
        return parts / FRACTION_PARTS

    def _number(self, text: str) -> int:
        state = self._hash.copy()
        state.update(text.encode())
        return int.from_bytes(state.digest(), "little")


class FixedTape:
    """The decisions of a failure, written out. What the run does not ask for is not recorded."""

    def __init__(self, decisions: Mapping[str, int]) -> None:
        self.entries: dict[str, int] = {}
        self._decisions = decisions

    def draw_latency_us(self, name: Name) -> int:
        return self._look_up(key_of(name), LATENCY_US)

    def choose(self, name: Name, n: int) -> int:
        return min(self._look_up(key_of(name), 0), n - 1)

    def happens(self, name: Name, share: float) -> bool:
        return bool(self._look_up(key_of(name), 0))

    def draw_fraction(self, name: Name) -> float:
        return min(self._look_up(key_of(name), _HALF), FRACTION_PARTS - 1) / FRACTION_PARTS

    def _look_up(self, text: str, default: int) -> int:
        value = self._decisions.get(text, default)
        if value != default:
            self.entries[text] = value
        return value


def key_of(name: Name) -> str:
    """The name as one text, as it stands in a failure file."""
    if len(name) == 3:  # nearly all of them, and half as long this way
        return f"{name[0]}|{name[1]}|{name[2]}"
    return "|".join(map(str, name))
