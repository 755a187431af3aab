"""The simulated world: what `chaos.world` promises, done to hosts of the kernel.

    tell ──► producer ──events──► answer       stop, start, kill, pause ──signals──► worker

It does what `chaos.live.fleet` does with processes, in the same order and with the same events, and
it runs in the loop of the controller's host: waiting here passes virtual time. A worker that ends
unasked is recorded and replaced, a bounded number of times; if the world cannot go on, the next
command raises why.
"""

from __future__ import annotations

import asyncio
import functools
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from chaos.clock import MILLISECOND_US, SECOND_US
from chaos.errors import HostFailed
from chaos.event import Answered, AttemptBegan, CallInvoked, CallReturned, Event, HostBegan
from chaos.job_keys import JobKeys
from chaos.plan import Plan
from chaos.sim.host import SimHost
from chaos.sim.kernel import Kernel
from chaos.sim.links_and_server import LinksAndServer
from chaos.sim.log import HostSink, Log
from chaos.sim.network import Network
from chaos.sim.process import Process, comes_within, happens_within
from chaos.sim.programs import ProducerProcess, Program, run_worker
from chaos.sim.server import SimServer
from chaos.worker.events import Kind
from chaos.world import Command, slot_of

BOOT_US = 100 * MILLISECOND_US  # from the start of a process to its first line
UNSEEN_US = 3 * SECOND_US
STOP_MARGIN_US = 5 * SECOND_US
END_US = 10 * SECOND_US
POLL_US = 50 * MILLISECOND_US
SERVER_BACK_US = 120 * SECOND_US
REPLACE_AFTER_US = 100 * MILLISECOND_US
REPLACEMENTS_MAX = 20
STARTS_MAX = 10


class SimClock:
    """Virtual time (`chaos.clock.Clock`)."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def now_us(self) -> int:
        return self._kernel.time_us

    async def sleep_us(self, duration_us: int) -> None:
        await asyncio.sleep(max(0, duration_us) / SECOND_US)


class SimWorld(LinksAndServer):
    """World of `chaos.world` with every capability, on virtual time.

    Args:
        variant: the label of the variant.
        plan: the recipe.
        kernel: where the hosts live.
        log: where the events go.
        program: what the hosts run.
        server: the simulated Redis.
        network: the links to it.

    Attributes:
        failure: why this world cannot go on, once it cannot.
    """

    def __init__(
        self,
        variant: str,
        plan: Plan,
        kernel: Kernel,
        log: Log,
        program: Program,
        server: SimServer,
        network: Network,
    ) -> None:
        super().__init__(server, network)
        self.variant = variant
        self.clock = SimClock(kernel)
        self.failure: Exception | None = None
        self._plan = plan
        self._kernel = kernel
        self._log = log
        self._journal = HostSink(log, "controller")
        self._program = program
        self._processes: dict[str, Process] = {}
        self._locks = {slot: asyncio.Lock() for slot in self.slots()}
        self._incarnations = dict.fromkeys(self.slots(), 0)
        self._replaced = dict.fromkeys(self.slots(), 0)
        self._keys = JobKeys()
        self._answers: dict[int, asyncio.Future[Answered]] = {}
        self._calls = 0
        self._closing = False
        self._replacing: list[asyncio.Task[None]] = []
        self._listen()

    # --- World ------------------------------------------------------------------------------------

    async def tell(self, command: Command, wait_us: int = 0) -> bool:
        """Give the producer a command; with `wait_us`, wait that long for its answer.

        Raises:
            WorldError: the world cannot go on (`failure`).
        """
        self.raise_failure()
        self._calls += 1
        call = self._calls
        producer = self._producer()
        told = msgspec.to_builtins(msgspec.structs.replace(command, call=call))
        if producer is None or not producer.tell(told):
            return False
        if not wait_us:
            return True
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._answers[call] = answer
        try:
            return await comes_within(answer, wait_us) and not answer.result().error
        finally:
            del self._answers[call]

    def hosts(self, role: str) -> tuple[str, ...]:
        """Full names of the hosts of `role` that are up, in order."""
        if role == "redis":
            return (self._server.host,) if self._server.up else ()
        return tuple(sorted(one.name for one in self._of(role) if one.up))

    # --- Restart, Slots, Keys ---------------------------------------------------------------------

    def slots(self) -> tuple[int, ...]:
        """The numbers of all worker slots, filled or not."""
        return tuple(range(1, self._plan.workers.count + 1))

    @asynccontextmanager
    async def hold(self, slot: int) -> AsyncIterator[None]:
        """Nobody else stops, kills or fills this slot meanwhile."""
        async with self._locks[slot]:
            yield

    def keys(self) -> tuple[str, ...]:
        """Keys whose job was enqueued and is not known to be finished, the oldest first."""
        return self._keys.now()

    async def stop(self, host: str) -> None:
        """SIGTERM, then wait until the host is gone; SIGKILL past grace + deadline + 5 s."""
        process = self._processes.get(host)
        if process is None:
            return
        process.expected = True
        if not process.stopping:
            process.stopping = True
            self._signal(process, signal.SIGTERM)
        if not await happens_within(process.exited, process.stop_us + STOP_MARGIN_US):
            await self.kill(host)

    async def start(self, slot: int) -> str:
        """Start the next incarnation in worker slot `slot`; its full name once it is up.

        Raises:
            HostFailed: it does not come up; the message ends with what it said.
        """
        for _ in range(STARTS_MAX):
            await self._server_answers()
            began_us = self._kernel.time_us
            self._incarnations[slot] += 1
            name = f"{self.variant}/worker-{slot}.{self._incarnations[slot]}"
            try:
                return await self._start("worker", name)
            except HostFailed:
                if not self._server_was_away(began_us):
                    raise
        raise HostFailed(
            f"{self.variant}: no worker came up in slot {slot} in {STARTS_MAX} tries, "
            f"for Redis went away each time"
        )

    # --- Clocks, Kill, Pause ----------------------------------------------------------------------

    def set_clock(self, host: str, *, ahead_us: int) -> None:
        """Its wall clock is so far ahead from now on; a successor's is right."""
        process = self._processes.get(host)
        if process is not None:
            process.sim.skew_us = ahead_us

    async def kill(self, host: str) -> None:
        """SIGKILL: it is gone at once."""
        process = self._processes.get(host)
        if process is not None:
            process.expected = True
            self._signal(process, signal.SIGKILL)

    async def pause(self, host: str) -> None:
        """SIGSTOP: the host stops where it is."""
        if host == self._server.host:
            self._server.pause()
        process = self._processes.get(host)
        if process is not None and not process.sim.paused:
            self._record(Kind.HOST_SIGNALLED, target=host, signal="SIGSTOP")
            process.sim.pause()

    async def resume(self, host: str) -> None:
        """SIGCONT. No error if the host is gone or was not paused."""
        if host == self._server.host:
            self._server.resume()
        process = self._processes.get(host)
        if process is not None and process.sim.paused:
            self._record(Kind.HOST_SIGNALLED, target=host, signal="SIGCONT")
            process.sim.resume()

    # --- coming up and ending ---------------------------------------------------------------------

    async def open(self) -> None:
        """Start the server, the producer and all workers; return once all are up.

        Raises:
            HostFailed: one does not come up.
        """
        self._server.started()
        producer = self._start("producer", f"{self.variant}/producer-1.1")
        await asyncio.gather(producer, *(self.start(slot) for slot in self.slots()))

    async def end(self) -> None:
        """End every host as saq ends: workers by SIGTERM, the producer by the end of its stdin."""
        self._closing = True
        for task in self._replacing:
            task.cancel()
        self._server.resume()
        self._server.start()
        for process in list(self._processes.values()):
            await self.resume(process.name)
        await asyncio.gather(*(self.stop(one.name) for one in self._of("worker")))
        for process in self._of("producer"):
            process.expected = True
            assert process.producer is not None
            process.producer.end()
            await happens_within(process.exited, END_US)

    def raise_failure(self) -> None:
        """Raise why the world cannot go on, if it cannot."""
        if self.failure is not None:
            raise self.failure

    # --- inside -----------------------------------------------------------------------------------

    def _listen(self) -> None:
        listeners = self._log.listeners
        listeners[Answered] = self._answered
        listeners[HostBegan] = self._began
        for kind in (CallInvoked, AttemptBegan):
            listeners[kind] = self._works
        listeners[CallReturned] = self._returned

    def _answered(self, event: Answered) -> None:
        answer = self._answers.get(event.call)
        if answer is not None and not answer.done():
            answer.set_result(event)

    def _began(self, event: HostBegan) -> None:
        self._processes[event.host].hear(event)

    def _works(self, event: Event) -> None:
        process = self._processes.get(event.host)
        if process is not None and not process.works.done():
            process.hear(event)

    def _returned(self, event: CallReturned) -> None:
        self._works(event)
        self._keys.feed([event])

    async def _start(self, role: str, name: str) -> str:
        sim = SimHost(self._kernel, name, role, HostSink(self._log, name))
        process = Process(sim, asyncio.get_running_loop())
        self._processes[name] = process
        sim.on_gone.append(self._exited)
        main: Callable[[SimHost], Any] = functools.partial(run_worker, self._program)
        if role == "producer":
            process.producer = ProducerProcess(self._program)
            main = process.producer.run
        self._record(Kind.HOST_STARTED, target=name, role=role, pid=sim.pid)
        self._kernel.call_at(self._kernel.time_us + BOOT_US, name, sim.begin, main)
        await self._comes_up(process)
        return name

    async def _comes_up(self, process: Process) -> None:
        await happens_within(process.works, BOOT_US + UNSEEN_US)
        if process.began is not None and not process.sim.gone:
            if not process.works.done():
                process.works.set_result(None)
            return
        what = f"exited with code {process.sim.code}" if process.sim.gone else "did not come up"
        process.expected = True
        process.sim.end(-signal.SIGKILL)
        raise HostFailed(f"{process.name} {what}; it said:\n" + "\n".join(process.sim.said))

    def _exited(self, sim: SimHost) -> None:
        """A host is gone: record it, cut its links, replace a worker that nobody asked to end."""
        process = self._processes.pop(sim.name)
        self._network.crash(sim.name)
        expected = process.expected
        self._record(Kind.HOST_EXITED, target=sim.name, code=sim.code, expected=expected)
        if not process.exited.done():
            process.exited.set_result(None)
        if not process.works.done():
            process.works.set_exception(HostFailed(sim.name))
            process.works.exception()
            return
        if expected or self._closing:
            return
        if process.role == "worker":
            loop: Any = process.exited.get_loop()
            loop.call_soon(self._begin_to_replace, process)
        else:
            self._fail(_died(process, "the producer is gone, so nothing can be enqueued"))

    def _begin_to_replace(self, process: Process) -> None:
        task = asyncio.create_task(self._replace(process))
        self._replacing.append(task)

    async def _replace(self, process: Process) -> None:
        slot = slot_of(process.name)
        self._replaced[slot] += 1
        if self._replaced[slot] > REPLACEMENTS_MAX:
            why = f"it was replaced {REPLACEMENTS_MAX} times already"
            self._fail(_died(process, why))
            return
        await self.clock.sleep_us(REPLACE_AFTER_US)
        async with self.hold(slot):
            if not self._closing and not [
                one for one in self._of("worker") if slot_of(one.name) == slot
            ]:
                try:
                    await self.start(slot)
                except HostFailed as error:
                    self._fail(error)

    def _fail(self, error: HostFailed) -> None:
        if self.failure is None and not self._closing:
            self.failure = error
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(error)

    async def _server_answers(self) -> None:
        for _ in range(SERVER_BACK_US // POLL_US):
            if not self._server.away:
                return
            await self.clock.sleep_us(POLL_US)

    def _server_was_away(self, since_us: int) -> bool:
        return self._server.away or self._server.back_us >= since_us

    def _of(self, role: str) -> list[Process]:
        return [one for one in self._processes.values() if one.role == role]

    def _producer(self) -> ProducerProcess | None:
        return next((one.producer for one in self._of("producer")), None)

    def _signal(self, process: Process, number: signal.Signals) -> None:
        self._record(Kind.HOST_SIGNALLED, target=process.name, signal=number.name)
        process.sim.signal(number)

    def _record(self, kind: Kind, **fields: Any) -> None:
        self._journal.record_fields(kind, **fields)


def _died(process: Process, why: str) -> HostFailed:
    said = "\n".join(process.sim.said)
    return HostFailed(
        f"{process.name} exited with code {process.sim.code}, unasked, and {why}; it said:\n{said}"
    )
