"""Script flush: Redis forgets its scripts, as after a failover or a restart."""

from __future__ import annotations

from random import Random

from chaos.plan import ScriptFlushFault
from chaos.world import Scripts, World


class FlushScripts:
    """SCRIPT FLUSH. Whoever calls a script by its digest next, is told that there is none."""

    hold_us = 0
    needs: tuple[type, ...] = (Scripts,)
    server = True

    def __init__(self, spec: ScriptFlushFault) -> None:
        """There is nothing to choose."""

    async def inject(self, world: World, stream: Random) -> None:
        """Forget them."""
        assert isinstance(world, Scripts)
        await world.flush_scripts()

    async def heal(self, world: World) -> None:
        """Nothing to undo: clients load a script again when it is missing."""
