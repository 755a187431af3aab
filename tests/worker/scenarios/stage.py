"""The stage on which scenarios run: inside a variant's own interpreter, which has no pytest.

Bodies do nothing until the scenario says so, so every interleaving is written down, not waited for.
Events go to a list, without stamps; an event is `[kind, job, attempt, call, number, text, code]`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[3] / "chaos" / "worker"
SECONDS = 20

Scenario = Callable[[str, str], Awaitable[Any]]


def load_package() -> None:
    """Import the worker package by path, as a worker process does."""
    spec = importlib.util.spec_from_file_location(
        "saq_chaos_worker", PACKAGE / "__init__.py", submodule_search_locations=[str(PACKAGE)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["saq_chaos_worker"] = module
    spec.loader.exec_module(module)


class Events:
    """A sink that keeps everything in order; joined records are taken apart again.

    Attributes:
        takes_joined: whether the probe may join events, as with the flight recorder.
    """

    takes_joined = False

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self.joined = 0

    def record(
        self,
        kind: int,
        job: str = "",
        attempt: int = 0,
        call: int = 0,
        number: int = 0,
        text: str = "",
        code: int = 0,
    ) -> None:
        steps = _steps_of(kind)
        self.joined += bool(steps)
        if kind == 25:
            text, _, tries = text.rpartition("\x1f")
            self.rows.append([20, job, attempt, int(tries), number, text, 0])
        for step in steps:
            is_call = step.kind in (10, 11)
            about = number if is_call else attempt if step.kind == 32 else 0
            row = [step.kind, job, attempt, call if is_call else 0, about, step.text, step.code]
            self.rows.append([int(part) if isinstance(part, int) else part for part in row])
        if not steps:
            self.rows.append([int(kind), job, attempt, call, number, text, int(code)])

    def of(self, *kinds: str) -> list[list[Any]]:
        """The events of these kinds, the kind by its name."""
        from saq_chaos_worker.events import Kind

        named = [[Kind(row[0]).name, *row[1:]] for row in self.rows]
        return [row for row in named if row[0] in kinds] if kinds else named

    def plain(self) -> list[str]:
        """Every event as one line of text: what is set of it, stamps as `enqueued`."""
        return [_plain(row) for row in self.of()]

    def errors(self) -> list[dict[str, Any]]:
        """The fields of each error, its traceback left out."""
        found = []
        for row in self.of("ERROR_RAISED"):
            fields = json.loads(row[5])
            fields.pop("traceback", None)
            found.append({"job": row[1], "attempt": row[2], **fields})
        return found


def _steps_of(kind: int) -> list[Any]:
    """The steps of the path that a joined record stands for; none for any other."""
    from saq_chaos_worker.joined import PATH

    ends = [place for place, step in enumerate(PATH) if step.writes == kind]
    if not ends:
        return []
    earlier = [place for place, step in enumerate(PATH) if step.writes and place < ends[0]]
    return list(PATH[max(earlier, default=-1) + 1 : ends[0] + 1])


def _plain(row: list[Any]) -> str:
    from saq_chaos_worker.events import Op, Outcome

    kind, job, attempt, call, number, text, code = row
    words = [kind.lower().replace("_", "-")]
    if kind.startswith("CALL_"):
        words.append(Op(code & 15).name.lower())
        if code >> 4:
            words.append(Outcome(code >> 4).name.lower())
    elif kind in ("BODY_ENDED", "PROCESS_ENDED"):
        words.append(Outcome(code).name.lower())
    elif code:
        words.append(f"code={code}")
    words += [f"job={job}"] * bool(job) + [f"attempt={attempt}"] * bool(attempt)
    if kind == "ATTEMPT_BEGAN":
        words.append(f"tries={call >> 16} retries={call & 0xFFFF}")
    elif call:
        words.append(f"call={call}")
    if number:
        words.append("enqueued" if number > 1_000_000 else f"by={number}")
    if text and kind != "ERROR_RAISED":
        words.append("|".join(text.split(chr(31))))
    return " ".join(words)


class Log(logging.Handler):
    """What saq logged as an exception: its type, in order."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.types: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0]:
            self.types.append(record.exc_info[0].__name__)


class Body:
    """One run of the job function, held until `go` is set."""

    def __init__(self, ctx: dict[str, Any]) -> None:
        self.job = ctx["job"]
        self.began = asyncio.Event()
        self.go = asyncio.Event()
        self.cancels = 0
        self.outcome = ""


class Stage:
    """A worker that is not started: the scenario calls `process()` and `abort()` itself."""

    def __init__(self, worker: Any, queue: Any, bodies: list[Body], log: Log) -> None:
        self.worker = worker
        self.queue = queue
        self.bodies = bodies
        self.log = log
        self.probe: Any = None

    async def begin(self, count: int = 1) -> asyncio.Task[bool]:
        """Start one `process()` call and wait until its body has begun."""
        expected = len(self.bodies) + count
        task = asyncio.create_task(self.worker.process(), name="process")
        await until(lambda: len(self.bodies) == expected and self.bodies[-1].began.is_set())
        return task

    async def stale_retry(self, key: str) -> None:
        """What a sweeper or a stopping worker does to a job that is still running here."""
        await self.queue.retry(await self.queue.job(key), "swept")

    async def status(self, key: str) -> str:
        job = await self.queue.job(key)
        return job.status.value if job else ""


def watch(s: Stage, events: Any = None) -> Any:
    """Put the probe on the worker and its queue; a list of events unless another sink is given."""
    from saq_chaos_worker.probe import install_worker

    events = events or Events()
    s.probe = install_worker(s.worker, events, "salt")
    return events


async def until(true: Any) -> None:
    """Let the loop run until something is true."""
    async with asyncio.timeout(SECONDS):
        while not true():
            await asyncio.sleep(0.001)


async def make_stage(patch: str, url: str, name: str, **options: Any) -> Stage:
    """A fresh queue and a worker of the patch's class, with the one function `hold`.

    The server is the test's own: what an earlier scenario left in it is thrown away.
    """
    from saq.queue.redis import RedisQueue
    from saq_chaos_worker import worker_class

    bodies: list[Body] = []
    queue = RedisQueue.from_url(url, name=name)
    await queue.connect()
    await queue.redis.flushdb()

    async def hold(ctx: dict[str, Any], stubborn: bool = False) -> str:
        body = Body(ctx)
        bodies.append(body)
        body.began.set()
        while True:
            try:
                await body.go.wait()
                body.outcome = "done"
                return "done"
            except asyncio.CancelledError:
                body.cancels += 1
                if not stubborn:
                    body.outcome = "cancelled"
                    raise

    functions = [("hold", hold), *options.pop("functions", [])]
    worker = worker_class(patch)(queue, functions, **options)
    log = Log()
    logger = logging.getLogger("saq")
    logger.handlers[:] = [log]
    logger.propagate = False
    return Stage(worker, queue, bodies, log)


async def act(scenarios: Sequence[Scenario], patch: str, url: str) -> None:
    """Run them all, each on a queue of its own, and print what became of each, by name."""
    results = {}
    for scenario in scenarios:
        async with asyncio.timeout(3 * SECONDS):
            results[scenario.__name__] = await scenario(patch, url)
    sys.stdout.write(json.dumps(results) + "\n")
