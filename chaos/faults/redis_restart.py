"""Redis restart: the server goes away for a time and comes back, with its data or without."""

from __future__ import annotations

from random import Random

from chaos.plan import RedisRestartFault
from chaos.world import Rewind, Server, World


class RestartRedis:
    """The variant's Redis goes down, and is started again on its address when the fault heals."""

    server = True

    def __init__(self, spec: RedisRestartFault) -> None:
        self.hold_us = spec.for_us
        self._data = spec.data
        self._stopped = False
        self.needs: tuple[type, ...] = (Server,)
        if spec.data == "last_writes_lost":
            self.needs = (Server, Rewind)

    async def inject(self, world: World, stream: Random) -> None:
        """Take it down; it saves its data first, or throws it away, or had no time to."""
        assert isinstance(world, Server)
        self._stopped = True
        if self._data == "last_writes_lost":
            assert isinstance(world, Rewind)
            await world.crash_server()
        else:
            await world.stop_server(keep_data=self._data == "kept")

    async def heal(self, world: World) -> None:
        """Start it again."""
        assert isinstance(world, Server)
        if self._stopped:
            await world.start_server()
            self._stopped = False
