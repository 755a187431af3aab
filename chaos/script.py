"""The script of a run: what is enqueued when, and when which fault is injected.

A script is drawn from a plan and its seed, or fixed: written out, as a shrunk failure is. The
conductor leads any world by it, so a failure that the simulator found and shrank can be acted out
again in the live world.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import msgspec

from chaos.plan import Plan
from chaos.schedule import injections
from chaos.seed import Seed
from chaos.workloads import make
from chaos.world import Enqueue


class Script(Protocol):
    """What happens in SAFETY, in µs from its start."""

    def enqueues(self) -> Iterator[tuple[int, Enqueue]]:
        """The enqueues with their times, in order."""

    def injections(self, fault: int) -> tuple[int, ...]:
        """The times at which fault number `fault` of the plan (from 0) is injected, in order."""


@dataclass(frozen=True)
class DrawnScript:
    """Drawn from the plan's seed while it is read: nothing is held in memory."""

    plan: Plan

    def enqueues(self) -> Iterator[tuple[int, Enqueue]]:
        return make(self.plan).commands(Seed(self.plan.seed), self.plan.duration_us)

    def injections(self, fault: int) -> tuple[int, ...]:
        spec = self.plan.faults[fault]
        return injections(spec, fault, self.plan.duration_us, self.plan.seed)


class TimedEnqueue(msgspec.Struct, frozen=True):
    """One enqueue of a fixed script."""

    at_us: int
    command: Enqueue


class Injection(msgspec.Struct, frozen=True):
    """One injection of a fixed script; `fault` is its place in the plan, from 0."""

    at_us: int
    fault: int


class FixedScript(msgspec.Struct, frozen=True):
    """A script written out: what a failure file holds, and what shrinking cuts down."""

    timed_enqueues: tuple[TimedEnqueue, ...] = ()
    timed_injections: tuple[Injection, ...] = ()

    @classmethod
    def of(cls, script: Script, faults: int) -> FixedScript:
        """Write a script out; `faults` is how many faults the plan has."""
        return cls(
            tuple(TimedEnqueue(at_us, command) for at_us, command in script.enqueues()),
            tuple(
                Injection(at_us, fault)
                for fault in range(faults)
                for at_us in script.injections(fault)
            ),
        )

    def enqueues(self) -> Iterator[tuple[int, Enqueue]]:
        return ((one.at_us, one.command) for one in self.timed_enqueues)

    def injections(self, fault: int) -> tuple[int, ...]:
        return tuple(one.at_us for one in self.timed_injections if one.fault == fault)
