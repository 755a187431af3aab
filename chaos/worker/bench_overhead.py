"""One worker of the overhead benchmark: it runs noop jobs in portions, bare or under the probe.

Started by path, in the interpreter of a variant, with one JSON argument: `redis_url`, `queue`,
`concurrency`, and `events`, the recorder's file (empty: a bare worker). It reads one line at a
time: a number enqueues that many jobs as scheduled ones, which nobody runs yet, and prints `ready`;
`go` makes them all runnable at once and prints, as JSON, the seconds and the processor seconds
until the last of them has run. At the end of its input it stops.

Both kinds of worker run this same code; the probe is the only difference, and it is put on after
the queue's `enqueue` has been taken, so that enqueuing is watched in neither. The sweep lock is
taken beforehand: the sweep with which a worker starts can abort a healthy job just dequeued.
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
YEAR_2100 = 4_102_444_800  # when the prepared jobs are due: never, as far as a benchmark goes


class Portions:
    """A started worker, and the noop jobs that it is given."""

    def __init__(self, given: dict[str, Any]) -> None:
        redis_queue = importlib.import_module("saq.queue.redis").RedisQueue
        self.queue = redis_queue.from_url(given["redis_url"], name=given["queue"])
        self.enqueue = self.queue.enqueue
        self.ran = 0
        self.wanted = 0
        self.all_ran = asyncio.Event()
        self.ended = (0.0, 0.0)
        worker = importlib.import_module("saq.worker").Worker
        self.worker = worker(self.queue, [("noop", self.noop)], concurrency=given["concurrency"])
        self.jobs: list[str] = []

    async def noop(self, ctx: Any) -> None:
        """The job: it counts."""
        del ctx
        self.ran += 1
        if self.ran == self.wanted:
            self.ended = (time.perf_counter(), time.process_time())
            self.all_ran.set()

    async def prepare(self, count: int) -> None:
        """Enqueue jobs that nobody runs yet."""
        self.jobs = []
        for start in range(0, count, AT_ONCE):
            keys = [f"noop-{key}" for key in range(start, min(start + AT_ONCE, count))]
            portion = (self.enqueue("noop", key=key, scheduled=YEAR_2100) for key in keys)
            self.jobs += [job.id for job in await asyncio.gather(*portion)]

    async def go(self) -> dict[str, float]:
        """Make them all runnable, and wait until they have run and are complete."""
        self.wanted = self.ran + len(self.jobs)
        self.all_ran.clear()
        began = (time.perf_counter(), time.process_time())
        await self.queue.redis.rpush(self.queue.namespace("queued"), *self.jobs)
        await asyncio.wait_for(self.all_ran.wait(), SECONDS_MAX)
        for _ in range(SECONDS_MAX * 100):  # the last ones are being finished
            if self.queue.complete == self.wanted:
                break
            await asyncio.sleep(0.01)
        return {"seconds": self.ended[0] - began[0], "cpu_seconds": self.ended[1] - began[1]}


async def run(given: dict[str, Any]) -> None:
    """Do what stdin says."""
    portions = Portions(given)
    await portions.queue.connect()
    await portions.queue.redis.set(portions.queue.namespace("sweep"), 1)
    recorder = _observe(portions.worker, given["events"])
    running = asyncio.create_task(portions.worker.start())
    loop = asyncio.get_running_loop()
    while line := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        if line == "go":
            _say(json.dumps(await portions.go()))
        else:
            await portions.prepare(int(line))
            _say("ready")
    portions.worker.event.set()
    await running
    if recorder is not None:
        recorder.close()
    await portions.queue.disconnect()


def _observe(worker: Any, events: str) -> Any:
    if not events:
        return None
    recorder = importlib.import_module("saq_chaos_worker.recorder").Recorder(events)
    importlib.import_module("saq_chaos_worker.probe").install_worker(worker, recorder, "bench")
    return recorder


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    importlib.import_module("main").load_package()  # this file's folder is on the path
    asyncio.run(run(json.loads(sys.argv[1])))
