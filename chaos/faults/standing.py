"""Rules that stand from inject to heal, and whose connections they are about."""

from __future__ import annotations

from random import Random

from chaos.faults.targets import draw_worker
from chaos.links import Rule, Selection
from chaos.world import Links, World


class StandingRules:
    """The rules that a fault has put on a world's network and not taken away yet."""

    def __init__(self) -> None:
        self._handles: list[int] = []

    def put(self, world: World, rule: Rule) -> None:
        """Let a rule stand."""
        assert isinstance(world, Links)
        self._handles.append(world.add_rule(rule))

    def take_away(self, world: World) -> None:
        """End every rule that stands."""
        assert isinstance(world, Links)
        while self._handles:
            world.remove_rule(self._handles[0])
            del self._handles[0]


def selection(
    whose: str, world: World, stream: Random, *, share: float = 1.0, commands: tuple[str, ...] = ()
) -> Selection:
    """The connections of `whose` in a plan: all, workers, producer, or one worker, drawn.

    Raises:
        WorldError: one worker is to be drawn, and none is up.
    """
    names = tuple(command.upper() for command in commands)
    hosts = (draw_worker(world, stream),) if whose == "one_worker" else ()
    roles = {"workers": ("worker",), "producer": ("producer",)}.get(whose, ())
    return Selection(hosts=hosts, roles=roles, commands=names, share=share)
