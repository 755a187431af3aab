"""The producer: does to its queue what the controller tells it, one JSON line a command.

It is a process of the variant under test, so that enqueues, forced sweeps and aborts run that
variant's code. The commands are those of `chaos.world`:

    {"do": "enqueue", "call": 7, "function": …, "key": …, "kwargs": {…}, "options": {…}, "scheduled_in_us": 0}
    {"do": "sweep", "call": 8, "wait_us": 300000}         {"do": "abort", "call": 9, "key": "k"}
    {"do": "depth", "call": 10}                           {"do": "inspect", "call": 11, "keys": ["k"]}

Each runs as a task of its own, at most `COMMANDS_MAX` at once; then reading stops, which the
controller feels as a full pipe. Each is answered with an ANSWERED event, also if it failed: a Redis
that restarts or a line that is no command never ends this process. It ends when stdin does, or by
SIGTERM; what is in flight then gets a moment to finish.
"""  # noqa: E501 - the commands are shown as they are sent

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import json
import sys
from collections.abc import Awaitable, Iterable
from typing import Any

from saq.job import Job
from saq.utils import now

from .app import marked
from .config import describe, redact, whole
from .events import Kind
from .job_states import UNREADABLE, read_states

COMMANDS_MAX = 512
LINE_SIZE_MAX = 64 << 20
FINISH_S_MAX = 5.0
STOP_S_MAX = 1.0
SWEEP_LOCK_S = 1
WAIT_S_MIN = 0.001  # saq waits for ever if told 0
ABORT_ERROR = "chaos abort"
_JOB_OPTIONS = tuple(
    field.name for field in dataclasses.fields(Job) if field.name not in ("kwargs", "queue", "key")
)


class Producer:
    """Carries out commands on one queue.

    Args:
        queue: a connected RedisQueue, probed.
        recorder: where the answers and what an inspection saw are recorded (`record_fields`).
        functions: the names of the functions that can be enqueued.
        mark: what job keys begin with (`chaos.worker.app.mark_keys`).
    """

    def __init__(
        self, queue: Any, recorder: Any, functions: tuple[str, ...], mark: str = ""
    ) -> None:
        self._queue = queue
        self._recorder = recorder
        self._functions = functions
        self._mark = mark
        self._room = asyncio.Semaphore(COMMANDS_MAX)
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def serve(self, told_to_stop: asyncio.Event) -> None:
        """Carry out commands from stdin until it ends or `told_to_stop` is set."""
        reading = asyncio.create_task(self._read(await _stdin()))
        stopping = asyncio.create_task(told_to_stop.wait())
        await asyncio.wait((reading, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        reading.cancel()
        await asyncio.wait((reading, stopping))
        await self._finish(STOP_S_MAX if told_to_stop.is_set() else FINISH_S_MAX)

    async def _read(self, lines: asyncio.StreamReader) -> None:
        number = 0
        while not lines.at_eof():
            try:
                line = await lines.readline()
            except ValueError as error:
                self._answer(0, f"a line of more than {LINE_SIZE_MAX} bytes: {error}")
                continue
            if line.strip():
                number += 1
                await self._room.acquire()
                task = asyncio.create_task(self._carry_out(line))
                self._tasks[number] = task
                task.add_done_callback(functools.partial(self._done, number))

    def _done(self, number: int, _task: asyncio.Task[None]) -> None:
        del self._tasks[number]
        self._room.release()

    async def _finish(self, within_s: float) -> None:
        """Let what is in flight finish, and cancel what does not."""
        tasks = list(self._tasks.values())
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=within_s)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=STOP_S_MAX)

    async def _carry_out(self, line: bytes) -> None:
        try:
            command = json.loads(line)
            if not isinstance(command, dict) or not isinstance(command.get("call"), int):
                raise ValueError(
                    f"no command: {line[:200]!r} is no object with a `do` and a `call`"
                )
        except (ValueError, RecursionError) as error:
            self._answer(0, describe(error))
            return
        await self.carry_out(command)

    async def carry_out(self, command: dict[str, Any]) -> None:
        """Carry out one command, and record its answer, whatever comes of it."""
        call = command["call"]
        try:
            await self._do(command)
        except asyncio.CancelledError:
            self._answer(call, "not finished: the producer ended")
        except Exception as error:
            self._answer(call, describe(error))
        else:
            self._answer(call, "")

    def _answer(self, call: int, error: str) -> None:
        self._recorder.record_fields(Kind.ANSWERED, call=call, error=redact(error))

    def _do(self, command: dict[str, Any]) -> Awaitable[None]:
        do = command.get("do")
        if do == "enqueue":
            return self._enqueue(command)
        if do == "sweep":
            return self._sweep(command["wait_us"])
        if do == "abort":
            return self._abort(command["key"])
        if do == "depth":
            return self._depth()
        if do == "inspect":
            return self._inspect(command.get("keys", ()))
        raise ValueError(f"no command {do!r}: there are enqueue, sweep, abort, depth and inspect")

    async def _enqueue(self, command: dict[str, Any]) -> None:
        function = command["function"]
        if function not in self._functions:
            raise ValueError(f"no function {function!r}: there are {', '.join(self._functions)}")
        arguments = _job_options(command.get("options") or {})
        key = command.get("key")
        if key is not None:
            if not isinstance(key, str):
                raise TypeError(f"key {key!r} is no text")
            arguments["key"] = key
        if command.get("kwargs"):
            arguments["kwargs"] = command["kwargs"]
        ahead_us = command.get("scheduled_in_us", 0)
        if ahead_us > 0:
            arguments["scheduled"] = _seconds_ahead(ahead_us)
        await self._queue.enqueue(function, **arguments)

    async def _sweep(self, wait_us: int) -> None:
        await self._queue.redis.delete(self._queue._sweep)
        wait_s = max(wait_us / 1_000_000, WAIT_S_MIN)
        arguments = {"lock": SWEEP_LOCK_S, "abort": wait_s}
        kind: Any = type(self._queue)
        known = _sweep_takes(kind)
        await self._queue.sweep(**{k: v for k, v in arguments.items() if k in known})

    async def _abort(self, key: str) -> None:
        job = await self._queue.job(marked(key, self._mark))
        if job is not None:
            await self._queue.abort(job, ABORT_ERROR)

    async def _depth(self) -> None:
        queued, active, incomplete = [
            await self._queue.count(kind) for kind in ("queued", "active", "incomplete")
        ]
        self._recorder.record_fields(
            Kind.QUEUE_DEPTH, queued=queued, active=active, incomplete=incomplete
        )

    async def _inspect(self, keys: Iterable[str]) -> None:
        """One JOB_STATE for each key asked and for each other job that the lists hold."""
        unreadable: list[str] = []
        async for state in read_states(self._queue, [marked(key, self._mark) for key in keys]):
            if state.status == UNREADABLE:
                unreadable.append(state.job)
            self._recorder.record_fields(Kind.JOB_STATE, **dataclasses.asdict(state))
        if unreadable:
            raise ValueError(f"{len(unreadable)} unreadable records, first {unreadable[0]}")


@functools.cache
def _sweep_takes(queue_class: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(queue_class.sweep).parameters)


def _job_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options as saq can use them.

    Raises:
        ValueError: an option is none of saq's Job, or a `ttl` is no whole number of seconds.
    """
    unknown = sorted(set(options) - set(_JOB_OPTIONS))
    if unknown:
        raise ValueError(f"saq's Job has no {', '.join(unknown)}: it has {', '.join(_JOB_OPTIONS)}")
    numbers = {k: whole(v) if isinstance(v, float) else v for k, v in options.items()}
    if isinstance(numbers.get("ttl"), float):
        raise ValueError(f"ttl {numbers['ttl']} s: Redis takes whole seconds")
    return numbers


def _seconds_ahead(ahead_us: int) -> int:
    """Epoch seconds at least `ahead_us` from now: saq schedules by whole seconds, so round up."""
    then_us = int(now()) * 1_000 + ahead_us
    return -(-then_us // 1_000_000)


async def _stdin() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=LINE_SIZE_MAX)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    return reader
