"""One worker or producer process, from its config to its exit code.

    config ─► recorder ─► connection guard ─► app ─► queue, worker ─► probe ─► worker.start() ─► end

The order matters: the guard stands before the app is imported, and saq and redis-py are imported
before the app's folder is on the path, so that no file of the app can take their place. The first
record says what runs here, the last one what the queue itself counted. A process that cannot start
says why in one line on stderr and exits with 4.

It does not restart, judge or report anything, and it stops as saq does: saq's own signal handlers
take SIGTERM once the worker runs. Before the first record SIGTERM simply ends the process.
"""

from __future__ import annotations

import asyncio
import ctypes
import functools
import inspect
import logging
import os
import platform
import signal
import sys
from collections.abc import Sequence
from typing import Any, Protocol

import redis
import saq
from saq.queue.redis import RedisQueue

from . import app, bodies, guard, patches, probe, producer
from .config import (
    Config,
    HostError,
    describe,
    describe_with_place,
    read_config,
    say,
    seconds_to_us,
    whole,
)
from .events import Kind
from .recorder import Recorder, Sink

STARTUP_FAILED = 4
INTERRUPTED = 130
DISCONNECT_S_MAX = 2.0
DEADLINE_S_DEFAULT = 1.0
PR_SET_PDEATHSIG = 1


def main(arguments: Sequence[str]) -> int:
    """Run the process that the config file (the only argument) describes; its exit code."""
    try:
        if len(arguments) != 1:
            raise HostError("give the path of one config file")
        _run(read_config(arguments[0]))
    except HostError as error:
        say(str(error))
        return STARTUP_FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _run(config: Config) -> None:
    _die_with_parent()
    try:
        recorder = Recorder(config.events, on_full=_end_at_once)
    except OSError as error:
        raise HostError(f"cannot record to {config.events}: {error.strerror}") from error
    try:
        guard.install(config.redis_url)
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)  # before Python 3.10 an app's locks are bound to it here
        settings = _settings(config)
        asyncio.set_event_loop(loop)  # an app that calls asyncio.run() has taken it away
        logging.basicConfig(level=logging.WARNING)  # does nothing if the app has set logging up
        run = run_worker if config.role == "worker" else _run_producer
        loop.run_until_complete(run(config, settings, recorder))
    finally:
        recorder.close()


def _settings(config: Config) -> dict[str, Any]:
    """saq's settings for this process, its queue connected to the run's Redis."""
    if config.app_path is not None:
        app.add_to_path(config.app_path)
    if config.app is None:
        name = app.marked(config.queue, config.mark)
        queue = RedisQueue.from_url(config.redis_url, name=name)
        return {"queue": queue, "functions": bodies.FUNCTIONS}
    settings = app.load_settings(config.app)
    if settings.get("queue") is None:
        settings["queue"] = RedisQueue.from_url(config.redis_url)
    app.take_over(settings["queue"], config.redis_url, config.mark)
    return settings


# --- the worker -----------------------------------------------------------------------------------


class Events(Sink, Protocol):
    """Where a host's events go: its recorder, or the simulator's list."""

    def record_fields(self, kind: int, job: str = "", attempt: int = 0, **fields: Any) -> None:
        """Append one of the rarer events, field by field."""


async def run_worker(config: Config, settings: dict[str, Any], recorder: Events) -> None:
    """A worker's life in the running loop, in both worlds.

    Raises:
        HostError: it cannot be made, or does not start.
    """
    worker = make_worker(config, settings)
    queue = worker.queue
    told_to_stop = hear_signals()
    recorder.record_fields(Kind.HOST_BEGAN, **_what_runs(config, worker))
    probe.PROCESS.set(probe.install_worker(worker, recorder, config.salt))
    app.mark_keys(queue, config.mark)
    await queue.connect()
    try:
        if not told_to_stop.is_set():
            await worker.start()
    except Exception as error:
        raise HostError(f"the worker did not start: {describe_with_place(error)}") from error
    finally:
        await disconnect(queue)
    record_end(queue, recorder)


def make_worker(config: Config, settings: dict[str, Any]) -> Any:
    """saq's Worker with the settings, the plan's overrides, and no argument that it does not know.

    Raises:
        HostError: the patch cannot be loaded, or a setting of the app is unknown to this saq.
    """
    try:
        worker_class = patches.worker_class(config.patch)
    except Exception as error:
        raise HostError(
            f"patch {config.patch!r} cannot be used: {describe_with_place(error)}"
        ) from error
    known = _arguments_of(worker_class)
    unknown = sorted(set(settings) - known)
    if unknown:
        raise HostError(
            f"the app's settings have {', '.join(unknown)}, which saq {saq.__version__} does not"
            f" know: it takes {', '.join(sorted(known))}"
        )
    given = {**settings, **_overrides(config, settings)}
    try:
        return worker_class(**{name: value for name, value in given.items() if name in known})
    except Exception as error:
        raise HostError(f"saq's Worker refused its settings: {describe(error)}") from error


def _overrides(config: Config, settings: dict[str, Any]) -> dict[str, Any]:
    """What the plan says; where it says nothing, the app's own or saq's value stands."""
    timers = {name: whole(value) for name, value in (config.timers or {}).items()}
    overrides = {
        "concurrency": config.concurrency,
        "timers": {**(settings.get("timers") or {}), **timers} or None,
        "shutdown_grace_period_s": None if config.grace_s is None else whole(config.grace_s),
        "cancellation_hard_deadline_s": config.deadline_s,
    }
    return {name: value for name, value in overrides.items() if value is not None}


@functools.cache
def _arguments_of(worker_class: type[Any]) -> frozenset[str]:
    """What the class and, as long as they take `**kwargs`, its bases can be given by name."""
    names: list[str] = []
    for cls in worker_class.__mro__:
        if "__init__" not in cls.__dict__:
            continue
        parameters = inspect.signature(cls.__dict__["__init__"]).parameters.values()
        names += [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return frozenset(names) - {"self"}


def _what_runs(config: Config, worker: Any) -> dict[str, Any]:
    deadline = getattr(worker, "_cancellation_hard_deadline_s", DEADLINE_S_DEFAULT)
    return {
        **what_process(config),
        "worker_id": str(worker.id),
        "patch": config.patch,
        "concurrency": worker.concurrency,
        "abort_us": seconds_to_us(worker.timers["abort"]),
        "grace_us": seconds_to_us(getattr(worker, "_shutdown_grace_period_s", None)),
        "deadline_us": seconds_to_us(deadline),
    }


# --- the producer ---------------------------------------------------------------------------------


async def _run_producer(config: Config, settings: dict[str, Any], recorder: Events) -> None:
    queue = settings["queue"]
    told_to_stop = hear_signals()
    recorder.record_fields(Kind.HOST_BEGAN, **what_process(config))
    made = await make_producer(config, settings, recorder)
    try:
        await made.serve(told_to_stop)
    finally:
        await disconnect(queue)
    record_end(queue, recorder)


async def make_producer(
    config: Config, settings: dict[str, Any], recorder: Events
) -> producer.Producer:
    """A producer on its probed and connected queue."""
    queue = settings["queue"]
    probe.PROCESS.set(probe.install_queue(queue, recorder, config.salt))
    app.mark_keys(queue, config.mark)
    await queue.connect()
    return producer.Producer(queue, recorder, app.function_names(settings), config.mark)


# --- both -----------------------------------------------------------------------------------------


def hear_signals() -> asyncio.Event:
    """Set once SIGTERM or SIGINT comes: a process that has said that it is up ends in good order.

    saq's own handlers take its place at the beginning of `worker.start()`. The event loop gives a
    signal to whoever is there when it comes to it, so that none falls between the two.
    """
    told_to_stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told_to_stop.set)
    return told_to_stop


def what_process(config: Config) -> dict[str, Any]:
    """The fields of a host-began event that every host has."""
    return {
        "role": config.role,
        "pid": os.getpid(),
        "python": platform.python_version(),
        "saq": str(saq.__version__),
        "redis_py": str(redis.__version__),
    }


def record_end(queue: Any, recorder: Events) -> None:
    """The last record: what the queue itself counted."""
    recorder.record_fields(
        Kind.HOST_ENDED,
        complete=queue.complete,
        failed=queue.failed,
        retried=queue.retried,
        aborted=queue.aborted,
    )


async def disconnect(queue: Any) -> None:
    """As saq's own start does it, but a server that is gone or frozen does not hold us up."""
    try:
        await asyncio.wait_for(queue.disconnect(), DISCONNECT_S_MAX)
    except Exception as error:
        say(f"disconnecting: {describe(error)}")


def _die_with_parent() -> None:
    """Ask the kernel to end this process with its parent, should the launcher not have done so."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_at_once(error: OSError) -> None:
    """The recorder has no room: what happened from here on could not be told, so nothing may."""
    say(f"cannot record any more: {error.strerror}")
    os._exit(STARTUP_FAILED)
