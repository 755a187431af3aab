"""The search: seeds are dealt out in blocks, and what comes back is added up, until it is enough.

    numbers 0, 1, 2, … ─► Block per variant ─► Executor ─► BlockDone ─► VariantTally per variant

Every variant runs the same seeds, so that they can be compared. Blocks are as large as half a
second's work, so that progress is steady and little is lost at the end. With a number of seeds, the
answer does not depend on how many workers there are or how fast they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field

from chaos.clock import SECOND_US
from chaos.explore import length
from chaos.explore.aggregate import VariantTally
from chaos.explore.protocol import Limits, Subject
from chaos.explore.seeds import seed_of
from chaos.explore.tasks import Block, BlockDone, Place, run_block, warm
from chaos.plan import Plan

BLOCK_US = SECOND_US // 2
BLOCK_SEEDS_MAX = 500
AHEAD = 2  # blocks in the executor's hands, for each of its workers
TICK_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How far a search goes: it ends at the first of these. 0: no such end.

    Attributes:
        seeds: so many on each variant.
        budget_us: so much time.
        until_failure: at the first seed that breaks a promise.
        lengths: whether seeds are of many lengths (`chaos.explore.length`), or as long as the plan.
    """

    seeds: int = 0
    budget_us: int = 0
    until_failure: bool = False
    lengths: bool = False

    def duration_us(self, plan: Plan, number: int) -> int:
        """How long seed `number` goes on."""
        return length.duration_us(plan, number) if self.lengths else plan.duration_us


@dataclass
class Lane:
    """One variant in the search: how far it is dealt out, how far it is done."""

    place: Place
    subject: Subject
    tally: VariantTally
    next_number: int = 0
    per_seed_us: int = 0
    done: set[int] = field(default_factory=set)
    compared: int = 0

    def size(self) -> int:
        """How many seeds the next block has."""
        if not self.per_seed_us:
            return 1 if not self.next_number else 2
        return max(1, min(BLOCK_SEEDS_MAX, BLOCK_US // self.per_seed_us))

    def add(self, block: Block, done: BlockDone, found_us: int) -> None:
        """Take a block's seeds in; `found_us` is the search time at which its last one was done."""
        left_us = sum(summary.spent_us for summary in done.summaries)
        for number, summary in enumerate(done.summaries, block.first):
            left_us -= summary.spent_us
            self.tally.add(number, summary, max(0, found_us - left_us))
            self.done.add(number)
        while self.compared in self.done:
            self.done.discard(self.compared)
            self.compared += 1
        if self.tally.seeds:
            self.per_seed_us = max(1, self.tally.spent_us // self.tally.seeds)


class Search:
    """One search. `run` may be interrupted: what was found until then stays.

    Args:
        lanes: the variants.
        base: the base seed.
        extent: when it ends.
        executor: what runs blocks.
        jobs: how many of them at a time.
        swarm: let each seed draw the plan's own parameters too.
        tell: called after each block, and now and then.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        base: int,
        extent: Extent,
        executor: Executor,
        *,
        jobs: int,
        swarm: bool,
        tell: Callable[[], None],
    ) -> None:
        self.lanes = lanes
        self.extent = extent
        self.search_us = 0
        self._base = base
        self._executor = executor
        self._jobs = jobs
        self._swarm = swarm
        self._tell = tell
        self._began_ns = 0
        self._running: dict[Future[BlockDone], tuple[Lane, Block]] = {}

    def warm_up(self) -> None:
        """Have every process ready, so that search time is search time.

        Raises:
            HostFailed: one does not come up.
        """
        waiting = [
            self._executor.submit(warm, lane.place)
            for lane in self.lanes
            for _ in range(self._jobs)
        ]
        for future in waiting:
            future.result()

    def run(self) -> None:
        """Search until the extent is reached.

        Raises:
            HostFailed: a simulating process died; the message says at which seed.
        """
        self._began_ns = time.monotonic_ns()
        try:
            self._deal()
            while self._running:
                self._collect()
                self._deal()
        finally:
            self.search_us = self._now_us()
            for future in self._running:
                future.cancel()

    def _now_us(self) -> int:
        return (time.monotonic_ns() - self._began_ns) // 1_000

    def _deal(self) -> None:
        while len(self._running) < AHEAD * self._jobs:
            block = None if self._is_over() else self._next_block()
            if block is None:
                return
            lane, next_block = block
            self._running[self._executor.submit(run_block, next_block)] = (lane, next_block)

    def _is_over(self) -> bool:
        extent = self.extent
        if extent.until_failure and any(lane.tally.failures for lane in self.lanes):
            return True
        return bool(extent.budget_us) and self._now_us() >= extent.budget_us

    def _next_block(self) -> tuple[Lane, Block] | None:
        """The next block of the variant that is behind; none if every seed is dealt out."""
        lane = min(self.lanes, key=lambda one: one.next_number)
        first, size = lane.next_number, lane.size()
        if self.extent.seeds:
            size = min(size, self.extent.seeds - first)
        if size <= 0:
            return None
        lane.next_number += size
        numbers = range(first, first + size)
        return lane, Block(
            place=lane.place,
            subject=lane.subject,
            first=first,
            seeds=tuple(seed_of(self._base, number) for number in numbers),
            durations_us=tuple(self.extent.duration_us(lane.tally.plan, one) for one in numbers),
            swarm=self._swarm,
            until_failure=self.extent.until_failure,
            limits=Limits(),
        )

    def _collect(self) -> None:
        done, _ = wait(self._running, timeout=TICK_SECONDS, return_when=FIRST_COMPLETED)
        now_us = self._now_us()
        finished = [(future, self._running[future]) for future in self._running if future in done]
        for future, (lane, block) in finished:
            del self._running[future]
            if not future.cancelled():
                lane.add(block, future.result(), now_us)
        self._tell()
        if self._is_over():
            self._cancel_waiting()

    def _cancel_waiting(self) -> None:
        """Take back what no worker has begun."""
        for future in [future for future in self._running if future.cancel()]:
            del self._running[future]
