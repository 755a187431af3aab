"""The tape of a run: every decision that is not in its plan or script, by name.

    ("worker-1.1/c2", 17, "request") ─► latency of the 17th request on that connection, µs
    ("next", "worker-1.1", 40)       ─► which of the ready hosts runs next

A name says who decides what for which time, and no name counts the decisions of others: removing
some leaves the rest as they were. A drawn tape mixes the seed and the name; a fixed one holds the
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

_MASK = (1 << 64) - 1
_MULTIPLIER = 0xBF58476D1CE4E5B9
_MULTIPLIER_2 = 0x94D049BB133111EB
_NUMBERS: dict[str, int] = {}  # of the texts in names; there are few, and every run has the same
_NUMBERS_MAX = 100_000


class Tape(Protocol):
    """Where decisions come from. `entries` are those that differ from their default, if kept."""

    entries: dict[str, int]

    @property
    def differing(self) -> int:
        """How many decisions differ from their default."""

    def draw_latency_us(self, name: Name) -> int:
        """A one-way latency; `LATENCY_US` is the default."""

    def choose(self, name: Name, n: int) -> int:
        """One of `n` possibilities, from 0 to n - 1; the first is the default."""

    def happens(self, name: Name, share: float) -> bool:
        """Whether something happens that happens in `share` of all cases; no is the default."""

    def draw_fraction(self, name: Name) -> float:
        """From 0 (included) to 1 (not included); one half is the default."""


class DrawnTape:
    """Decisions drawn from a seed: two thirds of all latencies are the default one.

    Args:
        seed: what they are drawn from.
        keep: whether those that differ from their default are written down; else only counted.
    """

    def __init__(self, seed: int, *, keep: bool = True) -> None:
        self.entries: dict[str, int] = {}
        self._differing = 0
        self._keep = keep
        self._start = _number_of(str(seed))
        self._begun: dict[str | int, int] = {}  # seed and first part, mixed: there are few of these

    def draw_latency_us(self, name: Name) -> int:
        drawn = self._number(name)
        if drawn % 3:
            return LATENCY_US
        drawn //= 3
        limit_us = SPREAD_US[1 + drawn % (len(SPREAD_US) - 1)]
        latency_us = SPREAD_US[0] + (drawn >> 8) % (limit_us - SPREAD_US[0])
        if latency_us != LATENCY_US:
            self._differs(name, latency_us)
        return latency_us

    def choose(self, name: Name, n: int) -> int:
        chosen = self._number(name) % n
        if chosen:
            self._differs(name, chosen)
        return chosen

    def happens(self, name: Name, share: float) -> bool:
        happens = self._number(name) % FRACTION_PARTS < share * FRACTION_PARTS
        if happens:
            self._differs(name, 1)
        return happens

    def draw_fraction(self, name: Name) -> float:
        parts = self._number(name) % FRACTION_PARTS
        if parts != _HALF:
            self._differs(name, parts)
        return parts / FRACTION_PARTS

    @property
    def differing(self) -> int:
        """How many decisions differed from their default."""
        return self._differing

    def _differs(self, name: Name, value: int) -> None:
        self._differing += 1
        if self._keep:
            self.entries[key_of(name)] = value

    def _number(self, name: Name) -> int:
        """64 bits of the seed and the name: multiply and fold, part by part, as splitmix64 does."""
        value = self._begun.get(name[0]) or self._begin(name[0])
        for part in name[1:]:
            number = part if type(part) is int else _NUMBERS.get(part) or _number_of(part)  # type: ignore[arg-type]
            value = (value ^ number) * _MULTIPLIER & _MASK
            value ^= value >> 29
        value = value * _MULTIPLIER_2 & _MASK
        return value ^ value >> 32

    def _begin(self, first: str | int) -> int:
        if len(self._begun) >= _NUMBERS_MAX:
            self._begun.clear()
        number = first if isinstance(first, int) else _NUMBERS.get(first) or _number_of(first)
        value = (self._start ^ number) * _MULTIPLIER & _MASK
        value ^= value >> 29
        self._begun[first] = value
        return value


class FixedTape:
    """The decisions of a failure, written out. What the run does not ask for is not recorded."""

    def __init__(self, decisions: Mapping[str, int]) -> None:
        self.entries: dict[str, int] = {}
        self._decisions = decisions

    @property
    def differing(self) -> int:
        """How many entries there are."""
        return len(self.entries)

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


def _number_of(text: str) -> int:
    """A text as 64 bits, the same in every process."""
    if len(_NUMBERS) >= _NUMBERS_MAX:
        _NUMBERS.clear()
    digest = blake2b(text.encode(), digest_size=8).digest()
    number = _NUMBERS[text] = int.from_bytes(digest, "little")
    return number


def key_of(name: Name) -> str:
    """The name as one text, as it stands in a failure file."""
    if len(name) == 3:  # nearly all of them, and half as long this way
        return f"{name[0]}|{name[1]}|{name[2]}"
    return "|".join(map(str, name))
