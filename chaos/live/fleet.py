"""One variant's workers and producer: what `chaos.world` promises, done to real processes.

    tell ──stdin──► producer ──events──► answer     stop, start, kill, pause ──signals──► worker

When and to whom something happens is the conductor's and the faults' work. What the hosts do
reaches the history through their own event files; what is done to them is recorded here. A worker
that dies unasked is recorded and replaced, a bounded number of times; if the world cannot go on
(`failure`), the next command raises why.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from chaos.clock import MILLISECOND_US, SECOND_US, Clock
from chaos.errors import HostFailed
from chaos.event import Answered, Event
from chaos.job_keys import JobKeys
from chaos.live.hosts import MAIN, Host, Orders, write_config
from chaos.live.processes import Process, Processes
from chaos.live.setting import Journal, RunClock, Setting
from chaos.live.tailing import Reader, Tail
from chaos.tail import EventFile
from chaos.worker.events import Kind
from chaos.world import Command, slot_of

UP_US = 60 * SECOND_US
STOP_MARGIN_US = 5 * SECOND_US
END_US = 10 * SECOND_US
REPLACEMENTS_MAX = 20
STARTS_MAX = 10
REPLACE_AFTER_US = 100 * MILLISECOND_US


class LiveWorld:
    """World, Restart, Slots, Kill, Pause and Keys of `chaos.world`, with real processes.

    Attributes:
        variant: the label of the variant that runs here.
        clock: microseconds since the run began.
        server: name and version of the Redis, such as `valkey 9.1.2`.
        failure: why this world cannot go on, once it cannot.
    """

    def __init__(
        self,
        setting: Setting,
        processes: Processes,
        journal: Journal,
        orders: Orders,
        on_events: Reader,
        server: str,
    ) -> None:
        self.variant = setting.variant.label
        self.clock: Clock = RunClock(setting.origin_ns)
        self.server = server
        self.failure: Exception | None = None
        self._setting = setting
        self._processes = processes
        self._journal = journal
        self._orders = orders
        self._hosts: dict[str, Host] = {}
        self._locks = {slot: asyncio.Lock() for slot in self.slots()}
        self._incarnations = dict.fromkeys(self.slots(), 0)
        self._replaced = dict.fromkeys(self.slots(), 0)
        self._keys = JobKeys(orders.mark)
        self._tail = Tail([self._hear, self._keys.feed, on_events])
        self._answers: dict[int, asyncio.Future[Answered]] = {}
        self._calls = 0
        self._producers = 0
        self._closing = False
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._watches: dict[int, asyncio.Task[None]] = {}

    # --- World ------------------------------------------------------------------------------------

    async def tell(self, command: Command, wait_us: int = 0) -> bool:
        """Give the producer a command; with `wait_us`, wait that long for its answer.

        Raises:
            WorldError: the world cannot go on (`failure`).
        """
        self.raise_failure()
        self._calls += 1
        call = self._calls
        line = msgspec.json.encode(msgspec.structs.replace(command, call=call)) + b"\n"
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._answers[call] = answer
        try:
            producer = self._producer()
            if producer is None or not await producer.process.write(line):
                return False
            if not wait_us:
                return True
            return not (await asyncio.wait_for(answer, wait_us / SECOND_US)).error
        except TimeoutError:
            return False
        finally:
            del self._answers[call]

    def hosts(self, role: str) -> tuple[str, ...]:
        """Full names of the hosts of `role` that are up, in order."""
        return tuple(sorted(host.name for host in self._of(role) if host.up))

    # --- Restart, Slots ---------------------------------------------------------------------------

    def slots(self) -> tuple[int, ...]:
        """The numbers of all worker slots, filled or not."""
        return tuple(range(1, self._setting.plan.workers.count + 1))

    @asynccontextmanager
    async def hold(self, slot: int) -> AsyncIterator[None]:
        """Nobody else stops, kills or fills this slot meanwhile."""
        async with self._locks[slot]:
            yield

    async def stop(self, host: str) -> None:
        """SIGTERM, then wait until the host is gone; SIGKILL past grace + deadline + 5 s."""
        found = self._hosts.get(host)
        if found is None or not found.process.running:
            return
        found.process.expected = True
        if not found.stopping:  # a second SIGTERM would end it: saq lets the signal go as it ends
            found.stopping = True
            self._signal(found.process, signal.SIGTERM)
        if await found.process.exited(found.stop_us + STOP_MARGIN_US) is None:
            await self.kill(host)

    async def start(self, slot: int) -> str:
        """Start the next incarnation in worker slot `slot`; its full name once it is up.

        Waits for a Redis that a fault took away. A worker that died because it went away just then
        is started again, as whatever runs workers in production would do.

        Raises:
            HostFailed: it does not come up; the message ends with what it printed.
        """
        for _ in range(STARTS_MAX):
            await self.server_answers()
            began_us = self.clock.now_us()
            self._incarnations[slot] += 1
            name = f"{self.variant}/worker-{slot}.{self._incarnations[slot]}"
            try:
                return await self._start("worker", name)
            except HostFailed:
                if not self.server_was_away(began_us):
                    raise
        raise HostFailed(
            f"{self.variant}: no worker came up in slot {slot} in {STARTS_MAX} tries, "
            f"for Redis went away each time"
        )

    # --- Kill, Pause, Keys ------------------------------------------------------------------------

    async def kill(self, host: str) -> None:
        """SIGKILL, with all that the host started, then wait until it is gone."""
        process = self._process(host)
        if process is None or not process.running:
            return
        process.expected = True
        self._signal(process, signal.SIGKILL, group=True)
        await process.exited(END_US)

    async def pause(self, host: str) -> None:
        """SIGSTOP: the host stops where it is, with all that it started."""
        process = self._process(host)
        if process is not None and process.running and not process.paused:
            process.paused = True
            self._signal(process, signal.SIGSTOP, group=True)

    async def resume(self, host: str) -> None:
        """SIGCONT. No error if the host is gone or was not paused."""
        process = self._process(host)
        if process is not None and process.paused:
            process.paused = False
            if process.running:
                self._signal(process, signal.SIGCONT, group=True)

    def keys(self) -> tuple[str, ...]:
        """Keys whose job was enqueued and is not known to be finished, the oldest first."""
        return self._keys.now()

    # --- coming up and ending ---------------------------------------------------------------------

    async def open(self) -> None:
        """Start the producer and all workers; return once all are up.

        Raises:
            HostFailed: one does not come up.
        """
        self._spawn(self._tail.run(), self._tasks)
        starts = [self._start_producer(), *(self.start(slot) for slot in self.slots())]
        tasks = [asyncio.create_task(start) for start in starts]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def end(self) -> None:
        """End every host as saq ends: workers by SIGTERM, the producer by the end of its stdin."""
        self._closing = True
        for host in list(self._hosts.values()):
            await self.resume(host.name)
        await asyncio.gather(*(self.stop(host.name) for host in self._of("worker")))
        for host in self._of("producer"):
            host.process.expected = True
            host.process.close_stdin()
            await host.process.exited(END_US)

    async def close(self) -> None:
        """Stop working: nothing new comes up. Processes that still run are ended by their owner."""
        self._closing = True
        self._tail.stop()
        for host in self._hosts.values():
            host.process.expected = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def last_events(self) -> None:
        """Once all processes ended: record their ends, and hand over what they still had to say."""
        watches = list(self._watches.values())
        if watches:
            await asyncio.wait(watches, timeout=END_US / SECOND_US)
        self._tail.poll()

    def torn(self) -> tuple[str, ...]:
        """Names of the ended hosts whose last record was cut by their death."""
        return tuple(self._tail.torn)

    def raise_failure(self) -> None:
        """Raise why the world cannot go on, if it cannot."""
        if self.failure is not None:
            raise self.failure

    async def server_answers(self) -> None:
        """Return once the Redis is there to be used: at once, for one that nobody disturbs."""

    def server_was_away(self, since_us: int) -> bool:
        """Whether a fault had taken the Redis away at any time since then."""
        return False

    # --- inside -----------------------------------------------------------------------------------

    def _hear(self, events: list[Event]) -> None:
        """The world's own reading of its hosts' events: who is up, and what was answered."""
        for event in events:
            if isinstance(event, Answered):
                answer = self._answers.get(event.call)
                if answer is not None and not answer.done():
                    answer.set_result(event)
            elif (host := self._hosts.get(event.host)) is not None and not host.up:
                host.hear(event)

    async def _start_producer(self) -> str:
        self._producers += 1
        return await self._start("producer", f"{self.variant}/producer-1.{self._producers}")

    async def _start(self, role: str, name: str) -> str:
        files = self._setting.files(name)
        self._processes.forget_config_at_end(files.path("json"))
        write_config(files.path("json"), self._orders.config_of(role, files))
        environment = self._setting.environment
        process = await self._processes.start(
            name,
            [str(environment.python), str(MAIN), str(files.path("json"))],
            files.path("log"),
            env={**environment.env, "PYTHONUNBUFFERED": "1"},
            stdin=role == "producer",
        )
        events = EventFile(files.path("events"), name, self._setting.origin_ns)
        host = Host(role, process, events)
        self._hosts[name] = host
        self._tail.follow(host)
        self._record(Kind.HOST_STARTED, target=name, role=role, pid=process.pid)
        self._spawn(self._watch(host), self._watches)
        try:
            await host.comes_up(UP_US)
        except BaseException:
            process.expected = True
            process.signal(signal.SIGKILL, group=True)
            raise
        return name

    async def _watch(self, host: Host) -> None:
        """Record the end of a host; replace a worker that nobody asked to end."""
        code = await host.process.exited()
        del self._hosts[host.name]
        expected = host.process.expected
        self._record(Kind.HOST_EXITED, target=host.name, code=code, expected=expected)
        if expected or self._closing or not host.began.done():
            return
        if host.role == "worker":
            self._spawn(self._replace(host, code), self._tasks)
        else:
            raise HostFailed(_died(host, code, "the producer is gone, so nothing can be enqueued"))

    async def _replace(self, host: Host, code: int | None) -> None:
        slot = slot_of(host.name)
        self._replaced[slot] += 1
        if self._replaced[slot] > REPLACEMENTS_MAX:
            why = f"it was replaced {REPLACEMENTS_MAX} times already"
            raise HostFailed(_died(host, code, why))
        await self.clock.sleep_us(REPLACE_AFTER_US)
        async with self.hold(slot):
            if not self._closing and not self._in_slot(slot):
                await self.start(slot)

    def _in_slot(self, slot: int) -> list[Host]:
        return [host for host in self._of("worker") if slot_of(host.name) == slot]

    def _of(self, role: str) -> list[Host]:
        return [host for host in self._hosts.values() if host.role == role]

    def _producer(self) -> Host | None:
        return next(iter(self._of("producer")), None)

    def _process(self, host: str) -> Process | None:
        found = self._hosts.get(host)
        return None if found is None else found.process

    def _signal(self, process: Process, number: signal.Signals, *, group: bool = False) -> None:
        self._record(Kind.HOST_SIGNALLED, target=process.host, signal=number.name)
        process.signal(number, group=group)

    def _record(self, kind: Kind, **fields: Any) -> None:
        self._journal.record_fields(kind, **fields)

    def _spawn(self, work: Coroutine[Any, Any, None], tasks: dict[int, asyncio.Task[None]]) -> None:
        """Run something beside; its error is the world's failure."""
        task = asyncio.create_task(work)
        tasks[id(task)] = task
        task.add_done_callback(lambda done: self._done(done, tasks))

    def _done(self, task: asyncio.Task[None], tasks: dict[int, asyncio.Task[None]]) -> None:
        del tasks[id(task)]
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception) and self.failure is None and not self._closing:
            self.failure = error
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(error)


def _died(host: Host, code: int | None, why: str) -> str:
    return f"{host.name} exited with code {code}, unasked, and {why}; it printed:\n" + (
        host.process.log_tail()
    )
