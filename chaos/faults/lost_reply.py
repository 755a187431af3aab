"""Lost reply: a command ran, and nobody can know it, for its connection broke."""

from __future__ import annotations

from random import Random

from chaos.faults.standing import StandingRules, selection
from chaos.links import LostReply
from chaos.plan import LostReplyFault
from chaos.world import Links, World


class LoseReplies:
    """Breaks connections between a command and its reply, in a share of all commands."""

    needs: tuple[type, ...] = (Links,)
    server = False

    def __init__(self, spec: LostReplyFault) -> None:
        self.hold_us = spec.for_us
        self._spec = spec
        self._rules = StandingRules()

    async def inject(self, world: World, stream: Random) -> None:
        """Lose replies from now on."""
        spec = self._spec
        which = selection(spec.whose, world, stream, share=spec.share, commands=spec.commands)
        self._rules.put(world, LostReply(which))

    async def heal(self, world: World) -> None:
        """Lose none any more; a connection that broke is the client's to open again."""
        self._rules.take_away(world)
