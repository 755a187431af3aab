"""A host of the simulated world as the world knows it: whether it is up, wanted, and gone."""

from __future__ import annotations

import asyncio
import functools

from chaos.clock import SECOND_US
from chaos.event import Answered, Event, HostBegan
from chaos.sim.host import SimHost
from chaos.sim.programs import ProducerProcess


class Process:
    """A host as the world knows it: whether it is up, wanted, and gone."""

    def __init__(self, sim: SimHost, loop: asyncio.AbstractEventLoop) -> None:
        self.sim = sim
        self.name = sim.name
        self.role = sim.role
        self.expected = False  # whether its end is
        self.stopping = False
        self.began: HostBegan | None = None
        self.works: asyncio.Future[None] = loop.create_future()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.producer: ProducerProcess | None = None

    @property
    def up(self) -> bool:
        """Whether it has said what it is, and works."""
        return not self.sim.gone and self.works.done()

    @property
    def stop_us(self) -> int:
        """How long it may take to stop after SIGTERM, by what it said itself."""
        return self.began.grace_us + self.began.deadline_us if self.began is not None else 0

    def hear(self, event: Event) -> None:
        """One of its own events: a worker works from its first call on."""
        if isinstance(event, HostBegan):
            self.began = event
        if not self.works.done() and (self.role != "worker" or not isinstance(event, HostBegan)):
            self.works.set_result(None)


async def happens_within(future: asyncio.Future[None], within_us: int) -> bool:
    """Whether something happens within a time."""
    done, _ = await asyncio.wait([future], timeout=within_us / SECOND_US)
    return bool(done)


async def comes_within(answer: asyncio.Future[Answered], within_us: int) -> bool:
    """Whether an answer comes within a time (`asyncio.wait_for`, without its wrapping)."""
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()
    timer = loop.call_later(within_us / SECOND_US, _wake, waiter)
    wake = functools.partial(_wake, waiter)
    answer.add_done_callback(wake)
    try:
        await waiter
    finally:
        timer.cancel()
        answer.remove_done_callback(wake)
    return answer.done()


def _wake(waiter: asyncio.Future[None], _: object = None) -> None:
    if not waiter.done():
        waiter.set_result(None)
