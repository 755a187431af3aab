"""Draws the host that a fault acts on, and fills a slot that a fault left empty."""

from __future__ import annotations

from random import Random
from typing import Protocol, runtime_checkable

from chaos.errors import WorldError
from chaos.world import Restart, Slots, World, slot_of


@runtime_checkable
class Fleet(World, Restart, Slots, Protocol):
    """A world whose worker slots can be emptied and filled."""


def draw_worker(world: World, stream: Random) -> str:
    """One of the workers that are up, drawn over their names in order.

    Raises:
        WorldError: none is up, so there is nothing to act on.
    """
    workers = world.hosts("worker")
    if not workers:
        raise WorldError(f"{world.variant}: no worker is up, so the fault has no target")
    return stream.choice(sorted(workers))


def in_slot(world: World, slot: int) -> list[str]:
    """The workers of one slot, the oldest incarnation first."""
    workers = [host for host in world.hosts("worker") if slot_of(host) == slot]
    return sorted(workers, key=incarnation_of)


def incarnation_of(host: str) -> int:
    """2 for `stock@0.26.3/worker-1.2`."""
    return int(host.rpartition(".")[2])


async def make_whole(world: Fleet, slot: int) -> None:
    """Leave exactly one worker in a slot: the newest that is up, or a new one."""
    async with world.hold(slot):
        *surplus, _ = in_slot(world, slot) or [""]
        for host in surplus:
            await world.stop(host)
        if not in_slot(world, slot):
            await world.start(slot)
