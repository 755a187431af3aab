"""Cut: connections break, idle ones too, as when a load balancer or a firewall forgets them."""

from __future__ import annotations

from random import Random

from chaos.faults.standing import StandingRules, selection
from chaos.links import CutOff
from chaos.plan import CutFault
from chaos.world import Cuts, Links, World


class CutConnections:
    """Breaks open connections at once, and for a time those on which a command is sent."""

    needs: tuple[type, ...] = (Cuts, Links)
    server = False

    def __init__(self, spec: CutFault) -> None:
        self.hold_us = spec.for_us
        self._spec = spec
        self._rules = StandingRules()

    async def inject(self, world: World, stream: Random) -> None:
        """Break them: what is under way is lost."""
        assert isinstance(world, Cuts)
        which = selection(self._spec.whose, world, stream, share=self._spec.share)
        world.cut(which, stream)
        if self.hold_us:
            self._rules.put(world, CutOff(which))

    async def heal(self, world: World) -> None:
        """Break no more; a connection that broke is the client's to open again."""
        self._rules.take_away(world)
