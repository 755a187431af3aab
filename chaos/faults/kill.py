"""Kill: a worker dies at once (SIGKILL, out of memory, a lost machine) and is replaced later."""

from __future__ import annotations

from random import Random

from chaos.faults.targets import Fleet, draw_worker, in_slot, make_whole
from chaos.plan import KillFault
from chaos.world import Kill, Restart, Slots, World, slot_of


class KillWorker:
    """SIGKILL of one worker; its slot is filled again when the fault heals."""

    needs: tuple[type, ...] = (Kill, Restart, Slots)
    server = False

    def __init__(self, spec: KillFault) -> None:
        self.hold_us = spec.replace_after_us
        self._empty: list[int] = []

    async def inject(self, world: World, stream: Random) -> None:
        """Kill whoever has the drawn worker's slot by then."""
        assert isinstance(world, Kill)
        assert isinstance(world, Slots)
        slot = slot_of(draw_worker(world, stream))
        async with world.hold(slot):
            self._empty.append(slot)
            for host in in_slot(world, slot):
                await world.kill(host)

    async def heal(self, world: World) -> None:
        """Fill the slots that are empty because of us."""
        assert isinstance(world, Fleet)
        while self._empty:
            await make_whole(world, self._empty[0])
            del self._empty[0]
