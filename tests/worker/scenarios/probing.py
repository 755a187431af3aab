"""What the probe records: `probing.py PATCH URL [joined]` prints what each scenario gave."""

from __future__ import annotations

import asyncio
import functools
import gc
import json
import logging
import sys
import threading
import time
import weakref
from typing import Any

import probing_errors
import stage
from stage import make_stage, until, watch


async def one_job(patch: str, url: str) -> Any:
    """A job that does nothing, from enqueue to end: every event."""
    s = await make_stage(patch, url, "one")
    events = watch(s)
    await s.queue.enqueue("hold", key="k", timeout=0, retries=3)
    task = await s.begin()
    s.bodies[0].go.set()
    await task
    assert events.joined == (4 if stage.Events.takes_joined else 0)
    return events.plain()


async def seed_bug(patch: str, url: str) -> Any:
    """A is overwritten by B and ends first: every event, and the errors."""
    s = await make_stage(patch, url, "seed")
    events = watch(s)
    await s.queue.enqueue("hold", key="k", timeout=0, retries=5, stubborn=False)
    first = await s.begin()
    await s.stale_retry("k")
    second = await s.begin()
    s.bodies[0].go.set()
    await first
    s.bodies[1].go.set()
    await second
    return {"events": events.plain(), "errors": events.errors()}


async def aborted_by_the_poll(patch: str, url: str) -> Any:
    """A running job is aborted and the poll finds it: every event after the attempt began."""
    s = await make_stage(patch, url, "abort")
    events = watch(s)
    await s.queue.enqueue("hold", key="k", timeout=0)
    task = await s.begin()
    events.rows.clear()
    await s.queue.abort(await s.queue.job("k"), "stop it")
    await s.worker.abort(0)
    await task
    await s.worker.abort(0)
    return events.plain()


async def swept(patch: str, url: str) -> Any:
    """A stuck job without retries is swept: the sweep's calls name it as their parent."""
    s = await make_stage(patch, url, "sweep")
    events = watch(s)
    await s.queue.enqueue("hold", key="k", timeout=0, heartbeat=1)
    task = await s.begin()
    s.bodies[0].job.touched = 1
    await s.queue._update(s.bodies[0].job, status="active")
    events.rows.clear()
    await s.queue.sweep(lock=1, abort=0.01)
    await s.queue.sweep(lock=1, abort=0.01)
    s.bodies[0].go.set()
    await task
    return [line for line in events.plain() if line.startswith("call-")]


async def cancels_that_the_body_swallows(patch: str, url: str) -> Any:
    """A stubborn body gets two cancels: both are seen, with what its own context said then."""
    s = await make_stage(patch, url, "swallow", cancellation_hard_deadline_s=0.01)
    events = watch(s)
    await s.queue.enqueue("hold", key="k", timeout=0, stubborn=True)
    task = await s.begin()
    body = next(iter(s.worker.job_task_contexts.values()))["task"]
    body.cancel()
    await until(lambda: s.bodies[0].cancels == 1)
    context = next(iter(s.worker.job_task_contexts.values()))
    context["aborted"] = "because"
    body.cancel()
    await until(lambda: s.bodies[0].cancels == 2)
    context["aborted"] = None
    s.bodies[0].go.set()
    await task
    return [line for line in events.plain() if line.startswith(("body-", "process-"))]


async def a_thread_outlives_its_job(patch: str, url: str) -> Any:
    """A sync body past its job's timeout: its end is recorded in its thread, when it ends."""
    go = threading.Event()
    threads: list[str] = []

    def block(ctx: Any) -> str:
        threads.append(threading.current_thread().name)
        go.wait(stage.SECONDS)
        return "done"

    s = await make_stage(
        patch, url, "thread", functions=[("block", block)], cancellation_hard_deadline_s=0.01
    )
    events = watch(s)
    await s.queue.enqueue("block", key="k", timeout=0.05)
    await s.worker.process()
    before = [line for line in events.plain() if line.startswith(("body-", "process-"))]
    go.set()
    await until(lambda: events.of("BODY_ENDED"))
    return {
        "before it ended": before,
        "after": events.plain()[-1],
        "in the main thread": threads == [threading.main_thread().name],
    }


async def cancelled_while_it_waits(patch: str, url: str) -> Any:
    """A slot that waits for a job is cancelled."""
    s = await make_stage(patch, url, "waiting")
    events = watch(s)
    await s.queue.version()
    task = asyncio.create_task(s.worker.process(), name="process")
    await asyncio.sleep(0.02)
    task.cancel()
    return {"process returned": await task, "events": events.plain()}


async def enqueues(patch: str, url: str) -> Any:
    """Accepted, refused, failed, by a Job, and what their kwargs' digests say."""
    from saq.job import Job

    s = await make_stage(patch, url, "enqueue", functions=[("take", lambda ctx, **kwargs: None)])
    events = watch(s)
    await s.queue.enqueue("take", key="a", timeout=0)
    await s.queue.enqueue("take", key="a", timeout=0)
    await s.queue.enqueue(Job("take", key="b"), timeout=0)
    await asyncio.gather(s.queue.enqueue("take", key="c", bad=object()), return_exceptions=True)
    lines = events.plain()
    events.rows.clear()
    await s.queue.enqueue("take", key="d", x=(1, 2), y={2: "b", 10: "a"})
    digests = [events.of("CALL_RETURNED")[0][5].split("\x1f")[1]]
    for _ in range(3):
        await s.worker.process()
    digests.append(events.of("ATTEMPT_BEGAN")[-1][5].split("\x1f")[1])
    await s.queue.enqueue("take", key="e", x=[1, 2], y={"10": "a", "2": "b"})
    digests.append(events.of("CALL_RETURNED")[-1][5].split("\x1f")[1])
    await s.queue.enqueue("take", key="f", x=[1, 3])
    other = events.of("CALL_RETURNED")[-1][5].split("\x1f")[1]
    return {"lines": lines, "same": len(set(digests)), "other": other != digests[0]}


class CallableObject:
    """A function that is an object."""

    def __init__(self, ran: list[str]) -> None:
        self.ran = ran

    def __call__(self, ctx: Any) -> None:
        self.ran.append("object")


async def called_by_a_partial(ran: list[str], ctx: Any) -> None:
    ran.append("partial")


async def kinds_of_functions(patch: str, url: str) -> Any:
    """Names, tuples, callable objects, partials and cron functions work and keep their names."""
    from saq.job import CronJob

    ran: list[str] = []

    async def plain(ctx: Any) -> None:
        ran.append("plain")

    async def tick(ctx: Any) -> None:
        ran.append("tick")

    partial = functools.partial(called_by_a_partial, ran)
    functions = [plain, ("object", CallableObject(ran)), ("partial", partial)]
    cron_jobs = [CronJob(tick, cron="* * * * *")]
    s = await make_stage(patch, url, "kinds", functions=functions, cron_jobs=cron_jobs)
    before = {name: asyncio.iscoroutinefunction(f) for name, f in s.worker.functions.items()}
    events = watch(s)
    after = {name: asyncio.iscoroutinefunction(f) for name, f in s.worker.functions.items()}
    for name in (plain.__qualname__, "object", "partial", tick.__qualname__):
        await s.queue.enqueue(name, key=name, timeout=0)
        await s.worker.process()
    return {
        "ran": ran,
        "async as before": before == after,
        "names": s.worker.functions[plain.__qualname__].__qualname__ == plain.__qualname__,
        "bodies": [[row[1].rpartition(".")[2], row[6]] for row in events.of("BODY_BEGAN")],
        "blind": events.of("BLIND"),
    }


def _blind(events: stage.Events) -> list[list[str]]:
    found = [json.loads(row[5]) for row in events.of("BLIND")]
    return [[fields["what"], fields["reason"]] for fields in found]


def builds_that_hide_their_contexts() -> list[Any]:
    """Worker classes without the attribute, with a property, with a late or renamed one."""
    from saq.worker import Worker

    class Missing(Worker):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.contexts = self.job_task_contexts
            del self.job_task_contexts

    class Property(Worker):
        @property
        def job_task_contexts(self) -> Any:
            return self.__dict__.setdefault("_contexts", {})

        @job_task_contexts.setter
        def job_task_contexts(self, value: Any) -> None:
            self.__dict__["_contexts"] = value

    class Late(Worker):
        async def process(self) -> bool:
            self.job_task_contexts = {}
            return await super().process()

    class Renamed(Worker):
        async def process(self) -> bool:
            kept = self.job_task_contexts
            self.job_task_contexts, self.renamed = {}, kept
            try:
                return await super().process()
            finally:
                self.job_task_contexts = kept

    return [Missing, Property, Late, Renamed]


async def noop(ctx: Any) -> None:
    """A job that does nothing."""


async def observed_job(url: str, kind: Any, change: Any = None) -> list[list[str]]:
    """What the probe says it cannot see when a worker of this kind runs one job."""
    from saq.queue.redis import RedisQueue
    from saq_chaos_worker.probe import install_worker

    queue = RedisQueue.from_url(url, name="blind")
    await queue.redis.flushdb()
    events = stage.Events()
    worker = kind(queue, [("noop", noop)])
    install_worker(worker, events, "salt")
    if change is not None:
        change(worker)
    await queue.enqueue("noop", key="k", timeout=0)
    if hasattr(worker, "job_task_contexts"):
        await worker.process()
    return _blind(events)


async def blindness(patch: str, url: str) -> Any:
    """Builds that the probe cannot see into: each says so."""
    from saq.queue.redis import RedisQueue
    from saq.worker import Worker
    from saq_chaos_worker.probe import install_worker

    class Unfinished(RedisQueue):
        finish_abort = None

    found: dict[str, Any] = {}
    for kind in builds_that_hide_their_contexts():
        found[kind.__name__] = await observed_job(url, kind)
    events = stage.Events()
    queue = Unfinished.from_url(url, name="blind")
    install_worker(Worker(queue, [("noop", noop)]), events, "salt")
    found["Unfinished"] = _blind(events)
    found["functions replaced"] = await observed_job(
        url, Worker, lambda worker: worker.functions.update(noop=noop)
    )
    return found


async def a_started_worker(patch: str, url: str) -> Any:
    """start() to stop(): nothing is recorded of idle polls, and the stop is."""
    timers = {"abort": 0.01, "schedule": 1, "sweep": 60, "worker_info": 60}
    s = await make_stage(patch, url, "started", timers=timers)
    events = watch(s)
    running = asyncio.create_task(s.worker.start())
    await s.queue.enqueue("hold", key="k", timeout=0)
    await until(lambda: s.bodies)
    s.bodies[0].go.set()
    await until(lambda: events.of("PROCESS_ENDED"))
    s.worker.event.set()
    await running
    lines = events.plain()
    wanted = ("host-", "call-invoked poll", "upkeep-", "error-", "blind")
    return {
        "lines": [line for line in lines if line.startswith(wanted)],
        "cancelled dequeues": sum("dequeue cancelled" in line for line in lines),
    }


async def inside_a_body(patch: str, url: str) -> Any:
    """A heartbeat belongs to its attempt; a job that a body enqueues does not."""

    async def parent(ctx: Any) -> None:
        await ctx["job"].update()
        await ctx["job"].queue.enqueue("hold", key="child", timeout=0)

    s = await make_stage(patch, url, "inside", functions=[("parent", parent)])
    events = watch(s)
    await s.queue.enqueue("parent", key="k", timeout=0)
    events.rows.clear()
    await s.worker.process()
    return [line for line in events.plain() if line.startswith("call-")]


async def closed(patch: str, url: str) -> Any:
    """close() puts everything back, and a second install finds the first."""
    from saq_chaos_worker.probe import install_queue, install_worker

    s = await make_stage(patch, url, "closed", before_process=lambda ctx: None)
    before = [dict(vars(s.worker)), dict(vars(s.queue)), dict(s.worker.functions)]
    callbacks = dict(s.queue._before_enqueues)
    filters = list(logging.getLogger("saq").filters)
    events = watch(s)
    again = install_worker(s.worker, events, "salt")
    queue = install_queue(s.queue, events, "salt")
    s.probe.close()
    after = [dict(vars(s.worker)), dict(vars(s.queue)), dict(s.worker.functions)]
    return {
        "one probe": again is s.probe and queue is s.probe,
        "as before": before == after,
        "callbacks": s.queue._before_enqueues == callbacks,
        "filters": logging.getLogger("saq").filters == filters,
    }


async def idle(patch: str, url: str) -> Any:
    """The probe holds nothing of a job that has ended, and leaves no work for the collector."""

    def sync(ctx: Any) -> None:
        time.sleep(0)

    s = await make_stage(patch, url, "idle", functions=[("sync", sync)])
    watch(s)
    kept: list[weakref.ref[Any]] = []

    async def noop(ctx: Any) -> None:
        kept.append(weakref.ref(ctx["job"]))
        kept.append(weakref.ref(asyncio.current_task()))

    s.probe.close()
    s.worker.functions["noop"] = noop
    watch(s)
    await s.queue.enqueue("noop", key="warm", timeout=0)
    await asyncio.create_task(s.worker.process())
    gc.collect()
    gc.disable()
    try:
        for number in range(3):
            await s.queue.enqueue("noop", key=f"k{number}", timeout=0)
            await asyncio.create_task(s.worker.process())
        await asyncio.sleep(0)
        alive = sum(reference() is not None for reference in kept)
    finally:
        gc.enable()
    return {"alive": alive, "live": len(s.probe.live)}


SCENARIOS = (
    *probing_errors.SCENARIOS,
    one_job,
    seed_bug,
    aborted_by_the_poll,
    swept,
    cancels_that_the_body_swallows,
    a_thread_outlives_its_job,
    cancelled_while_it_waits,
    enqueues,
    kinds_of_functions,
    blindness,
    a_started_worker,
    inside_a_body,
    closed,
    idle,
)


if __name__ == "__main__":
    stage.load_package()
    stage.Events.takes_joined = sys.argv[3:] == ["joined"]
    asyncio.run(stage.act(SCENARIOS, sys.argv[1], sys.argv[2]))
