"""Abort: somebody aborts jobs that are running, queued or scheduled."""

from __future__ import annotations

import asyncio
from random import Random

from chaos.clock import SECOND_US
from chaos.plan import AbortFault
from chaos.world import Abort, Keys, World

ANSWER_US = 10 * SECOND_US


class AbortJobs:
    """Aborts `count` jobs, drawn from those that are enqueued and not known to be finished."""

    hold_us = 0
    needs: tuple[type, ...] = (Keys,)
    server = False

    def __init__(self, spec: AbortFault) -> None:
        self._count = spec.count

    async def inject(self, world: World, stream: Random) -> None:
        """Abort, and wait for the answers. Nothing happens while there is no job."""
        assert isinstance(world, Keys)
        keys = sorted(world.keys())
        drawn = stream.sample(keys, min(self._count, len(keys)))
        await asyncio.gather(*(world.tell(Abort(key=key), wait_us=ANSWER_US) for key in drawn))

    async def heal(self, world: World) -> None:
        """Nothing to undo: an aborted job is meant to stay so."""
