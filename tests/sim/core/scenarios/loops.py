"""What an event loop of the simulator does, host by host."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from typing import Any

from stage import Stage, report

from chaos.sim.host import SimHost
from chaos.sim.loop import HostLoop


def callbacks_run_in_order() -> Any:
    stage = Stage()

    async def main(host: SimHost) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(0.002, stage.note, "later 2")
        loop.call_later(0.001, stage.note, "later 1")
        loop.call_at(0.0015, stage.note, "at 1.5")
        loop.call_soon(stage.note, "soon 1")
        loop.call_soon(stage.note, "soon 2").cancel()
        loop.call_later(0.001, stage.note, "cancelled").cancel()
        loop.call_soon_threadsafe(stage.note, "soon 3")
        await asyncio.sleep(0.0025)
        stage.note(f"{loop.time():.4f}")

    return stage.run(stage.host("a", main))


def asyncio_works_as_it_is() -> Any:
    stage = Stage()

    async def worker(queue: asyncio.Queue[int], room: asyncio.Semaphore) -> None:
        async with room:
            await asyncio.sleep(await queue.get() / 1000)
            stage.note("worked")

    async def main(host: SimHost) -> None:
        queue: asyncio.Queue[int] = asyncio.Queue(1)
        room, event = asyncio.Semaphore(1), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(worker(queue, room))
            group.create_task(worker(queue, room))
            await queue.put(5)
            await queue.put(7)
        try:
            await asyncio.wait_for(event.wait(), 0.01)
        except TimeoutError:
            stage.note("wait_for")
        try:
            async with asyncio.timeout(0.02):
                await asyncio.shield(event.wait())
        except TimeoutError:
            stage.note("timeout")
        sleeps = [asyncio.sleep(delay, delay) for delay in (0.003, 0.001, 0.002)]
        stage.note(await asyncio.gather(*sleeps))
        done, left = await asyncio.wait([asyncio.create_task(asyncio.sleep(1))], timeout=0.005)
        stage.note([len(done), len(left)])
        async with asyncio.Lock(), asyncio.Condition():
            stage.note("locked")

    return stage.run(stage.host("a", main))


def the_tape_says_who_runs_first() -> Any:
    def order(tape: dict[str, int]) -> list[str]:
        stage = Stage(tape)

        async def main(host: SimHost) -> None:
            stage.note("began")
            await asyncio.sleep(0.001)

        stage.host("a", main), stage.host("b", main)
        last = stage.host("c", main)
        stage.run(last)
        return [host for _, host, _ in stage.notes]

    return [order({}), order({"next|0|1": 2, "next|0|2": 2}), order({"next|0|2": 2})]


def each_host_has_its_own_running_loop() -> Any:
    stage = Stage()
    loops: dict[str, Any] = {}

    async def main(host: SimHost) -> None:
        for _ in range(3):
            await asyncio.sleep(0.001)
            task: Any = asyncio.current_task()
            running: Any = asyncio.get_running_loop()
            mine = running is host.loop and task.get_loop() is host.loop
            loops.setdefault(host.name, []).append(mine)

    stage.host("a", main)
    stage.run(stage.host("b", main))
    return [loops, asyncio.events._get_running_loop() is None]


def what_is_not_there_raises_by_name() -> Any:
    loop: Any = Stage().host("a").loop
    found = {}
    for name in sorted(vars(asyncio.AbstractEventLoop)):
        if name.startswith("_") or not getattr(HostLoop, name).__module__.endswith("loop"):
            continue
        method = getattr(HostLoop, name)
        if method.__qualname__ == f"HostLoop.{name}" or name == "call_soon_threadsafe":
            continue
        try:
            getattr(loop, name)()
        except NotImplementedError as error:
            found[name] = str(error)
    return found


def hashes_count_up() -> Any:
    stage = Stage()

    async def main(host: SimHost) -> None:
        tasks = {asyncio.create_task(asyncio.sleep(0), name=f"t{n}") for n in range(40)}
        futures = {asyncio.get_running_loop().create_future() for _ in range(40)}
        hashes = [hash(task) for task in tasks]
        stage.note([task.get_name() for task in tasks])
        stage.note(hashes == sorted(hashes))
        stage.note([hash(future) for future in futures] == sorted(map(hash, futures)))
        await asyncio.gather(*tasks)

    return [what for _, _, what in stage.run(stage.host("a", main))]


def a_blocking_sleep_blocks_one_host_only() -> Any:
    stage = Stage()

    async def blocker(host: SimHost) -> None:
        asyncio.get_running_loop().call_later(0.002, stage.note, "held up")
        time.sleep(0.005)  # noqa: ASYNC251 - that is what is tried
        stage.note(asyncio.current_task() is not None and time.monotonic())
        await asyncio.sleep(0.001)
        stage.note("end")

    async def other(host: SimHost) -> None:
        for _ in range(3):
            await asyncio.sleep(0.002)
            stage.note("beat")

    stage.host("b", other)
    return stage.run(stage.host("a", blocker))


def a_pause_holds_everything() -> Any:
    stage = Stage()

    async def main(host: SimHost) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(15, stage.note, "SIGTERM")
        for _ in range(4):
            await asyncio.sleep(0.002)
            stage.note("beat")

    host = stage.host("a", main)
    stage.at(3, host.pause)
    stage.at(5, host.signal, 15)
    stage.at(10, host.resume)
    return stage.run(host)


def a_killed_host_does_nothing_more() -> Any:
    stage = Stage()

    async def inner() -> None:
        try:
            await asyncio.sleep(1)
        finally:
            await asyncio.sleep(0)
            stage.note("a finally of a killed host")

    async def main(host: SimHost) -> None:
        asyncio.create_task(asyncio.sleep(0))  # noqa: RUF006 - not begun when the kill comes
        try:
            await asyncio.gather(inner(), inner())
        except BaseException:
            stage.note("an except of a killed host")
            raise

    async def other(host: SimHost) -> None:
        await asyncio.sleep(0.004)
        stage.note("goes on")

    victim = stage.host("b", main)
    stage.at(2, victim.signal, 9)
    notes = stage.run(stage.host("a", other))
    gc.collect()  # whatever it leaves behind says so on stderr
    return [notes, victim.code, victim.gone]


def signals_reach_their_handler_or_end_the_host() -> Any:
    stage = Stage()

    async def main(host: SimHost) -> None:
        loop = asyncio.get_running_loop()
        told = asyncio.Event()
        loop.add_signal_handler(15, told.set)
        await told.wait()
        stage.note([loop.remove_signal_handler(15), loop.remove_signal_handler(15)])
        await asyncio.sleep(1)

    host = stage.host("a", main)
    stage.at(1, host.signal, 15)
    stage.at(2, host.signal, 15)
    return [stage.run(host), host.code, stage.kernel.time_us]


def an_exception_ends_its_host() -> Any:
    def code(error: BaseException) -> list[Any]:
        stage = Stage()

        async def main(host: SimHost) -> None:
            raise error

        host = stage.host("a", main)
        stage.run(host)
        return [host.code, list(host.said)]

    return [code(ValueError("no")), code(SystemExit(3)), code(SystemExit("why"))]


def errors_of_callbacks_reach_the_handler() -> Any:
    stage = Stage()
    seen: list[str] = []

    def fail() -> None:
        raise ValueError("in a callback")

    async def main(host: SimHost) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(fail)
        await asyncio.sleep(0)
        loop.set_exception_handler(lambda _loop, context: seen.append(str(context["exception"])))
        loop.call_soon(fail)
        await asyncio.sleep(0)

    host = stage.host("a", main)
    stage.run(host)
    return [list(host.said), seen]


def async_generators_are_closed_by_their_loop() -> Any:
    stage = Stage()

    async def numbers() -> Any:
        try:
            for number in range(10):
                yield number
        finally:
            await asyncio.sleep(0.001)
            stage.note("closed")

    async def main(host: SimHost) -> None:
        async for number in numbers():
            if number == 2:
                break
        await asyncio.sleep(0.005)

    return [stage.run(stage.host("a", main)), list(sys.get_asyncgen_hooks())]


def many_steps_without_time_are_a_livelock() -> Any:
    stage = Stage()

    async def spin(host: SimHost) -> None:
        for _ in range(10**9):
            await asyncio.sleep(0)

    return stage.run(stage.host("a", spin))


def two_hosts_that_wake_each_other_are_a_livelock() -> Any:
    stage = Stage()

    def wake(other: SimHost) -> None:
        mine = stage.kernel.current
        other.loop.call_soon(wake, mine, context=other.context)

    a, b = stage.host("a"), stage.host("b")
    a.loop.call_soon(wake, b, context=a.context)
    found = stage.run(a, b)
    return found["stuck"]


def nobody_with_anything_to_do_is_a_deadlock() -> Any:
    stage = Stage()

    async def waits(host: SimHost) -> None:
        await asyncio.sleep(0.003)
        await asyncio.get_running_loop().create_future()

    return stage.run(stage.host("a", waits))


def limits_end_it() -> Any:
    async def long(host: SimHost) -> None:
        for _ in range(10**9):
            await asyncio.sleep(0.001)

    found = []
    for limits in ({"steps_max": 500}, {"until_us": 2_500}):
        stage = Stage(**limits)
        stuck = stage.run(stage.host("a", long))
        found.append([stuck["stuck"], stuck["reason"]])
    return found


def cancelled_timers_leave_the_heap() -> Any:
    stage = Stage(steps_at_once_max=50_000)
    sizes: list[int] = []

    async def main(host: SimHost) -> None:
        for _ in range(5_000):
            async with asyncio.timeout(1_000):
                await asyncio.sleep(0)
        sizes.append(len(stage.kernel._heap))
        await asyncio.sleep(0.001)

    stage.run(stage.host("a", main))
    return [sizes[0] <= 1_001, stage.kernel.time_us]


if __name__ == "__main__":
    report(
        callbacks_run_in_order,
        asyncio_works_as_it_is,
        the_tape_says_who_runs_first,
        each_host_has_its_own_running_loop,
        what_is_not_there_raises_by_name,
        hashes_count_up,
        a_blocking_sleep_blocks_one_host_only,
        a_pause_holds_everything,
        a_killed_host_does_nothing_more,
        signals_reach_their_handler_or_end_the_host,
        an_exception_ends_its_host,
        errors_of_callbacks_reach_the_handler,
        async_generators_are_closed_by_their_loop,
        many_steps_without_time_are_a_livelock,
        two_hosts_that_wake_each_other_are_a_livelock,
        nobody_with_anything_to_do_is_a_deadlock,
        limits_end_it,
        cancelled_timers_leave_the_heap,
    )
