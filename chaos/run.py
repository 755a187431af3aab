"""The conductor: leads one variant's world through the three phases. Nobody else knows them.

    SAFETY    the workload enqueues and faults come and go, for the plan's duration
    HEAL      nothing is enqueued any more, every fault heals, the fleet is whole again: asserted
    LIVENESS  nothing disturbs; the queue drains until it is idle, or until the plan's bound

It acts through `chaos.world` alone, so it leads the live world and a simulated one alike, and it
draws nothing: times and targets come from the plan's seed. It judges nothing either. During SAFETY
it can be told to inject one more fault (`chaos.steering`), which goes the way of a planned one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from chaos.clock import SECOND_US
from chaos.errors import HostFailed, UsageError, WorldError
from chaos.faults import make as make_fault
from chaos.faults.fault import Fault
from chaos.plan import FaultSpec, Plan
from chaos.script import DrawnScript, Script
from chaos.seed import Seed
from chaos.worker.events import Kind
from chaos.world import Depth, Enqueue, Inspect, World

ANSWER_US = 5 * SECOND_US
HEAL_US = 60 * SECOND_US
DRAIN_STEP_US = 250_000
INSPECT_BATCH = 500
FROM_OUTSIDE_MAX = 10_000


class Journal(Protocol):
    """Where the controller's own events go."""

    def record_fields(self, kind: int, job: str = "", attempt: int = 0, **fields: Any) -> None:
        """Append one event of the controller."""


class Watch(Protocol):
    """What the history says so far about the variant that is being led."""

    def idle_since(self, asked_us: int) -> bool:
        """Whether the last queue depth, asked for after `asked_us`, was zero and nothing is alive.

        While nothing enqueues, a queue that was idle once stays so: an old answer is good enough.
        """

    def entered(self, phase: str, until_us: int) -> None:
        """A phase began; it ends by itself at `until_us`."""


@dataclass
class Conductor:
    """One variant's run.

    Attributes:
        plan: the recipe.
        world: the variant's world, up and answering.
        journal: the controller's events.
        watch: the variant's live timeline.
        script: what happens when; drawn from the plan unless it is given.
    """

    plan: Plan
    world: World
    journal: Journal
    watch: Watch
    script: Script | None = None
    _keys: dict[str, None] = field(default_factory=dict)
    _injected: Iterator[int] = field(default_factory=lambda: iter(range(1, 1 << 31)))
    _faults: list[Fault] = field(default_factory=list)
    _from_outside: dict[asyncio.Task[None], None] | None = None  # only during SAFETY

    async def conduct(self) -> None:
        """Lead the world through SAFETY, HEAL and LIVENESS. Faults heal however it ends.

        Raises:
            WorldError: a fault did not heal, or the fleet was not whole after healing.
        """
        script = self.script or DrawnScript(self.plan)
        self._faults = [make_fault(spec) for spec in self.plan.faults]
        try:
            await self._safety(script)
        finally:
            await self._heal()
        await self._assert_whole()
        await self._liveness()

    @property
    def is_open(self) -> bool:
        """Whether a fault from outside is taken now: this is SAFETY."""
        return self._from_outside is not None

    def inject(self, spec: FaultSpec, by: str) -> None:
        """Begin to inject one more fault now; it is held and healed as a planned one is.

        Raises:
            UsageError: this is not SAFETY, or the world cannot do it.
        """
        fault, name, variant = make_fault(spec), _name_of(spec), self.world.variant
        lacking = [need.__name__ for need in fault.needs if not isinstance(self.world, need)]
        if lacking:
            raise UsageError(f"{variant}: this world cannot do {name} (it lacks {lacking[0]})")
        if self._from_outside is None:
            raise UsageError(f"{variant}: faults are injected in phase safety alone")
        if len(self._from_outside) >= FROM_OUTSIDE_MAX:
            raise UsageError(f"{variant}: {FROM_OUTSIDE_MAX} faults were injected from outside")
        number = next(self._injected)
        stream = Seed(self.plan.seed).stream("injected", number)
        self._faults.append(fault)
        task = asyncio.create_task(self._act(fault, name, number, stream, by))
        self._from_outside[task] = None

    # --- SAFETY -----------------------------------------------------------------------------------

    async def _safety(self, script: Script) -> None:
        start_us = self.world.clock.now_us()
        end_us = start_us + self.plan.duration_us
        self._enter("safety", end_us)
        tasks = [asyncio.create_task(self._enqueue(script, start_us), name="workload")]
        tasks += [
            asyncio.create_task(
                self._disturb(fault, index, script.injections(index), start_us),
                name=f"fault {index}",
            )
            for index, fault in enumerate(self._faults)
        ]
        self._from_outside = {}
        try:
            await self._until(end_us, tasks)
        finally:
            tasks += self._from_outside
            self._from_outside = None
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _until(self, end_us: int, tasks: list[asyncio.Task[None]]) -> None:
        """Come back at `end_us`, or when a task fails (with its error)."""
        timer = asyncio.create_task(self._sleep_until(end_us))
        try:
            waiting = {timer, *tasks}
            while timer in waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            timer.cancel()

    async def _enqueue(self, script: Script, start_us: int) -> None:
        sent = 0
        for at_us, command in script.enqueues():
            await self._sleep_until(start_us + at_us)
            self._remember(command)
            await self.world.tell(command)
            sent += 1
        if sent >= self.plan.limits.jobs:
            limit = f"jobs: {sent} of at most {self.plan.limits.jobs}"
            self._record(Kind.LIMIT_REACHED, limit=limit)

    def _remember(self, command: Enqueue) -> None:
        if command.key is not None:
            self._keys[command.key] = None

    async def _disturb(
        self, fault: Fault, index: int, times: tuple[int, ...], start_us: int
    ) -> None:
        """Inject one fault at its times. Times that pass while it is active are left out."""
        for at_us in times:
            if start_us + at_us < self.world.clock.now_us() - self.plan.slack_us and at_us:
                continue
            await self._sleep_until(start_us + at_us)
            stream = Seed(self.plan.seed).stream("target", index, at_us)
            name = self.plan.faults[index].fault
            await self._act(fault, name, next(self._injected), stream)

    async def _act(
        self, fault: Fault, name: str, number: int, stream: Random, by: str = ""
    ) -> None:
        """One injection: recorded, held and healed, whatever happens meanwhile."""
        said = {"by": by} if by else {}
        self._record(Kind.FAULT_INJECTED, fault=name, number=number, **said)
        error = ""
        try:
            await fault.inject(self.world, stream)
            await self.world.clock.sleep_us(fault.hold_us)
        except WorldError as failure:
            error = str(failure)
        finally:
            await self._heal_one(fault, name, number, error)

    # --- HEAL -------------------------------------------------------------------------------------

    async def _heal_one(self, fault: Fault, name: str, number: int, error: str) -> None:
        """Heal one injection, even while the run is being cancelled."""
        healing = asyncio.create_task(fault.heal(self.world))
        try:
            await asyncio.shield(healing)
        except asyncio.CancelledError:
            await asyncio.wait([healing])
            raise
        finally:
            if healing.done() and not healing.cancelled() and healing.exception() is not None:
                error = str(healing.exception())
            self._record(Kind.FAULT_HEALED, fault=name, number=number, error=error)

    async def _heal(self) -> None:
        self._enter("heal", self.world.clock.now_us() + HEAL_US)
        for fault in self._faults:
            await fault.heal(self.world)

    async def _assert_whole(self) -> None:
        """The fleet must be complete and the queue must answer, or the faults were no faults."""
        end_us = self.world.clock.now_us() + HEAL_US
        want = self.plan.workers.count
        while self.world.clock.now_us() < end_us:
            whole = len(self.world.hosts("worker")) == want
            if whole and await self.world.tell(Depth(), wait_us=ANSWER_US):
                return
            await self.world.clock.sleep_us(DRAIN_STEP_US)
        have = self.world.hosts("worker")
        raise HostFailed(
            f"{self.world.variant}: after healing, {len(have)} of {want} workers run "
            f"({', '.join(have) or 'none'}): see hosts/*.log in the run directory"
        )

    # --- LIVENESS ---------------------------------------------------------------------------------

    async def _liveness(self) -> None:
        clock = self.world.clock
        start_us = clock.now_us()
        end_us = start_us + self.plan.drain_us
        self._enter("liveness", end_us)
        while clock.now_us() < end_us and not self.watch.idle_since(start_us):
            await self.world.tell(Depth(), wait_us=ANSWER_US)
            await clock.sleep_us(DRAIN_STEP_US)
        await self._inspect()

    async def _inspect(self) -> None:
        keys = tuple(self._keys)
        for first in range(0, max(1, len(keys)), INSPECT_BATCH):
            batch = keys[first : first + INSPECT_BATCH]
            await self.world.tell(Inspect(keys=batch), wait_us=ANSWER_US)

    # --- small things -----------------------------------------------------------------------------

    def _enter(self, phase: str, until_us: int) -> None:
        self._record(Kind.PHASE_BEGAN, phase=phase)
        self.watch.entered(phase, until_us)

    def _record(self, kind: Kind, **fields: Any) -> None:
        self.journal.record_fields(kind, of=self.world.variant, **fields)

    async def _sleep_until(self, at_us: int) -> None:
        await self.world.clock.sleep_us(at_us - self.world.clock.now_us())


def _name_of(spec: FaultSpec) -> str:
    """What a plan calls it: each fault's own model has a `fault`, their base has not."""
    return str(getattr(spec, "fault", ""))
