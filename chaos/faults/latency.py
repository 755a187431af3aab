"""Latency: the network is slow for a time, each way."""

from __future__ import annotations

from random import Random

from chaos.faults.standing import StandingRules, selection
from chaos.links import Latency
from chaos.plan import LatencyFault
from chaos.world import Links, World


class SlowNetwork:
    """Adds `min` to `max` to every message between the hosts and Redis."""

    needs: tuple[type, ...] = (Links,)
    server = False

    def __init__(self, spec: LatencyFault) -> None:
        self.hold_us = spec.for_us
        self._spec = spec
        self._rules = StandingRules()

    async def inject(self, world: World, stream: Random) -> None:
        """Slow down what is sent from now on."""
        which = selection(self._spec.whose, world, stream)
        self._rules.put(world, Latency(self._spec.min_us, self._spec.max_us, which))

    async def heal(self, world: World) -> None:
        """What is sent from now on is as quick as before."""
        self._rules.take_away(world)
