"""Sweep: the upkeep that saq does each minute, forced now, its lock cleared.

A sweep that meets a job between its dequeue and its first record, or one whose body winds down,
puts a second attempt of the same key into the world: the start of the seed bug.
"""

from __future__ import annotations

from random import Random

from chaos.clock import SECOND_US
from chaos.plan import SweepFault
from chaos.world import Sweep, World

ANSWER_US = 30 * SECOND_US


class ForcedSweep:
    """The producer sweeps; each stuck job is waited for `wait`."""

    hold_us = 0
    needs: tuple[type, ...] = ()
    server = False

    def __init__(self, spec: SweepFault) -> None:
        self._wait_us = spec.wait_us

    async def inject(self, world: World, stream: Random) -> None:
        """Sweep, and wait until the sweep is over (its own answer and errors are events)."""
        await world.tell(Sweep(wait_us=self._wait_us), wait_us=self._wait_us + ANSWER_US)

    async def heal(self, world: World) -> None:
        """Nothing to undo: a sweep is over when it is over."""
