"""`saq-chaos bench …`: the benches, each in a module of its own; `overhead` stands here."""

from __future__ import annotations

import asyncio
from statistics import median
from typing import TYPE_CHECKING

import click

from chaos.cli import output
from chaos.cli.bench_api import api
from chaos.cli.bench_conformance import conformance
from chaos.cli.bench_same import same
from chaos.cli.bench_search import search
from chaos.cli.bench_simulator import determinism, sim
from chaos.cli.bench_transfer import transfer

if TYPE_CHECKING:
    from chaos.live.bench_overhead import OverheadResult


@click.group("bench", short_help="Measure saq-chaos: its cost, its speed, its repeatability.")
def command() -> None:
    """Measure saq-chaos itself."""


command.add_command(sim)
command.add_command(determinism)
command.add_command(conformance)
command.add_command(search)
command.add_command(same)
command.add_command(transfer)
command.add_command(api)


@command.command("overhead", short_help="Noop jobs/s with and without the probe.")
@click.option("--variant", default="stock@0.26.4", show_default=True, metavar="PATCH@SAQ")
@click.option("--rounds", type=click.IntRange(1, 1_000), default=40, show_default=True)
@click.option("--jobs", type=click.IntRange(100, 1_000_000), default=400, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Write the figures as JSON to stdout.")
def overhead(variant: str, rounds: int, jobs: int, as_json: bool) -> int:
    """Compare noop jobs/s of a bare saq worker with the same worker under the probe.

    The two take turns on one Redis, round by round, so that whatever else this machine does weighs
    on both; the answer is the median of the rounds' ratios (1.0: watching costs nothing).
    """
    from chaos import variants
    from chaos.live import bench_overhead

    parsed = variants.parse(variant)
    variants.check([parsed])
    environment = variants.prepare(parsed, output.say)
    result = asyncio.run(
        bench_overhead.run(environment, rounds=rounds, jobs=jobs, progress=output.say)
    )
    output.answer(as_text(result) if not as_json else _as_json(result))
    return 0


def as_text(result: OverheadResult) -> str:
    """The figures in words."""
    events = "every event was recorded" if result.every_event_recorded else "EVENTS ARE MISSING"
    return (
        f"{result.environment}; {result.server}; {len(result.ratios)} pairs of "
        f"{result.jobs} jobs, concurrency {result.concurrency}\n"
        f"bare    {median(one.jobs_per_s for one in result.bare):.0f} jobs/s\n"
        f"probed  {median(one.jobs_per_s for one in result.probed):.0f} jobs/s\n"
        f"ratio   {result.ratio_median:.3f} (median of the pairs; "
        f"{min(result.ratios):.3f} to {max(result.ratios):.3f})\n"
        f"CPU     {result.cpu_ratio_median:.3f} (bare / probed, a job)\n"
        f"events  {result.events} of {result.events_expected}: {events}\n"
    )


def _as_json(result: OverheadResult) -> str:
    """The same for machines; `every_event_recorded` is said too, since it is what counts."""
    import json

    import msgspec

    figures = {**msgspec.to_builtins(result), "every_event_recorded": result.every_event_recorded}
    return json.dumps(figures, indent=2) + "\n"
