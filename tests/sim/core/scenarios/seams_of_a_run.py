"""What code under test reads of its machine, inside a run, and that all of it is put back."""

from __future__ import annotations

import asyncio
import concurrent.futures
import datetime as dt
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import saq.multiplexer
import saq.utils
import saq.worker
from stage import Stage, report

from chaos.sim import seams
from chaos.sim.host import SimHost

WATCHED: tuple[tuple[Any, str], ...] = tuple((owner, name) for owner, name, _ in seams._PATCHES)


def what_a_host_reads() -> Any:
    stage = Stage()

    async def main(host: SimHost) -> None:
        await asyncio.sleep(0.0015)
        stage.note([time.time(), time.time_ns() % 10**9, time.monotonic(), time.perf_counter()])
        stage.note([saq.utils.now(), saq.utils.now_seconds()])
        stage.note(str(saq.worker.datetime.now(dt.UTC)))
        stage.note([str(uuid.uuid1()), str(uuid.uuid4()), saq.utils.uuid1(), os.getpid()])
        stage.note([random.random(), saq.utils.random(), random.uniform(0, 2), random.choice("ab")])
        stage.note([len(secrets.token_hex(4)), os.urandom(3).hex()])

    skewed = stage.host("b", main)
    skewed.skew_us = 2_000_000
    stage.run(stage.host("a", main), skewed)
    return {name: [n[2] for n in stage.notes if n[1] == name] for name in ("a", "b")}


def draws_come_from_the_tape() -> Any:
    def drawn(tape: dict[str, int]) -> Any:
        stage = Stage(tape)

        async def main(host: SimHost) -> None:
            stage.note([random.random(), random.randint(1, 10), random.random()])

        return stage.run(stage.host("v/w-1.1", main))[0][2]

    return [drawn({}), drawn({"w-1.1|random|1": 250_000, "w-1.1|random|3": 999_999})]


def what_cannot_be_simulated_ends_the_run_by_name() -> Any:
    def asked(ask: Callable[[], Any]) -> Any:
        stage = Stage()

        async def main(host: SimHost) -> None:
            try:
                ask()
            except NotImplementedError as error:
                stage.note(str(error))
            await asyncio.sleep(1)

        found = stage.run(stage.host("v/w-1.1", main))
        return [found["stuck"], found["reason"], [note[2] for note in found["notes"]]]

    return {
        "socket": asked(socket.socket),
        "connection": asked(lambda: socket.create_connection(("127.0.0.1", 1))),
        "thread": asked(lambda: threading.Thread(target=print).start()),
        "process": asked(lambda: subprocess.run(["true"], check=False)),
        "fork": asked(lambda: os.fork()),  # noqa: PLW0108 - looked up when it runs
        "system": asked(lambda: os.system("true")),
        "signal": asked(lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)),
        "wait": asked(lambda: concurrent.futures.wait([])),
        "loop": asked(lambda: asyncio.new_event_loop()),  # noqa: PLW0108 - the same
    }


def everything_is_put_back() -> Any:
    before = [getattr(owner, name) for owner, name in WATCHED]
    hooks = sys.get_asyncgen_hooks()

    async def main(host: SimHost) -> None:
        await asyncio.sleep(1)

    stage = Stage()
    stage.run(stage.host("a", main))
    after_a_run = [getattr(owner, name) for owner, name in WATCHED]
    stage = Stage()
    try:
        with seams.installed(stage.kernel):
            within = [getattr(owner, name) for owner, name in WATCHED]
            raise LookupError
    except LookupError:
        pass
    after_an_error = [getattr(owner, name) for owner, name in WATCHED]
    return {
        "replaced": [a is b for a, b in zip(before, within, strict=True)].count(True),
        "after a run": after_a_run == before,
        "after an error": after_an_error == before,
        "hooks": sys.get_asyncgen_hooks() == hooks,
        "time is real": time.time() > 1_767_225_600 and time.monotonic() > 0,
    }


def other_threads_see_the_real_machine() -> Any:
    stage = Stage()
    seen: list[float] = []
    asked, answered = threading.Event(), threading.Event()

    def watch() -> None:
        asked.wait(10)
        seen.append(time.monotonic())
        time.sleep(0)
        answered.set()

    thread = threading.Thread(target=watch)
    thread.start()
    real = time.monotonic()

    async def main(host: SimHost) -> None:
        asked.set()
        answered.wait(10)
        stage.note(time.monotonic())

    notes = stage.run(stage.host("a", main))
    thread.join()
    return [notes, seen[0] >= real]


def one_run_at_a_time() -> Any:
    stage = Stage()
    with seams.installed(stage.kernel):
        try:
            with seams.installed(stage.kernel):
                return "two"
        except RuntimeError as error:
            return str(error)


def queues_of_the_multiplexer_are_counted() -> Any:
    stage = Stage()

    async def main(host: SimHost) -> None:
        queues = {saq.multiplexer.asyncio.Queue() for _ in range(50)}
        hashes = [hash(queue) for queue in queues]
        stage.note(hashes == sorted(hashes))
        stage.note(saq.multiplexer.asyncio.TimeoutError is asyncio.TimeoutError)

    return [what for _, _, what in stage.run(stage.host("a", main))]


if __name__ == "__main__":
    report(
        what_a_host_reads,
        draws_come_from_the_tape,
        what_cannot_be_simulated_ends_the_run_by_name,
        everything_is_put_back,
        other_threads_see_the_real_machine,
        one_run_at_a_time,
        queues_of_the_multiplexer_are_counted,
    )
