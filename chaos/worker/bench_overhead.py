"""One round of the overhead benchmark: a saq worker runs noop jobs, bare or under the probe.

Started by path, in the interpreter of a variant, with one JSON argument: `redis_url`, `queue`,
`jobs`, `warm_up`, `concurrency`, and `events`, the recorder's file (empty: a bare worker). Prints
one JSON line: jobs/s from the end of the warm-up to the last job, and the processor time a job.

Both kinds of round run this same code; the probe is the only difference. The jobs are enqueued
before the clock starts, and before the probe is on the queue. The sweep lock is taken beforehand:
the sweep with which a worker starts can abort a healthy job that has just been dequeued.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from typing import Any

AT_ONCE = 100
SECONDS_MAX = 120


async def enqueue(queue: Any, count: int) -> None:
    """Put `count` noop jobs into the queue."""
    for start in range(0, count, AT_ONCE):
        keys = range(start, min(start + AT_ONCE, count))
        await asyncio.gather(*(queue.enqueue("noop", key=f"noop-{key}") for key in keys))


async def run(given: dict[str, Any]) -> dict[str, float]:
    """Enqueue, start the worker, wait until every job is complete."""
    worker_module = importlib.import_module("saq.worker")
    queue = importlib.import_module("saq.queue.redis").RedisQueue.from_url(
        given["redis_url"], name=given["queue"]
    )
    await queue.connect()
    warm_up, total = given["warm_up"], given["warm_up"] + given["jobs"]
    await enqueue(queue, total)
    await queue.redis.set(queue.namespace("sweep"), 1, ex=2 * SECONDS_MAX)
    marks: list[tuple[float, float]] = []
    all_ran = asyncio.Event()
    done = 0

    async def noop(ctx: Any) -> None:
        del ctx
        nonlocal done
        done += 1
        if done in (warm_up, total):
            marks.append((time.perf_counter(), time.process_time()))
            if done == total:
                all_ran.set()

    worker = worker_module.Worker(queue, [("noop", noop)], concurrency=given["concurrency"])
    recorder = _observe(worker, given["events"])
    running = asyncio.create_task(worker.start())
    await asyncio.wait_for(all_ran.wait(), SECONDS_MAX)
    for _ in range(1_000):  # the last jobs are being finished
        if queue.complete == total:
            break
        await asyncio.sleep(0.01)
    worker.event.set()
    await running
    if recorder is not None:
        recorder.close()
    await queue.disconnect()
    (began, cpu_began), (ended, cpu_ended) = marks
    jobs = given["jobs"]
    return {"jobs_per_s": jobs / (ended - began), "cpu_us": (cpu_ended - cpu_began) / jobs * 1e6}


def _observe(worker: Any, events: str) -> Any:
    if not events:
        return None
    recorder = importlib.import_module("saq_chaos_worker.recorder").Recorder(events)
    importlib.import_module("saq_chaos_worker.probe").install_worker(worker, recorder, "bench")
    return recorder


if __name__ == "__main__":
    importlib.import_module("main").load_package()  # this file's folder is on the path
    sys.stdout.write(json.dumps(asyncio.run(run(json.loads(sys.argv[1])))) + "\n")
