"""The seams: the only monkeypatches of the simulator, and their undoing.

    time, datetime, uuid, random, pid ─► the virtual clock, the host's own counters, the tape
    ThreadPoolExecutor ─► SimPool          asyncio.Queue of saq's multiplexer ─► hashes by a number
    sockets, threads, processes, signal handlers ─► an error that names them, and ends the run

They hold for the thread that runs the simulation, while `installed` is entered; everything is put
back on the way out, also after an error. The wall clock is the host's own (`SimHost.skew_us`), the
monotonic clock is everybody's.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import datetime as dt
import importlib
import logging
import os
import platform
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Self

import saq.multiplexer
import saq.utils
import saq.worker

from chaos.sim import current
from chaos.sim.kernel import Kernel
from chaos.sim.loop import HostLoop
from chaos.sim.pool import SimPool

worker_host = importlib.import_module("chaos.worker.host")

EPOCH_US = 1_767_225_600_000_000  # the wall clock begins at 2026-01-01 00:00 UTC
_PART = 1 << 48

Patch = tuple[Any, str, Any]


class Unsimulated(NotImplementedError):
    """Code under test asked for something of the real machine: sockets, threads, processes."""


# --- time -----------------------------------------------------------------------------------------


def _wall_us() -> int:
    kernel = current.kernel()
    host = kernel.current
    return EPOCH_US + kernel.time_us + (host.skew_us if host is not None else 0)


def _wall() -> float:
    kernel = current.kernel()  # not by way of _wall_us: saq asks for each job at each poll
    host = kernel.current
    return (EPOCH_US + kernel.time_us + (host.skew_us if host is not None else 0)) / 1_000_000


def _wall_ns() -> int:
    return _wall_us() * 1_000


def _monotonic() -> float:
    return current.kernel().time_us / 1_000_000


def _monotonic_ns() -> int:
    return current.kernel().time_us * 1_000


def _sleep(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    current.kernel().sleep(round(seconds * 1_000_000))


class _VirtualDatetime(dt.datetime):
    """A datetime whose `now` is virtual."""

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Self:
        return cls.fromtimestamp(_wall(), tz)

    @classmethod
    def utcnow(cls) -> Self:
        return cls.now(dt.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> Self:
        return cls.now()


# --- what a real machine draws --------------------------------------------------------------------


def _next_draw() -> tuple[int, int]:
    """Number of the host whose code runs, and a counter of its own."""
    host = current.host()
    host.draws += 1
    return host.number, host.draws


def _uuid1(*_args: object, **_kwargs: object) -> uuid.UUID:
    host, draw = _next_draw()
    return uuid.UUID(int=draw << 96 | 1 << 76 | 8 << 60 | host)


def _uuid4() -> uuid.UUID:
    host, draw = _next_draw()
    return uuid.UUID(int=draw << 96 | 4 << 76 | 8 << 60 | host)


def _urandom(size: int) -> bytes:
    kernel, host = current.kernel(), current.host()
    host.draws += 1
    name = (host.short, "bytes", host.draws)
    parts = [kernel.tape.choose((*name, place), _PART) for place in range(-(-size // 6))]
    return b"".join(part.to_bytes(6, "big") for part in parts)[:size]


class _TapeRandom(random.Random):
    """`random`, drawn from the tape in the name of the host whose code runs."""

    def __init__(self) -> None:
        super().__init__(0)

    def seed(self, *_args: object, **_kwargs: object) -> None:
        """Nobody seeds it: the tape does."""

    def random(self) -> float:
        host = current.host()
        host.draws += 1
        return current.kernel().tape.draw_fraction((host.short, "random", host.draws))

    def getrandbits(self, bits: int) -> int:
        return int.from_bytes(_urandom((bits + 7) // 8), "big") >> (-bits % 8)


def _pid() -> int:
    host = current.kernel().current
    return host.pid if host is not None else 1


def _python_version() -> str:
    """The minor version alone: equal runs give equal histories within it."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


# --- saq's own modules ----------------------------------------------------------------------------


class _CountedQueue(asyncio.Queue[Any]):
    """saq's multiplexer iterates a set of queues."""

    _number: int

    def __hash__(self) -> int:
        try:
            return self._number
        except AttributeError:
            self._number = number = current.kernel().next_number()
            return number


class _Asyncio:
    """asyncio, with queues that hash by a number."""

    Queue = _CountedQueue

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)


def _say(text: str) -> None:
    current.host().say(text)


# --- what cannot be simulated ---------------------------------------------------------------------


def _refused(what: str) -> Callable[..., NoReturn]:
    def refuse(*_args: object, **_kwargs: object) -> NoReturn:
        kernel = current.kernel()
        host = kernel.current.name if kernel.current is not None else "the simulator"
        reason = f"{host} asked for {what}, which cannot be simulated: run this in the live world"
        kernel.stop("failed", reason)
        raise Unsimulated(reason)

    return refuse


# --- putting them in ------------------------------------------------------------------------------


_simulating: list[int] = [0]  # the thread that does


def _of_this_thread(virtual: Callable[..., Any], real: Callable[..., Any]) -> Any:
    """`virtual` for the thread that simulates, `real` for any other one."""
    get_ident = threading.get_ident
    simulating = _simulating

    def either(*args: Any, **kwargs: Any) -> Any:
        return (virtual if get_ident() == simulating[0] else real)(*args, **kwargs)

    return either


# What other threads of this process must not see.
_GUARDED: tuple[Patch, ...] = (
    (time, "time", _wall),
    (time, "time_ns", _wall_ns),
    (time, "monotonic", _monotonic),
    (time, "monotonic_ns", _monotonic_ns),
    (time, "perf_counter", _monotonic),
    (time, "perf_counter_ns", _monotonic_ns),
    (time, "sleep", _sleep),
    (uuid, "uuid1", _uuid1),
    (uuid, "uuid4", _uuid4),
    (os, "urandom", _urandom),
    (os, "getpid", _pid),
    (platform, "python_version", _python_version),
    (asyncio, "new_event_loop", _refused("an event loop of its own")),
    (asyncio.events, "new_event_loop", _refused("an event loop of its own")),
    (socket, "socketpair", _refused("a socket")),
    (socket.socket, "__init__", _refused("a socket")),
    (threading.Thread, "start", _refused("a thread")),
    (subprocess.Popen, "__init__", _refused("a process")),
    (os, "fork", _refused("a process (fork)")),
    (os, "system", _refused("a process (system)")),
    (os, "posix_spawn", _refused("a process (posix_spawn)")),
    (os, "kill", _refused("a signal to a process")),  # a host's pid is not a real one
    (os, "killpg", _refused("a signal to a process")),
    (signal, "signal", _refused("a signal handler of the whole process")),
    (concurrent.futures, "wait", _refused("concurrent.futures.wait")),
    (concurrent.futures, "as_completed", _refused("concurrent.futures.as_completed")),
)
_RANDOM = (
    "betavariate", "choice", "choices", "expovariate", "gauss", "getrandbits", "lognormvariate",
    "normalvariate", "paretovariate", "randbytes", "randint", "random", "randrange", "sample",
    "seed", "shuffle", "triangular", "uniform", "vonmisesvariate", "weibullvariate",
)  # fmt: skip
_drawn = _TapeRandom()
_PATCHES: tuple[Patch, ...] = (
    *((owner, name, _of_this_thread(new, getattr(owner, name))) for owner, name, new in _GUARDED),
    *((random, name, getattr(_drawn, name)) for name in _RANDOM),
    (saq.utils, "random", _drawn.random),
    (saq.worker, "datetime", _VirtualDatetime),
    (saq.worker, "ThreadPoolExecutor", SimPool),
    (concurrent.futures, "ThreadPoolExecutor", SimPool),
    (saq.multiplexer, "asyncio", _Asyncio()),
    (worker_host, "say", _say),
)


@contextmanager
def installed(kernel: Kernel) -> Iterator[None]:
    """Everything above holds for this thread until the block is left.

    Raises:
        RuntimeError: a simulation runs in this process already.
    """
    if current.is_set():
        raise RuntimeError("one simulation at a time in one process")
    undo: list[Patch] = []
    hooks = sys.get_asyncgen_hooks()
    current.set_kernel(kernel)
    _simulating[0] = threading.get_ident()
    try:
        for owner, name, value in _PATCHES:
            undo.append((owner, name, getattr(owner, name)))
            setattr(owner, name, value)
        sys.set_asyncgen_hooks(*_generator_hooks(kernel))
        with _quiet_logger():
            yield
    finally:
        sys.set_asyncgen_hooks(*hooks)
        while undo:
            owner, name, original = undo.pop()
            setattr(owner, name, original)
        current.set_kernel(None)


@contextmanager
def _quiet_logger() -> Iterator[None]:
    """saq's error records reach the probes' filters, which go with the run; nothing is printed."""
    logger = logging.getLogger("saq")
    before = logger.handlers, logger.filters, logger.propagate
    logger.handlers, logger.filters, logger.propagate = [logging.NullHandler()], [], False
    try:
        yield
    finally:
        logger.handlers, logger.filters, logger.propagate = before


GeneratorHook = Callable[[AsyncGenerator[Any, Any]], None]


def _generator_hooks(kernel: Kernel) -> tuple[GeneratorHook, GeneratorHook]:
    """An async generator that is let go of is closed by the loop that began it, as in asyncio."""
    loops: dict[int, HostLoop] = {}

    def first(generator: AsyncGenerator[Any, Any]) -> None:
        if kernel.current is not None:
            loops[id(generator)] = kernel.current.loop

    def last(generator: AsyncGenerator[Any, Any]) -> None:
        loop = loops.pop(id(generator), None)
        if loop is not None and not loop.is_closed():
            loop.call_soon(_close_generator, loop, generator)

    return first, last


def _close_generator(loop: HostLoop, generator: AsyncGenerator[Any, Any]) -> None:
    loop.create_task(generator.aclose())
