"""Two attempts of one key in one worker: `patches.py PATCH URL` prints what each scenario gave."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from typing import Any

import stage
from stage import Stage, make_stage, until


def held(s: Stage) -> int:
    """Contexts that the worker's mapping holds, an attempt's own view included."""
    own = getattr(getattr(s.worker, "_attempts", None), "_own", {})
    return len(s.worker.job_task_contexts) + len(own)


async def overwritten_then_first_ends(patch: str, url: str) -> dict[str, Any]:
    """The seed bug: B registers over A; A ends first; then B ends."""
    s = await make_stage(patch, url, "seed")
    await s.queue.enqueue("hold", key="k", timeout=0, retries=5)
    first = await s.begin()
    await s.stale_retry("k")
    second = await s.begin()
    s.bodies[0].go.set()
    await first
    slots = len(s.worker.job_task_contexts)
    s.bodies[1].go.set()
    await second
    return {
        "errors": s.log.types,
        "slots while B runs": slots,
        "held after": held(s),
        "status": await s.status("k"),
    }


async def overwritten_then_second_ends(patch: str, url: str) -> dict[str, Any]:
    """B registers over A; B ends first; then A ends."""
    s = await make_stage(patch, url, "second")
    await s.queue.enqueue("hold", key="k", timeout=0, retries=5)
    first = await s.begin()
    await s.stale_retry("k")
    second = await s.begin()
    s.bodies[1].go.set()
    await second
    slots = len(s.worker.job_task_contexts)
    s.bodies[0].go.set()
    await first
    return {
        "errors": s.log.types,
        "slots while A runs": slots,
        "held after": held(s),
    }


async def abort_of_two(patch: str, url: str) -> dict[str, Any]:
    """Both attempts run; the key is aborted: which bodies does the cancel reach?"""
    s = await make_stage(patch, url, "abort")
    await s.queue.enqueue("hold", key="k", timeout=0, retries=5)
    first = await s.begin()
    await s.stale_retry("k")
    second = await s.begin()
    finishes: list[str] = []
    finish_abort = s.queue.finish_abort

    async def counted(job: Any) -> None:
        finishes.append(job.key)
        await finish_abort(job)

    s.queue.finish_abort = counted
    reads: list[list[str]] = []
    jobs = s.queue.jobs

    async def read(keys: Any) -> Any:
        reads.append(list(keys))
        return await jobs(reads[-1])

    s.queue.jobs = read
    await s.queue.abort(await s.queue.job("k"), "stop it")
    await s.worker.abort(0)
    aborted = [context["aborted"] for context in s.worker.job_task_contexts.values()]
    for body in s.bodies:
        body.go.set()
    await asyncio.gather(first, second)
    return {
        "cancels": [body.cancels for body in s.bodies],
        "reads": reads,
        "finish_abort": finishes,
        "marks left": aborted,
        "errors": s.log.types,
        "held after": held(s),
        "status": await s.status("k"),
    }


async def abort_after_a_stale_attempt_retried(patch: str, url: str) -> dict[str, Any]:
    """A retries its own Job (which zeroes `started`) while B has the slot: is B still polled?"""
    s = await make_stage(patch, url, "polled")
    await s.queue.enqueue("hold", key="k", timeout=0, retries=5)
    first = await s.begin()
    await s.stale_retry("k")
    second = await s.begin()
    await s.queue.retry(s.bodies[0].job, "stale")
    await s.queue.abort(await s.queue.job("k"), "stop it")
    await asyncio.sleep(0.02)
    await s.worker.abort(0.01)
    for body in s.bodies:
        body.go.set()
    await asyncio.gather(first, second)
    return {"cancels of B": s.bodies[1].cancels}


async def abort_below_the_threshold(patch: str, url: str) -> dict[str, Any]:
    """An attempt that has not run for the threshold is left alone."""
    s = await make_stage(patch, url, "threshold")
    await s.queue.enqueue("hold", key="k", timeout=0)
    task = await s.begin()
    await s.queue.abort(await s.queue.job("k"), "stop it")
    await s.worker.abort(60)
    s.bodies[0].go.set()
    await task
    return {"cancels": s.bodies[0].cancels}


async def abort_of_nothing(patch: str, url: str) -> dict[str, Any]:
    """Nothing is aborted: the job is read, and goes on."""
    s = await make_stage(patch, url, "nothing")
    await s.queue.enqueue("hold", key="k", timeout=0)
    task = await s.begin()
    await s.worker.abort(0)
    s.bodies[0].go.set()
    await task
    return {"cancels": s.bodies[0].cancels, "status": await s.status("k")}


async def second_fails_before_it_registers(patch: str, url: str) -> dict[str, Any]:
    """B's before_process raises while A runs: A's context and A itself stay."""
    calls: list[str] = []

    async def before(ctx: dict[str, Any]) -> None:
        calls.append(ctx["job"].key)
        if len(calls) == 2:
            raise ValueError("no")

    s = await make_stage(patch, url, "hook", before_process=before)
    await s.queue.enqueue("hold", key="k", timeout=0, retries=1)
    first = await s.begin()
    await s.stale_retry("k")
    await s.worker.process()
    slots = len(s.worker.job_task_contexts)
    s.bodies[0].go.set()
    await first
    return {
        "cancels of A": s.bodies[0].cancels,
        "slots while A runs": slots,
        "errors": s.log.types,
        "held after": held(s),
    }


async def cancelled_before_it_registers(patch: str, url: str) -> dict[str, Any]:
    """process() is cancelled while before_process runs (a SIGTERM does that)."""
    waiting = asyncio.Event()

    async def before(ctx: dict[str, Any]) -> None:
        waiting.set()
        await asyncio.Event().wait()

    s = await make_stage(patch, url, "cancelled", before_process=before)
    await s.queue.enqueue("hold", key="k", timeout=0)
    task = asyncio.create_task(s.worker.process(), name="process")
    await waiting.wait()
    task.cancel()
    result = (await asyncio.gather(task, return_exceptions=True))[0]
    said = type(result).__name__ if isinstance(result, BaseException) else result
    return {"process": said, "held after": held(s)}


async def cancelled_while_it_runs(patch: str, url: str) -> dict[str, Any]:
    """process() is cancelled: the body ends, the job is retried, nothing is held."""
    s = await make_stage(patch, url, "running")
    await s.queue.enqueue("hold", key="k", timeout=0)
    task = await s.begin()
    task.cancel()
    result = await task
    return {
        "process": result,
        "cancels": s.bodies[0].cancels,
        "status": await s.status("k"),
        "held after": held(s),
    }


async def timed_out(patch: str, url: str) -> dict[str, Any]:
    """A job past its timeout is cancelled and failed."""
    s = await make_stage(patch, url, "timeout")
    await s.queue.enqueue("hold", key="k", timeout=0.05)
    task = await s.begin()
    await task
    return {
        "errors": s.log.types,
        "cancels": s.bodies[0].cancels,
        "status": await s.status("k"),
        "held after": held(s),
    }


async def idle(patch: str, url: str) -> dict[str, Any]:
    """After its jobs a worker holds neither their Jobs nor their tasks."""
    s = await make_stage(patch, url, "idle")
    kept: list[weakref.ref[Any]] = []
    for number in range(3):
        await s.queue.enqueue("hold", key=f"k{number}", timeout=0)
        task = await s.begin()
        context = next(iter(s.worker.job_task_contexts.values()))
        kept += [weakref.ref(s.bodies[-1].job), weakref.ref(context["task"]), weakref.ref(task)]
        s.bodies[-1].go.set()
        await task
        s.bodies.clear()
        del task, context
    await asyncio.sleep(0)  # the loop lets go of the last task
    gc.collect()
    alive = [reference() for reference in kept if reference() is not None]
    return {"alive": len(alive), "held after": held(s)}


async def seen_from_outside(patch: str, url: str) -> dict[str, Any]:
    """What abort() and anybody else outside process() finds in the mapping."""
    s = await make_stage(patch, url, "outside")
    await s.queue.enqueue("hold", key="k", timeout=0, retries=5)
    first = await s.begin()
    await s.stale_retry("k")
    second = await s.begin()
    contexts = s.worker.job_task_contexts
    copy = await s.queue.job("k")
    tasks = [context["task"] for context in contexts.values()]
    found = {
        "jobs": [job.key for job in contexts],
        "is a copy in it": copy in contexts,
        "newest is the copy's": contexts.get(copy)["task"] is tasks[-1],
        "contexts": len(tasks),
    }
    for body in s.bodies:
        body.go.set()
    await asyncio.gather(first, second)
    return {**found, "after": contexts.get(copy, "gone")}


async def a_started_worker(patch: str, url: str) -> dict[str, Any]:
    """The real start() with its upkeep: an abort by the poll, then a clean stop."""
    s = await make_stage(
        patch, url, "started", timers={"abort": 0.01, "schedule": 1, "sweep": 1, "worker_info": 1}
    )
    await s.queue.enqueue("hold", key="k", timeout=0)
    running = asyncio.create_task(s.worker.start())
    await until(lambda: len(s.bodies) == 1)
    await s.queue.abort(await s.queue.job("k"), "stop it")
    await until(lambda: s.bodies[0].outcome)
    async with asyncio.timeout(stage.SECONDS):
        while await s.status("k") != "aborted":
            await asyncio.sleep(0.001)
    await s.worker.stop()
    await running
    return {
        "outcome": s.bodies[0].outcome,
        "errors": s.log.types,
        "held after": held(s),
    }


SCENARIOS = (
    overwritten_then_first_ends,
    overwritten_then_second_ends,
    abort_of_two,
    abort_after_a_stale_attempt_retried,
    abort_below_the_threshold,
    abort_of_nothing,
    second_fails_before_it_registers,
    cancelled_before_it_registers,
    cancelled_while_it_runs,
    timed_out,
    idle,
    seen_from_outside,
    a_started_worker,
)


if __name__ == "__main__":
    stage.load_package()
    asyncio.run(stage.act(SCENARIOS, sys.argv[1], sys.argv[2]))
