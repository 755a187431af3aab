"""`saq-chaos bench search`: how soon the simulator finds a failure, over many base seeds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from chaos.cli import output
from chaos.cli.params import Duration

if TYPE_CHECKING:
    from chaos.explore.bench_search import SearchResult


@click.command("search", short_help="How soon a search finds the failure, over many base seeds.")
@click.argument("plan", default="same-key")
@click.option("--variant", default="stock@0.26.3", show_default=True, metavar="PATCH@SAQ")
@click.option("--bases", type=click.IntRange(1, 100_000), default=100, show_default=True)
@click.option("--promise", default="no-internal-errors", show_default=True, metavar="NAME")
@click.option(
    "--limit", type=Duration(), default="1s", show_default=True, help="Found in this time counts."
)
@click.option(
    "--budget", type=Duration(), default="30s", show_default=True, help="Give up after this time."
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    help="Seeds at a time. [default: as many as there are processor cores]",
)
@click.option("--json", "as_json", is_flag=True, help="Write the figures as JSON to stdout.")
def search(
    plan: str, variant: str, bases: int, promise: str, limit: str, budget: str,
    jobs: int | None, as_json: bool,
) -> int:  # fmt: skip
    """Search PLAN once from each of the base seeds 1, 2, 3, …, each time in new processes.

    It says in how many of them the promise was seen broken within --limit: of search, which begins
    when the simulating processes are ready, and from their start.
    """
    from chaos import plan_file, variants
    from chaos.checkers import by_name
    from chaos.clock import parse_duration_us
    from chaos.explore import bench_search
    from chaos.explore.tasks import Place

    parsed = variants.parse(variant)
    variants.check([parsed], sim=True)
    loaded = plan_file.load(plan, plan_file.Overrides(variants=(variant,)))
    result = bench_search.run(
        Place(parsed, variants.prepare(parsed, output.say, sim=True)),
        loaded.model_copy(update={"promises": (by_name(promise).name,)}),
        bases=range(1, bases + 1),
        limit_us=parse_duration_us(limit),
        budget_us=parse_duration_us(budget),
        jobs=jobs or os.cpu_count() or 1,
        progress=output.say,
    )
    output.answer(_json(result) if as_json else search_text(result))
    return 0


def search_text(result: SearchResult) -> str:
    """The figures in words."""
    limit = f"{result.limit_us / 1e6:g} s"
    kinds = ", ".join(f"{kind} {count}" for kind, count in result.kinds.items()) or "nothing"
    return (
        f"{result.variant}, plan {result.plan}, {result.promise}: {kinds} "
        f"in {result.bases} searches, {result.jobs} seeds at a time\n"
        f"of search          {result.in_time} within {limit}; {_quantiles(result.found)}\n"
        f"from their start   {result.in_time_from_start} within {limit}; "
        f"{_quantiles(result.from_start)}\n"
    )


def _quantiles(times: dict[str, int]) -> str:
    return ", ".join(f"{float(share):.0%} {us / 1e6:.2f} s" for share, us in times.items())


def _json(result: SearchResult) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(result), indent=2).decode() + "\n"
