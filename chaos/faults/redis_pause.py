"""Redis pause: the server stands still (SIGSTOP): connections stay, answers do not come."""

from __future__ import annotations

from random import Random

from chaos.plan import RedisPauseFault
from chaos.world import Pause, Server, World


class PauseRedis:
    """SIGSTOP of the variant's Redis, SIGCONT when the fault heals."""

    needs: tuple[type, ...] = (Pause, Server)
    server = True

    def __init__(self, spec: RedisPauseFault) -> None:
        self.hold_us = spec.for_us
        self._paused: list[str] = []

    async def inject(self, world: World, stream: Random) -> None:
        """Stop the server where it is. Nothing happens while it is down."""
        assert isinstance(world, Pause)
        for host in world.hosts("redis"):
            self._paused.append(host)
            await world.pause(host)

    async def heal(self, world: World) -> None:
        """Let it go on."""
        assert isinstance(world, Pause)
        while self._paused:
            await world.resume(self._paused[0])
            del self._paused[0]
