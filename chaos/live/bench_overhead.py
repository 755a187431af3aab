"""Measures what watching costs: noop jobs/s of a bare saq worker against one under the probe.

    server ◄── bare worker      round 1: bare, probed; round 2: probed, bare; …
           ◄── probed worker    each a fresh process of the variant's environment

Rounds are paired and their order alternates, so that a machine that gets slower in the middle bears
on both; the answer is the median of the pairs' ratios. After each probed round the events are read
back from the recorder's file: a probe that is fast because it loses events would be found out.
"""

from __future__ import annotations

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
ROUND_US_MAX = 600 * SECOND_US
EVENTS_A_JOB = (
    "attempt-began", "call-invoked", "call-returned", "slot-set", "body-began", "body-ended",
    "call-invoked", "call-returned", "slot-removed", "process-ended",
)  # fmt: skip


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's measurement. `cpu_us` is processor time a job."""

    jobs_per_s: float
    cpu_us: float


class OverheadResult(msgspec.Struct, frozen=True, kw_only=True):
    """Paired rounds of one benchmark; place i of each list is round i.

    `events` were recorded for attempts in all probed rounds together, `events_expected` is how many
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
    rounds: int = 7,
    jobs: int = 4_000,
    concurrency: int = 10,
    progress: Callable[[str], None] = lambda _: None,
) -> OverheadResult:
    """Run the benchmark on a Redis server of its own.

    Args:
        environment: where the workers run: a variant's.
        rounds: pairs of rounds; the median is taken over them.
        jobs: noop jobs that are measured in each; a tenth more warm the worker up.
        concurrency: slots of the worker.
        progress: told one line for each pair.

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
        for number in range(rounds):
            await bench.pair(number)
            progress(f"round {number + 1}/{rounds}: {bench.last_ratio():.3f}")
        return bench.result()
    finally:
        await processes.close()
        shutil.rmtree(folder, ignore_errors=True)


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
        self._warm_up = max(1, jobs // 10)
        self._concurrency = concurrency
        self._bare: list[Round] = []
        self._probed: list[Round] = []
        self._events = 0

    async def pair(self, number: int) -> None:
        """One bare and one probed round; the first of them takes turns."""
        for probed in (False, True) if number % 2 == 0 else (True, False):
            name = f"{'probed' if probed else 'bare'}-{number}"
            events = self._folder / f"{name}.events" if probed else None
            measured = await self._round(name, events)
            (self._probed if probed else self._bare).append(measured)
            if events is not None:
                self._events += _count(events)
                events.unlink()

    def last_ratio(self) -> float:
        return self._probed[-1].jobs_per_s / self._bare[-1].jobs_per_s

    def result(self) -> OverheadResult:
        pairs = list(zip(self._probed, self._bare, strict=True))
        ratios = tuple(probed.jobs_per_s / bare.jobs_per_s for probed, bare in pairs)
        each_round = (self._jobs + self._warm_up) * len(EVENTS_A_JOB)
        return OverheadResult(
            jobs=self._jobs,
            concurrency=self._concurrency,
            environment=self._environment.description,
            server=self._server.version,
            bare=tuple(self._bare),
            probed=tuple(self._probed),
            ratios=ratios,
            ratio_median=median(ratios),
            cpu_ratio_median=median(bare.cpu_us / probed.cpu_us for probed, bare in pairs),
            events=self._events,
            events_expected=each_round * len(pairs),
        )

    async def _round(self, name: str, events: Path | None) -> Round:
        given = {
            "redis_url": self._server.url, "queue": name, "jobs": self._jobs,
            "warm_up": self._warm_up, "concurrency": self._concurrency,
            "events": "" if events is None else str(events),
        }  # fmt: skip
        argv = [str(self._environment.python), str(SCRIPT), json.dumps(given)]
        log = self._folder / f"{name}.log"
        process = await self._processes.start(name, argv, log, env=self._environment.env)
        return await _measured(process)


async def _measured(process: Process) -> Round:
    process.expected = True
    code = await process.exited(ROUND_US_MAX)
    lines = process.log.read_text().splitlines()
    if code != 0 or not lines:
        raise HostFailed(
            f"the {process.host} worker ended with {code} and no measurement; it printed:\n"
            f"{process.log_tail()}"
        )
    return msgspec.json.decode(lines[-1], type=Round)


def _count(path: Path) -> int:
    """Events of complete attempts: an attempt with any other set of events counts nothing."""
    seen: dict[str, Counter[str]] = {}
    for event in EventFile(path, "worker", 0).read():
        attempt = getattr(event, "attempt", "")
        if attempt:
            seen.setdefault(attempt, Counter())[str(type(event).__struct_config__.tag)] += 1
    whole = Counter(EVENTS_A_JOB)
    return sum(len(EVENTS_A_JOB) for found in seen.values() if found == whole)
