"""Redis away: the server runs on, and nobody reaches it for a time."""

from __future__ import annotations

from random import Random

from chaos.faults.standing import StandingRules, selection
from chaos.links import Away
from chaos.plan import RedisAwayFault
from chaos.world import Cuts, Links, World


class TakeRedisAway:
    """Refuses connections, or lets nothing through and says nothing (`how: silent`)."""

    needs: tuple[type, ...] = (Cuts, Links)
    server = False

    def __init__(self, spec: RedisAwayFault) -> None:
        self.hold_us = spec.for_us
        self._spec = spec
        self._rules = StandingRules()

    async def inject(self, world: World, stream: Random) -> None:
        """Let nobody through from now on; unless it is silent, open connections break."""
        assert isinstance(world, Cuts)
        silent = self._spec.how == "silent"
        which = selection(self._spec.whose, world, stream)
        self._rules.put(world, Away(silent, which))
        if not silent:
            world.cut(which, stream)

    async def heal(self, world: World) -> None:
        """Let everybody through again; what a partition held comes through now."""
        self._rules.take_away(world)
