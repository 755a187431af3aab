"""Redis restart: the server goes away for a time and comes back, with its data or without."""

from __future__ import annotations

from random import Random

from chaos.plan import RedisRestartFault
from chaos.world import Server, World


class RestartRedis:
    """The variant's Redis is shut down, and started again on its address when the fault heals."""

    needs: tuple[type, ...] = (Server,)
    server = True

    def __init__(self, spec: RedisRestartFault) -> None:
        self.hold_us = spec.for_us
        self._keep_data = spec.data == "kept"
        self._stopped = False

    async def inject(self, world: World, stream: Random) -> None:
        """Shut it down; it saves its data first, or throws it away."""
        assert isinstance(world, Server)
        self._stopped = True
        await world.stop_server(keep_data=self._keep_data)

    async def heal(self, world: World) -> None:
        """Start it again."""
        assert isinstance(world, Server)
        if self._stopped:
            await world.start_server()
            self._stopped = False
