"""`saq-chaos bench api`: what the service bears, measured in one run against one of our own."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from chaos.cli import output
from chaos.errors import UsageError

if TYPE_CHECKING:
    from chaos.cli.api_load import Cycles, Streams
    from chaos.cli.service_process import ServiceProcess

P99_RATIO_MAX = 5.0
ATTEMPTS_RATIO_MIN = 0.8


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much is asked."""

    requests: int
    concurrency: int
    subscribers: int
    cycles: int
    soak_s: float


@dataclass(frozen=True, slots=True)
class ApiResult:
    """The figures. Times are seconds.

    Attributes:
        reads_idle, reads_busy: reads that were answered, on the idle service and during a soak.
        p99_ratio: p99 of reads during a soak, over that on the idle service.
        attempts_ratio: attempts/s of a soak with reads beside it, over those of one without.
    """

    reads_idle: int
    reads_busy: int
    failed: tuple[str, ...]
    p50_idle: float
    p99_idle: float
    p50_busy: float
    p99_busy: float
    p99_ratio: float
    attempts_ratio: float
    streams: Streams
    cycles: Cycles | None

    @property
    def sound(self) -> bool:
        """Whether nothing failed, nothing was lost and nothing is left. Ratios are for people."""
        left = self.cycles is None or not (
            self.cycles.failed or self.cycles.processes > 0 or self.cycles.descriptors > 0
        )
        return not self.failed and self.streams.complete == self.streams.subscribers and left


@click.command("api", short_help="What the service bears: reads, event streams, starts and stops.")
@click.option("--requests", type=click.IntRange(8, 1_000_000), default=1_000, show_default=True)
@click.option("--concurrency", type=click.IntRange(1, 1_000), default=50, show_default=True)
@click.option("--subscribers", type=click.IntRange(1, 450), default=200, show_default=True)
@click.option("--cycles", type=click.IntRange(0, 100_000), default=0, help="Starts and stops.")
@click.option(
    "--soak", "soak_s", type=click.FloatRange(2, 600), default=20, show_default=True,
    help="Seconds of load of each of the two soaks.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Write the figures as JSON to stdout.")
def api(
    requests: int, concurrency: int, subscribers: int, cycles: int, soak_s: float, as_json: bool
) -> int:
    """Start a service on a free port, load it, and say what it bore.

    Exit code 1 if a request failed, a stream lost an event, or a run left something behind.
    """
    wanted = Wanted(requests, concurrency, subscribers, cycles, soak_s)
    try:
        import httpx
    except ImportError as error:
        raise UsageError("bench api needs the service: pip install 'saq-chaos[service]'") from error
    del httpx
    from chaos.cli import api_load
    from chaos.cli.service_process import serving

    with serving() as service:
        result = asyncio.run(measure(service, wanted))
    output.answer(api_load.as_json(asdict(result)) if as_json else text(result))
    return 0 if result.sound else 1


async def measure(service: ServiceProcess, wanted: Wanted) -> ApiResult:
    """All figures, one after the other, of one service process."""
    import httpx

    from chaos.cli import api_load

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=wanted.concurrency)
    timeout = httpx.Timeout(api_load.ANSWER_SECONDS)
    async with httpx.AsyncClient(base_url=service.url, limits=limits, timeout=timeout) as client:
        known = await api_load.start(client, api_load.SHORT)
        await api_load.wait_for(client, known)
        output.say("reads on the idle service")
        idle = await api_load.read(client, wanted.requests, wanted.concurrency, known)
        output.say("a soak that nobody asks about")
        load = (wanted.requests, wanted.concurrency, known)
        alone = await api_load.attempts_per_s(client, wanted.soak_s, None, load)
        output.say("the same soak with reads beside it")
        busy = api_load.Reads()
        beside = await api_load.attempts_per_s(client, wanted.soak_s, busy, load)
        output.say("event streams")
        streams = await api_load.stream(client, wanted.subscribers)
    cycles = await _cycles(service, wanted.cycles) if wanted.cycles else None
    return ApiResult(
        reads_idle=len(idle.seconds),
        reads_busy=len(busy.seconds),
        failed=(*idle.failed, *busy.failed),
        p50_idle=idle.percentile(50),
        p99_idle=idle.percentile(99),
        p50_busy=busy.percentile(50),
        p99_busy=busy.percentile(99),
        p99_ratio=busy.percentile(99) / max(idle.percentile(99), 1e-9),
        attempts_ratio=beside / max(alone, 1e-9),
        streams=streams,
        cycles=cycles,
    )


async def _cycles(service: ServiceProcess, cycles: int) -> Cycles:
    """With one connection of its own, so that descriptors before and after can be compared."""
    import httpx

    from chaos.cli import api_load

    output.say(f"{cycles} runs started and stopped")
    one = httpx.Limits(max_connections=1)
    timeout = httpx.Timeout(api_load.ANSWER_SECONDS)
    async with httpx.AsyncClient(base_url=service.url, limits=one, timeout=timeout) as client:
        return await api_load.cycle(client, service, cycles)


def text(result: ApiResult) -> str:
    """The figures in words."""
    streams, cycles = result.streams, result.cycles
    idle = f"p50 {result.p50_idle * 1e3:.1f} ms, p99 {result.p99_idle * 1e3:.1f} ms"
    busy = f"p50 {result.p50_busy * 1e3:.1f} ms, p99 {result.p99_busy * 1e3:.1f} ms"
    kept = f"{streams.complete} of {streams.subscribers} got every one of {streams.events} events"
    wanted = f"(wanted: at least {ATTEMPTS_RATIO_MIN:g})"
    lines = [
        f"reads, idle service   {result.reads_idle}: {idle}",
        f"reads, during a soak  {result.reads_busy}: {busy}",
        f"p99 ratio             {result.p99_ratio:.2f} (wanted: at most {P99_RATIO_MAX:g})",
        f"soak's attempts/s     {result.attempts_ratio:.2f} of those without reads {wanted}",
        f"event streams         {kept}, beside one that reads nothing",
    ]
    if cycles is not None:
        more = f"{cycles.processes} processes and {cycles.descriptors} descriptors more than before"
        lines.append(f"starts and stops      {cycles.cycles}: {more}")
        lines += [f"  failed: {one}" for one in cycles.failed[:10]]
    lines.append(f"failed requests       {len(result.failed)}")
    lines += [f"  {one}" for one in result.failed[:10]]
    return "\n".join(lines) + "\n"
