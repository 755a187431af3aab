"""What a workload is: the enqueues of a run and their times, all of them drawn from its seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from chaos.seed import Seed
from chaos.world import Enqueue


class Workload(Protocol):
    """A deterministic, bounded sequence of enqueues."""

    def commands(self, seed: Seed, duration_us: int) -> Iterator[tuple[int, Enqueue]]:
        """The enqueues with their times, in order, in [0, duration_us) from the start of SAFETY.

        The k-th time is k times the interval, so that nothing drifts; the same seed gives the same
        sequence in every world, and a longer duration only goes on with it.
        """

    def known_keys(self) -> tuple[str, ...] | None:
        """Every key that it can enqueue, in a fixed order; none if their number is not bounded."""


def saq_seconds(duration_us: int) -> int | float:
    """Seconds as saq takes them: whole ones as int, since some end up in Redis as they are."""
    whole, rest = divmod(duration_us, 1_000_000)
    return duration_us / 1_000_000 if rest else whole


def whole_as_int(seconds: float) -> int | float:
    """The same number, as int where it is whole."""
    return int(seconds) if float(seconds).is_integer() else seconds
