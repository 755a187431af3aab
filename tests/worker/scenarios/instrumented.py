"""What `instrument` counts: `instrumented.py PATCH URL FOLDER` prints each scenario's counters.

FOLDER holds prometheus_client, which a variant's environment lacks.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import stage
from stage import Events, make_stage, until, watch


def registry() -> Any:
    from prometheus_client import CollectorRegistry

    return CollectorRegistry()


def counted(kept: Any) -> dict[str, float]:
    """Every sample that is not 0, by its name and its word."""
    found = {}
    for family in kept.collect():
        for sample in family.samples:
            words = [value for name, value in sorted(sample.labels.items()) if name != "variant"]
            if sample.value and not sample.name.endswith("_created"):
                name = sample.name.removeprefix("saqchaos_").removesuffix("_total")
                found[" ".join([name, *words])] = sample.value
    return found


async def instrumented(patch: str, url: str, name: str, **options: Any) -> tuple[Any, Any, Any]:
    from saq_chaos_worker import instrument

    s = await make_stage(patch, url, name, **options)
    kept = registry()
    return s, kept, instrument(s.worker, kept)


async def nothing_yet(patch: str, url: str) -> Any:
    """All label values exist at 0 before anything happened."""
    _, kept, _ = await instrumented(patch, url, "nothing")
    samples = [sample for family in kept.collect() for sample in family.samples]
    return {
        "samples": sum(not sample.name.endswith("_created") for sample in samples),
        "variants": sorted({sample.labels["variant"] for sample in samples}),
        "counted": counted(kept),
    }


async def seed_bug(patch: str, url: str) -> Any:
    """A is overwritten by B and ends first; what is orphaned in between."""
    s, kept, watched = await instrumented(patch, url, "seed")
    await s.queue.enqueue("hold", key="k", timeout=0, retries=5, stubborn=False)
    first = await s.begin()
    await s.stale_retry("k")
    second = await s.begin()
    between = counted(kept)
    s.bodies[0].go.set()
    await first
    s.bodies[1].go.set()
    await second
    return {"between": between, "after": counted(kept), "live": watched.live()}


async def aborted(patch: str, url: str) -> Any:
    """A running job is aborted, and the poll finds it."""
    s, kept, watched = await instrumented(patch, url, "abort")
    await s.queue.enqueue("hold", key="k", timeout=0)
    task = await s.begin()
    await s.queue.abort(await s.queue.job("k"), "stop it")
    await s.worker.abort(0)
    await task
    await s.worker.abort(0)
    return {"counted": counted(kept), "live": watched.live()}


async def stray(patch: str, url: str) -> Any:
    """A body is cancelled, and nobody asked for it."""
    s, kept, watched = await instrumented(patch, url, "stray")
    await s.queue.enqueue("hold", key="k", timeout=0)
    task = await s.begin()
    (context,) = s.worker.job_task_contexts.values()
    context["task"].cancel()
    await task
    return {"counted": counted(kept), "live": watched.live()}


async def errors_of_jobs(patch: str, url: str) -> Any:
    """A job raises KeyError itself, and one runs into its timeout: no error of saq's."""

    async def raising(ctx: Any) -> None:
        raise KeyError("mine")

    s, kept, watched = await instrumented(patch, url, "own", functions=[("raising", raising)])
    await s.queue.enqueue("raising", key="k", timeout=0, retries=1)
    await s.worker.process()
    await s.queue.enqueue("hold", key="slow", timeout=1, retries=1)
    await s.worker.process()
    return {"counted": counted(kept), "live": watched.live()}


async def a_started_worker(patch: str, url: str) -> Any:
    """A whole life: jobs, threads, a stop. And nothing is kept of it."""

    def sync(ctx: Any) -> None:
        """In a thread."""

    async def noop(ctx: Any) -> None:
        """Nothing."""

    functions = [("sync", sync), ("noop", noop)]
    s, kept, watched = await instrumented(patch, url, "life", functions=functions, concurrency=4)
    for number in range(40):
        await s.queue.enqueue("sync" if number % 4 == 0 else "noop", key=f"k{number}", timeout=0)
    running = asyncio.create_task(s.worker.start())
    await until(lambda: counted(kept).get("attempts complete") == 40)
    await s.worker.stop()
    await asyncio.gather(running, return_exceptions=True)
    return {"counted": counted(kept), "live": watched.live()}


async def beside_another_watcher(patch: str, url: str) -> Any:
    """A soak watches already; both hear everything, until one closes."""
    from saq_chaos_worker import instrument

    s = await make_stage(patch, url, "both")
    events = watch(s)
    kept = registry()
    watched = instrument(s.worker, kept)
    for number in range(2):
        await s.queue.enqueue("hold", key=f"k{number}", timeout=0)
        task = await s.begin()
        s.bodies[-1].go.set()
        await task
        watched.close()
    ended = [line for line in events.plain() if line.startswith("process-ended")]
    return {"counted": counted(kept), "heard": ended}


async def closed(patch: str, url: str) -> Any:
    """close() takes everything off; what was counted stays, and a second time does no harm."""
    s, kept, watched = await instrumented(patch, url, "closed")
    await s.queue.enqueue("hold", key="k", timeout=0)
    task = await s.begin()
    s.bodies[0].go.set()
    await task
    watched.close()
    watched.close()
    left = [name for name in vars(s.worker) if name in ("process", "upkeep", "stop")]
    return {"counted": counted(kept), "left": left}


async def shared(patch: str, url: str) -> Any:
    """Two workers count into one registry, each with a queue of its own; not with one queue."""
    from saq_chaos_worker import instrument, worker_class

    kept = registry()
    stages = [await make_stage(patch, url, name) for name in ("one", "two")]
    for s in stages:
        instrument(s.worker, kept)
        await s.queue.enqueue("hold", key="k", timeout=0)
        task = await s.begin()
        s.bodies[0].go.set()
        await task
    third = worker_class(patch)(stages[0].queue, stages[0].worker.functions.items())
    try:
        instrument(third, kept)
    except ValueError as error:
        said = str(error)
    return {"counted": counted(kept), "said": said}


SCENARIOS = (
    nothing_yet, seed_bug, aborted, stray, errors_of_jobs, a_started_worker,
    beside_another_watcher, closed, shared,
)  # fmt: skip


async def main(patch: str, url: str) -> None:
    """What happens without prometheus-client, then all scenarios with it."""
    from saq_chaos_worker import MissingPrometheus, instrument

    results: dict[str, Any] = {}
    s = await make_stage(patch, url, "missing")
    try:
        instrument(s.worker)
    except MissingPrometheus as error:
        results["missing"] = [str(error), "process" in vars(s.worker)]
    sys.path.append(sys.argv[3])
    for scenario in SCENARIOS:
        async with asyncio.timeout(3 * stage.SECONDS):
            results[scenario.__name__] = await scenario(patch, url)
    sys.stdout.write(json.dumps(results) + "\n")


if __name__ == "__main__":
    stage.load_package()
    Events.takes_joined = True
    asyncio.run(main(sys.argv[1], sys.argv[2]))
