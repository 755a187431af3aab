"""Clock skew: the wall clock of one worker's machine is wrong for a time.

saq stamps jobs with the wall clock of whoever touches them and judges by its own whether one is due
or stuck. A worker that is behind starts jobs that look stuck to everybody else at once; one that is
ahead runs scheduled jobs early, and its jobs look young for too long. Stamps of the history are
monotonic time and stay right.
"""

from __future__ import annotations

from random import Random

from chaos.faults.targets import draw_worker
from chaos.plan import ClockSkewFault
from chaos.world import Clocks, World


class SkewClock:
    """Sets one worker's wall clock ahead or back, and right again when the fault heals."""

    needs: tuple[type, ...] = (Clocks,)
    server = False

    def __init__(self, spec: ClockSkewFault) -> None:
        self.hold_us = spec.for_us
        self._by_us = spec.by_us
        self._ways = {"ahead": (1,), "behind": (-1,), "either": (1, -1)}[spec.way]
        self._skewed: list[str] = []

    async def inject(self, world: World, stream: Random) -> None:
        """Set the clock of one worker wrong."""
        assert isinstance(world, Clocks)
        host = draw_worker(world, stream)
        self._skewed.append(host)
        world.set_clock(host, ahead_us=stream.choice(self._ways) * self._by_us)

    async def heal(self, world: World) -> None:
        """Set it right, if that worker is still there."""
        assert isinstance(world, Clocks)
        while self._skewed:
            world.set_clock(self._skewed[0], ahead_us=0)
            del self._skewed[0]
