"""Sync functions in the pool of a simulated host: they take virtual time, and no cancel."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
import time
from typing import Any

from stage import Stage, report

from chaos.sim.host import SimHost
from chaos.sim.pool import SimPool

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="")


def threads_take_virtual_time_side_by_side() -> Any:
    stage = Stage()

    def body(seconds: float) -> float:
        stage.note("began")
        time.sleep(seconds)
        stage.note(f"slept {seconds}")
        return seconds

    async def main(host: SimHost) -> None:
        pool = SimPool()
        futures = [asyncio.wrap_future(pool.submit(body, s)) for s in (0.003, 0.001, 0.002)]
        await asyncio.sleep(0.0015)
        stage.note("the loop goes on")
        stage.note(await asyncio.gather(*futures))

    return stage.run(stage.host("a", main))


def work_waits_for_a_free_thread() -> Any:
    stage = Stage()

    def body(name: str) -> None:
        time.sleep(0.002)
        stage.note(name)

    async def main(host: SimHost) -> None:
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            for name in "abcde":
                pool.submit(body, name)
            stage.note("submitted")
        stage.note("left the block")

    return stage.run(stage.host("h", main))


def a_shutdown_that_waits_blocks_the_loop() -> Any:
    stage = Stage()

    def body() -> None:
        time.sleep(0.005)
        stage.note("body ended")

    async def main(host: SimHost) -> None:
        pool = SimPool(1)
        first, second = pool.submit(body), pool.submit(body)
        await asyncio.sleep(0.001)
        asyncio.get_running_loop().call_later(0.001, stage.note, "held up")
        pool.shutdown(True, cancel_futures=True)
        stage.note([first.done(), second.cancelled()])
        try:
            pool.submit(body)
        except RuntimeError as error:
            stage.note(str(error))
        await asyncio.sleep(0)

    async def other(host: SimHost) -> None:
        await asyncio.sleep(0.003)
        stage.note("another host")

    stage.host("b", other)
    return stage.run(stage.host("a", main))


def a_cancel_does_not_reach_a_thread() -> Any:
    stage = Stage()

    def body() -> None:
        time.sleep(0.005)
        stage.note("body ended")

    async def main(host: SimHost) -> None:
        task = asyncio.get_running_loop().run_in_executor(None, body)
        await asyncio.sleep(0.001)
        task.cancel()
        stage.note("cancelled")
        await asyncio.sleep(0.01)

    return stage.run(stage.host("a", main))


def results_and_errors_come_back() -> Any:
    stage = Stage()

    def no_loop_here() -> str:
        try:
            asyncio.get_running_loop()
        except RuntimeError as error:
            return f"{VARIABLE.get()}: {error}"
        return "a loop"

    def fail() -> None:
        raise KeyError("mine")

    async def main(host: SimHost) -> None:
        VARIABLE.set("context")
        stage.note(await asyncio.to_thread(no_loop_here))
        try:
            await asyncio.to_thread(fail)
        except KeyError as error:
            stage.note(repr(error))
        pool = SimPool()
        work = pool.submit(time.sleep, 0.002)
        stage.note(work.result())  # blocks the loop, as it would
        slow = pool.submit(time.sleep, 1)
        try:
            slow.result(timeout=0.003)
        except concurrent.futures.TimeoutError:
            stage.note("timed out")

    return stage.run(stage.host("a", main))


def a_killed_host_takes_its_threads_along() -> Any:
    stage = Stage()
    ended: list[str] = []

    def body() -> None:
        try:
            time.sleep(1)
            stage.note("a body of a killed host")
        except BaseException as error:
            ended.append(type(error).__name__)
            raise

    async def main(host: SimHost) -> None:
        await asyncio.to_thread(body)

    async def other(host: SimHost) -> None:
        await asyncio.sleep(2)
        stage.note("later")

    victim = stage.host("b", main)
    stage.at(3, victim.signal, 9)
    return [stage.run(stage.host("a", other)), ended, threading.active_count()]


def a_paused_host_pauses_its_threads() -> Any:
    stage = Stage()

    def body() -> None:
        for _ in range(3):
            time.sleep(0.002)
            stage.note("beat")

    async def main(host: SimHost) -> None:
        await asyncio.to_thread(body)

    host = stage.host("a", main)
    stage.at(3, host.pause)
    stage.at(9, host.resume)
    return stage.run(host)


if __name__ == "__main__":
    report(
        threads_take_virtual_time_side_by_side,
        work_waits_for_a_free_thread,
        a_shutdown_that_waits_blocks_the_loop,
        a_cancel_does_not_reach_a_thread,
        results_and_errors_come_back,
        a_killed_host_takes_its_threads_along,
        a_paused_host_pauses_its_threads,
    )
