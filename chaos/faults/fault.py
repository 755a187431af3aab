"""What a fault is: something that is injected into one variant's world, held, and healed.

The conductor injects, waits `hold_us` on the world's clock, and heals; it heals as well when the
run ends or is interrupted in between. So `heal` is idempotent, and harmless without an injection.
"""

from __future__ import annotations

from random import Random
from typing import Protocol

from chaos.world import World


class Fault(Protocol):
    """One fault of a plan.

    Attributes:
        hold_us: how long the conductor waits between inject and heal (`for`, `replace_after`; 0).
        needs: the capability protocols of `chaos.world` that a world must have for it.
        server: whether it acts on the Redis server itself (refused on a server that is not ours).
    """

    hold_us: int
    needs: tuple[type, ...]
    server: bool

    async def inject(self, world: World, stream: Random) -> None:
        """Do it now; targets are drawn from `stream` over hosts in their order."""

    async def heal(self, world: World) -> None:
        """Undo it: afterwards the world is as if it had not been injected."""
