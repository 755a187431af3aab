"""Rolling restart: a deploy. Every worker is replaced, old and new running side by side.

    surge lane        start the new one ──► stop the old one      at most `max_surge` at once
    unavailable lane  stop the old one ──► start the new one      at most `max_unavailable` at once

Lanes take slot after slot until none is left, so that there are never more than `max_surge` workers
too many, nor more than `max_unavailable` too few (the meaning the words have in a Kubernetes
Deployment). An old worker gets SIGTERM and its grace; a slot is held while it is changed.
"""

from __future__ import annotations

import asyncio
from random import Random

from chaos.faults.targets import Fleet, in_slot, make_whole
from chaos.plan import RollingRestartFault
from chaos.world import Restart, Slots, World


class RollingRestart:
    """Replaces every worker once. The injection lasts until the last one is replaced."""

    hold_us = 0
    needs: tuple[type, ...] = (Restart, Slots)
    server = False

    def __init__(self, spec: RollingRestartFault) -> None:
        self._surge = spec.max_surge
        self._unavailable = spec.max_unavailable
        self._changing: list[int] = []

    async def inject(self, world: World, stream: Random) -> None:
        """Replace all workers, slot by slot in an order drawn from `stream`."""
        assert isinstance(world, Fleet)
        slots = list(world.slots())
        stream.shuffle(slots)
        kinds = [True] * self._surge + [False] * self._unavailable
        lanes = [
            asyncio.create_task(self._lane(world, slots, start_first=first)) for first in kinds
        ]
        try:
            await asyncio.gather(*lanes)
        finally:
            for lane in lanes:
                lane.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)

    async def heal(self, world: World) -> None:
        """Leave one worker in each slot that an interrupted deploy was changing."""
        assert isinstance(world, Fleet)
        while self._changing:
            await make_whole(world, self._changing[0])
            del self._changing[0]

    async def _lane(self, world: Fleet, slots: list[int], *, start_first: bool) -> None:
        while slots:
            slot = slots.pop(0)
            self._changing.append(slot)
            async with world.hold(slot):
                old = in_slot(world, slot)
                if start_first:
                    await world.start(slot)
                for host in old:
                    await world.stop(host)
                if not start_first:
                    await world.start(slot)
            self._changing.remove(slot)
