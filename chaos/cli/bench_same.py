"""`saq-chaos bench same`: whether two builds give one history, seed for seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from chaos.cli import output
from chaos.cli.params import Duration

if TYPE_CHECKING:
    from chaos.explore.bench_same import SameResult

_DIFFERENT = 1


@click.command("same", short_help="Whether two builds give one history, seed for seed.")
@click.argument("first", default="guarded@0.26.3", metavar="[PATCH@SAQ]")
@click.argument("second", default="stock@0.26.4", metavar="[PATCH@SAQ]")
@click.option("--plan", default="one-key", show_default=True, metavar="PLAN")
@click.option("--seeds", type=click.IntRange(1, 1_000_000), default=1_000, show_default=True)
@click.option("--duration", type=Duration(), help="How long load and faults go on in each seed.")
@click.option("--json", "as_json", is_flag=True, help="Write the figures as JSON to stdout.")
def same(
    first: str, second: str, plan: str, seeds: int, duration: str | None, as_json: bool
) -> int:
    """Run the same seeds of a plan on two builds, and compare their histories event by event.

    Both run with the first one's Python and redis-py, so that nothing but saq differs. What names
    the build (its version, its patch, line numbers of its source) is not compared.

    Exit code 0 if every seed gave one history, else 1.
    """
    from chaos import plan_file, variants
    from chaos.explore import bench_same

    builds = (variants.parse(first), variants.parse(second))
    variants.check(builds, sim=True)
    environments = [variants.prepare(build, output.say, sim=True) for build in builds]
    loaded = plan_file.load(plan, plan_file.Overrides(variants=(first,), duration=duration))
    result = bench_same.run(
        builds,
        (environments[0], environments[1]),
        loaded.model_copy(update={"gate": "strict"}),
        range(1, seeds + 1),
        output.say,
    )
    output.answer(_json(result) if as_json else same_text(result))
    return 0 if result.same == result.seeds else _DIFFERENT


def same_text(result: SameResult) -> str:
    """What came of it, in words."""
    told = (
        f"{result.variants[0]} and {result.variants[1]}, plan {result.plan}, on Python "
        f"{result.python} and redis-py {result.redis_py}: one history in {result.same} of "
        f"{result.seeds} seeds ({result.events} events, {result.collisions} slot collisions)"
    )
    lines = [told]
    lines += [
        f"seed {one.seed}, event {one.number}:\n  {one.first or '(the end)'}\n"
        f"  {one.second or '(the end)'}"
        for one in result.differences
    ]
    return "\n".join(lines) + "\n"


def _json(result: SameResult) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(result), indent=2).decode() + "\n"
