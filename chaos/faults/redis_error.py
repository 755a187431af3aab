"""Redis error: the server answers, but not as asked: loading, read-only, or out of memory."""

from __future__ import annotations

from random import Random

from chaos.faults.standing import StandingRules, selection
from chaos.links import AnswersWithError
from chaos.plan import RedisErrorFault
from chaos.world import Links, World


class AnswerWithErrors:
    """Commands are answered with an error instead of being run, in a share of those it is for."""

    needs: tuple[type, ...] = (Links,)
    server = False

    def __init__(self, spec: RedisErrorFault) -> None:
        self.hold_us = spec.for_us
        self._spec = spec
        self._rules = StandingRules()

    async def inject(self, world: World, stream: Random) -> None:
        """Refuse commands from now on."""
        which = selection(self._spec.whose, world, stream, share=self._spec.share)
        self._rules.put(world, AnswersWithError(self._spec.error, which))

    async def heal(self, world: World) -> None:
        """Run them again."""
        self._rules.take_away(world)
