"""Measures what watching costs: noop jobs/s of a bare saq worker against one under the probe.

    server ◄── bare worker      pair 1: bare, probed; pair 2: probed, bare; …
           ◄── probed worker    both stay up and take turns; each few pairs two fresh processes

A pair is two short portions of jobs right after each other, so that a machine that is busy with
something else bears on both, and the order alternates; the answer is the median of the pairs'
ratios. The pairs are spread over several pairs of processes, since one process can be a little
slower than another for its memory layout alone. Afterwards the events are read back from the
recorders' files: a probe that is fast because it loses events would be found out.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median

import msgspec

from chaos import worker
from chaos.clock import SECOND_US
from chaos.environments import Environment
from chaos.errors import HostFailed
from chaos.live.processes import Process, Processes
from chaos.live.server import OwnServer
from chaos.tail import EventFile

SCRIPT = Path(worker.__file__).parent / "bench_overhead.py"
PAIRS_PER_PROCESS = 10
ANSWER_SECONDS_MAX = 300
POLL_SECONDS = 0.005
EVENTS_A_JOB = (
    "attempt-began", "call-invoked", "call-returned", "slot-set", "body-began", "body-ended",
    "call-invoked", "call-returned", "slot-removed", "process-ended",
)  # fmt: skip


class Portion(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker answers: how long one portion of jobs took it."""

    seconds: float
    cpu_seconds: float


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's measurement of one portion. `cpu_us` is processor time a job."""

    jobs_per_s: float
    cpu_us: float


class OverheadResult(msgspec.Struct, frozen=True, kw_only=True):
    """Paired rounds of one benchmark; place i of each list is pair i.

    `events` were recorded for attempts in all portions together, `events_expected` is how many
    there had to be. Ratios are probed / bare: 0.97 means that watching costs 3 %.
    """

    jobs: int
    concurrency: int
    environment: str
    server: str
    bare: tuple[Round, ...]
    probed: tuple[Round, ...]
    ratios: tuple[float, ...]
    ratio_median: float
    cpu_ratio_median: float
    events: int
    events_expected: int

    @property
    def every_event_recorded(self) -> bool:
        """Whether each job left exactly its events."""
        return self.events == self.events_expected


async def run(
    environment: Environment,
    *,
    rounds: int = 40,
    jobs: int = 400,
    concurrency: int = 10,
    progress: Callable[[str], None] = lambda _: None,
) -> OverheadResult:
    """Run the benchmark on a Redis server of its own.

    Args:
        environment: where the workers run: a variant's.
        rounds: pairs of portions; the median is taken over them.
        jobs: noop jobs of one portion.
        concurrency: slots of each worker.
        progress: told one line for each pair of processes.

    Raises:
        ServerFailed: no Redis server.
        HostFailed: a worker did not do its jobs.
    """
    folder = Path(tempfile.mkdtemp(prefix="saqchaos-bench-"))
    processes = Processes.open()
    processes.forget_folder_at_end(folder)
    try:
        server = OwnServer(processes, "redis", folder / "redis.log")
        await server.start()
        bench = _Bench(environment, processes, server, folder, jobs, concurrency)
        for done in range(0, rounds, PAIRS_PER_PROCESS):
            await bench.pairs(min(PAIRS_PER_PROCESS, rounds - done))
            progress(f"{bench.rounds}/{rounds} rounds: ratio {bench.ratio_median():.3f} so far")
        return bench.result()
    finally:
        await processes.close()
        shutil.rmtree(folder, ignore_errors=True)


class _Worker:
    """One benchmark process, which answers on its output."""

    def __init__(self, process: Process) -> None:
        process.expected = True
        self._process = process
        self._answers = 0

    async def ask(self, line: str) -> str:
        """Write a line; the line that it answers."""
        await self._process.write(f"{line}\n".encode())
        self._answers += 1
        for _ in range(int(ANSWER_SECONDS_MAX / POLL_SECONDS)):
            lines = self._process.log.read_text().splitlines(keepends=True)
            if len(lines) >= self._answers and lines[self._answers - 1].endswith("\n"):
                return lines[self._answers - 1].strip()
            if not self._process.running:
                break
            await asyncio.sleep(POLL_SECONDS)
        raise self._failed(f"did not answer {line!r}")

    async def measure(self) -> Portion:
        """Let it run the jobs that it has prepared."""
        answer = await self.ask("go")
        try:
            return msgspec.json.decode(answer, type=Portion)
        except msgspec.DecodeError as error:
            raise self._failed(f"answered {answer!r}") from error

    async def end(self) -> None:
        """Let it stop by itself."""
        self._process.close_stdin()
        if await self._process.exited(ANSWER_SECONDS_MAX * SECOND_US) != 0:
            raise self._failed("did not end well")

    def _failed(self, what: str) -> HostFailed:
        printed = self._process.log_tail()
        return HostFailed(f"the {self._process.host} worker {what}; it printed:\n{printed}")


class _Bench:
    """The rounds so far."""

    def __init__(
        self,
        environment: Environment,
        processes: Processes,
        server: OwnServer,
        folder: Path,
        jobs: int,
        concurrency: int,
    ) -> None:
        self._environment = environment
        self._processes = processes
        self._server = server
        self._folder = folder
        self._jobs = jobs
        self._concurrency = concurrency
        self._bare: list[Round] = []
        self._probed: list[Round] = []
        self._events = 0
        self._portions = 0

    @property
    def rounds(self) -> int:
        return len(self._bare)

    async def pairs(self, count: int) -> None:
        """Two fresh processes take turns; the first portion of each only warms it up."""
        events = self._folder / f"probed-{self.rounds}.events"
        bare = await self._start(f"bare-{self.rounds}", None)
        probed = await self._start(f"probed-{self.rounds}", events)
        for number in range(count + 1):
            for worker_process in (bare, probed):
                await worker_process.ask(str(self._jobs))
            order = (bare, probed) if number % 2 else (probed, bare)
            measured = {process: await process.measure() for process in order}
            if number:
                self._bare.append(self._round(measured[bare]))
                self._probed.append(self._round(measured[probed]))
        await bare.end()
        await probed.end()
        self._portions += count + 1
        self._events += _count(events)
        events.unlink()

    def ratio_median(self) -> float:
        return median(self._ratios())

    def result(self) -> OverheadResult:
        cpu = [bare.cpu_us / probed.cpu_us for probed, bare in self._pairs()]
        return OverheadResult(
            jobs=self._jobs,
            concurrency=self._concurrency,
            environment=self._environment.description,
            server=self._server.version,
            bare=tuple(self._bare),
            probed=tuple(self._probed),
            ratios=self._ratios(),
            ratio_median=self.ratio_median(),
            cpu_ratio_median=median(cpu),
            events=self._events,
            events_expected=self._portions * self._jobs * len(EVENTS_A_JOB),
        )

    def _pairs(self) -> list[tuple[Round, Round]]:
        return list(zip(self._probed, self._bare, strict=True))

    def _ratios(self) -> tuple[float, ...]:
        return tuple(probed.jobs_per_s / bare.jobs_per_s for probed, bare in self._pairs())

    def _round(self, portion: Portion) -> Round:
        return Round(
            jobs_per_s=self._jobs / portion.seconds,
            cpu_us=portion.cpu_seconds * 1_000_000 / self._jobs,
        )

    async def _start(self, name: str, events: Path | None) -> _Worker:
        given = {
            "redis_url": self._server.url, "queue": name, "concurrency": self._concurrency,
            "events": "" if events is None else str(events),
        }  # fmt: skip
        argv = [str(self._environment.python), str(SCRIPT), json.dumps(given)]
        log = self._folder / f"{name}.log"
        process = await self._processes.start(
            name, argv, log, env=self._environment.env, stdin=True
        )
        return _Worker(process)


def _count(path: Path) -> int:
    """Events of complete attempts: an attempt with any other set of events counts nothing."""
    seen: dict[str, Counter[str]] = {}
    for event in EventFile(path, "worker", 0).read():
        attempt = getattr(event, "attempt", "")
        if attempt:
            seen.setdefault(attempt, Counter())[str(type(event).__struct_config__.tag)] += 1
    whole = Counter(EVENTS_A_JOB)
    return sum(len(EVENTS_A_JOB) for found in seen.values() if found == whole)
