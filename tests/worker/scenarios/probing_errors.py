"""Scenarios of errors under the probe: whose each is, and that it is reported once."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
from typing import Any

from stage import Stage, make_stage, until, watch


async def raises(ctx: Any) -> None:
    raise KeyError("mine")


def times_out(ctx: Any) -> None:
    raise TimeoutError("mine too")


async def unserialisable(ctx: Any) -> object:
    return object()


def after(ctx: Any) -> None:
    if ctx["job"].key == "after":
        raise ValueError("in a hook")


async def before(ctx: Any) -> None:
    if ctx["job"].key == "before":
        raise KeyError("in a hook")


FUNCTIONS = [("raises", raises), ("times_out", times_out), ("unserialisable", unserialisable)]
FAILING = (
    ("raises", "raises", 0),
    ("times_out", "times_out", 0),
    ("hold", "timeout", 0.05),
    ("nowhere", "unknown", 0),
    ("raises", "before", 0),
    ("raises", "after", 0),
    ("raises", "bad arguments", 0),
)


async def whose_errors(patch: str, url: str) -> Any:
    """Exceptions of a job's function, of hooks, of saq's timeout, of an unknown name."""
    hooks = {"before_process": before, "after_process": after}
    s: Stage = await make_stage(patch, url, "errors", functions=list(FUNCTIONS), **hooks)
    events = watch(s)
    for function, key, timeout in FAILING:
        extra = {"surprise": 1} if key == "bad arguments" else {}
        await s.queue.enqueue(function, key=key, timeout=timeout, **extra)
        await s.worker.process()
    found = [[e["job"], e["origin"], e["error"], e["where"]] for e in events.errors()]
    quiet = [e["job"] for e in events.errors() if "message" in e]
    await s.queue.enqueue("unserialisable", key="result", timeout=0)
    await asyncio.gather(s.worker.process(), return_exceptions=True)
    result = [[e["origin"], e["error"]] for e in events.errors() if e["job"] == "result"]
    bodies = [line for line in events.plain() if line.startswith("body-")]
    return {"errors": found, "with a message": quiet, "result": result, "bodies": bodies}


async def errors_of_the_connection(patch: str, url: str) -> Any:
    """Redis goes away for a finish, then for a dequeue."""
    import redis.exceptions

    s = await make_stage(patch, url, "connection")

    async def gone(*args: Any, **kwargs: Any) -> None:
        raise redis.exceptions.ConnectionError("gone")

    s.queue._finish = gone
    events = watch(s)
    await s.queue.enqueue("hold", key="k", timeout=0)
    task = await s.begin()
    s.bodies[0].go.set()
    await asyncio.gather(task, return_exceptions=True)
    errors = [[e["origin"], e["error"], e["where"]] for e in events.errors()]
    calls = [line for line in events.plain() if "finish" in line or "process-" in line]
    events.rows.clear()
    s.queue.redis.blmove = gone
    returned = await s.worker.process()
    return {
        "errors": errors,
        "calls": calls,
        "dequeue": events.plain(),
        "process returned": returned,
    }


async def escaped_from_process(patch: str, url: str) -> Any:
    """Cancelled before it registers: 0.26.3's assertion leaves process(), is reported once."""
    waiting = asyncio.Event()

    async def before(ctx: Any) -> None:
        waiting.set()
        await asyncio.Event().wait()

    s = await make_stage(patch, url, "escaped", before_process=before)
    events = watch(s)
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    await s.queue.enqueue("hold", key="k", timeout=0)
    task = asyncio.create_task(s.worker.process(), name="process")
    await waiting.wait()
    task.cancel()
    await asyncio.wait([task])
    del task
    gc.collect()
    ended = [line for line in events.plain() if line.startswith("process-")]
    return {"errors": events.errors(), "ended": ended}


async def upkeep_that_fails(patch: str, url: str) -> Any:
    """A poll that raises is reported with its name; one that ends for good as well."""
    import redis.exceptions

    timers = {"abort": 0.01, "schedule": 1, "sweep": 60, "worker_info": 60}
    s = await make_stage(patch, url, "upkeep", timers=timers)

    class Fatal(BaseException):
        pass

    async def fails(*args: Any, **kwargs: Any) -> None:
        raise KeyError("in saq")

    async def refused(*args: Any, **kwargs: Any) -> None:
        raise redis.exceptions.ConnectionError("gone")

    async def dies(*args: Any, **kwargs: Any) -> None:
        raise Fatal("over")

    s.worker.abort = fails
    s.queue.schedule = refused
    s.worker.worker_info = dies
    events = watch(s)
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    running = asyncio.create_task(s.worker.start())
    await until(lambda: len(events.errors()) >= 2 and events.of("UPKEEP_ENDED"))
    s.worker.event.set()
    await asyncio.gather(running, return_exceptions=True)
    errors = {(e["where"], e["origin"], e["error"]) for e in events.errors()}
    ended = [json.loads(row[5]) for row in events.of("UPKEEP_ENDED")]
    calls = [line for line in events.plain() if "poll_aborts" in line][:2]
    return {"errors": sorted(map(list, errors)), "ended": ended, "calls": calls}


async def the_loops_handler(patch: str, url: str) -> Any:
    """What ends in the loop's handler is reported, and handed on."""
    s = await make_stage(patch, url, "loop")
    handed: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: handed.append(context["message"]))
    events = watch(s)
    running = asyncio.create_task(s.worker.start())
    await until(lambda: getattr(loop.get_exception_handler(), "probe", None))

    async def left_behind() -> None:
        raise ValueError("never awaited")

    task = asyncio.create_task(left_behind())
    await asyncio.wait([task])
    del task
    gc.collect()
    s.worker.event.set()
    await running
    s.probe.close()
    restored = getattr(loop.get_exception_handler(), "probe", None) is None
    loop.set_exception_handler(None)
    errors = [[e["origin"], e["error"], e["where"]] for e in events.errors()]
    return {"errors": errors, "handed on": handed, "restored": restored}


async def saqs_logger_switched_off(patch: str, url: str) -> Any:
    """An application that disables saq's logger does not blind the probe; no handler is added."""

    async def before(ctx: Any) -> None:
        raise ValueError("no")

    s = await make_stage(patch, url, "quiet", before_process=before)
    logger = logging.getLogger("saq")
    handlers = list(logger.handlers)
    events = watch(s)
    unchanged = logger.handlers == handlers
    logger.disabled = True
    try:
        await s.queue.enqueue("hold", key="k", timeout=0)
        await s.worker.process()
    finally:
        logger.disabled = False
    errors = [[e["origin"], e["error"], e["where"]] for e in events.errors()]
    return {"errors": errors, "handlers unchanged": unchanged}


async def nothing_of_a_jobs_content(patch: str, url: str) -> Any:
    """Neither kwargs nor the message of a job's own exception nor a result is recorded."""

    async def raises(ctx: Any, secret: str) -> None:
        raise ValueError(f"about {secret}")

    async def returns(ctx: Any, secret: str) -> str:
        return secret

    functions = [("raises", raises), ("returns", returns)]
    s = await make_stage(patch, url, "secret", functions=functions)
    events = watch(s)
    for key, function in (("a", "raises"), ("b", "returns"), ("c", "nowhere")):
        await s.queue.enqueue(function, key=key, timeout=0, secret="tiger")
        await s.worker.process()
    await s.queue.enqueue("hold", key="k", timeout=0, retries=5, stubborn="tiger")
    first = await s.begin()
    await s.stale_retry("k")
    second = await s.begin()
    for body in s.bodies:
        body.go.set()
    await asyncio.gather(first, second)
    return {"seen": "tiger" in json.dumps(events.rows), "errors": len(events.errors()) >= 2}


SCENARIOS = (
    whose_errors,
    errors_of_the_connection,
    escaped_from_process,
    upkeep_that_fails,
    the_loops_handler,
    saqs_logger_switched_off,
    nothing_of_a_jobs_content,
)
