"""Named random streams of one seed.

Every draw of a run comes from `Seed(n).stream(name)`. A stream depends on the seed and its own name
alone, so adding a fault does not move the workload's draws, and the same plan draws the same values
in the simulator and in the live world. (The habit is turmoil's: one seed, no other randomness.)
"""

from __future__ import annotations

import hashlib
import random


class Seed:
    """The root of all randomness of one run."""

    def __init__(self, number: int) -> None:
        self.number = number

    def stream(self, *name: str | int) -> random.Random:
        """A generator that depends on the seed and `name` only, on every machine and Python."""
        text = "\x1f".join(str(part) for part in (self.number, *name))
        return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16]))
