"""Pause: a worker stands still for a time (SIGSTOP), as on a host that swaps."""

from __future__ import annotations

from random import Random

from chaos.faults.targets import draw_worker
from chaos.plan import PauseFault
from chaos.world import Pause, World


class PauseWorker:
    """SIGSTOP of one worker, SIGCONT when the fault heals."""

    needs: tuple[type, ...] = (Pause,)
    server = False

    def __init__(self, spec: PauseFault) -> None:
        self.hold_us = spec.for_us
        self._paused: list[str] = []

    async def inject(self, world: World, stream: Random) -> None:
        """Stop one worker where it is."""
        assert isinstance(world, Pause)
        host = draw_worker(world, stream)
        self._paused.append(host)
        await world.pause(host)

    async def heal(self, world: World) -> None:
        """Let it go on, if it is still there."""
        assert isinstance(world, Pause)
        while self._paused:
            await world.resume(self._paused[0])
            del self._paused[0]
