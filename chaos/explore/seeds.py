"""The seeds of an exploration: run number k of base seed b has one seed, always the same.

They are drawn, not counted, so that two explorations with neighbouring bases share no seed.
"""

from __future__ import annotations

from chaos.seed import Seed

BITS = 40  # 20,000 seeds of one base collide once in 5,000 bases; and a seed stays readable


def seed_of(base: int, number: int) -> int:
    """The seed of run `number` (from 0) of an exploration with this base seed."""
    return Seed(base).stream("explore", number).getrandbits(BITS)
