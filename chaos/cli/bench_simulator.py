"""`saq-chaos bench sim` and `bench determinism`: how fast the simulator is, how repeatable."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chaos.cli import output
from chaos.cli.params import Duration

if TYPE_CHECKING:
    from chaos.explore.bench_determinism import DeterminismResult
    from chaos.explore.bench_sim import Rate, SimResult

_NOT_REPEATABLE = 1
_VARIANT = click.option("--variant", default="stock@0.26.3", show_default=True, metavar="PATCH@SAQ")
_JSON = click.option("--json", "as_json", is_flag=True, help="Write the figures as JSON to stdout.")


@click.command("sim", short_help="Schedules/s, seeds/s, virtual over real time.")
@_VARIANT
@click.option("--runs", type=click.IntRange(1, 1_000_000), default=300, show_default=True)
@click.option(
    "--duration",
    type=Duration(),
    default="2h",
    show_default=True,
    help="How much virtual time of the plan `production`.",
)
@_JSON
def sim(variant: str, runs: int, duration: str, as_json: bool) -> int:
    """Measure the simulator in one process, with probe, history and checkers on.

    minimal: 1 worker, 1 key, 1 sweep. crowd: 3 workers, 8 jobs, a kill and a slow network.
    production: the plan of that name, virtual time over real time.
    """
    from chaos import variants
    from chaos.explore import bench_sim

    parsed = variants.parse(variant)
    variants.check([parsed], sim=True)
    environment = variants.prepare(parsed, output.say, sim=True)
    result = bench_sim.run(parsed, environment, runs=runs, duration=duration, progress=output.say)
    output.answer(_json(result) if as_json else sim_text(result))
    return 0


@click.command("determinism", short_help="The same seed in many processes, on every Python.")
@click.argument("plan", required=False)
@_VARIANT
@click.option("--replays", type=click.IntRange(2, 1_000_000), default=100, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("--duration", type=Duration(), help="How long load and faults go on.")
@click.option(
    "--python",
    "named",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="An interpreter to try; repeat it. [default: every supported one on this machine]",
)
@_JSON
def determinism(
    plan: str | None, variant: str, replays: int, seed: int, duration: str | None,
    named: tuple[Path, ...], as_json: bool,
) -> int:  # fmt: skip
    """Run one seed of PLAN in many processes, each with a PYTHONHASHSEED of its own.

    Without a PLAN it is one that has a bit of everything in two seconds.

    Exit code 0 if every Python gave one history for the seed and others for other seeds, else 1.
    """
    from chaos import plan_file, variants
    from chaos.explore import bench_determinism, bench_sim

    parsed = variants.parse(variant)
    wanted = plan_file.Overrides(variants=(variant,), duration=duration)
    given = bench_sim.plan_of(bench_determinism.EVERYTHING)
    result = bench_determinism.run(
        parsed,
        bench_sim.subject(parsed, plan_file.load(plan, wanted) if plan else given),
        seed,
        replays=replays,
        named=named,
        jobs=os.cpu_count() or 1,
        progress=output.say,
    )
    output.answer(_json(result) if as_json else determinism_text(result))
    return 0 if result.repeatable else _NOT_REPEATABLE


def sim_text(result: SimResult) -> str:
    """The figures in words."""
    speed = result.production
    return (
        f"{result.variant}: {result.environment}\n"
        f"minimal     {_rate(result.minimal)}\n"
        f"crowd       {_rate(result.crowd)}\n"
        f"production  {speed.times_real:,.0f} × real time ({speed.times_cpu:,.0f} × CPU time): "
        f"{speed.virtual_s / 3600:.1f} h in {speed.seconds:.1f} s, {speed.events} events, "
        f"{speed.key_errors} KeyErrors\n"
    )


def _rate(rate: Rate) -> str:
    return (
        f"{rate.per_second:.1f} runs/s ({rate.per_cpu_second:.1f} a CPU second): {rate.runs} runs, "
        f"{rate.events:.0f} events and {rate.steps:.0f} steps each, {rate.broken} broke a promise"
    )


def determinism_text(result: DeterminismResult) -> str:
    """What each Python gave, in words."""
    lines = []
    for one in result.pythons:
        said = "one history" if len(one.digests) == 1 else f"{len(one.digests)} HISTORIES"
        lines.append(
            f"Python {one.python}: {one.replays} replays of seed {result.seed}: {said} "
            f"({', '.join(digest[:16] for digest in list(one.digests)[:4])}); "
            f"{one.other_seeds} other seeds: {one.other_digests} others"
        )
    lines += [f"Python {minor}: not on this machine" for minor in result.absent]
    lines.append("repeatable" if result.repeatable else "NOT REPEATABLE")
    return "\n".join(lines) + "\n"


def _json(result: SimResult | DeterminismResult) -> str:
    """The same for machines."""
    import msgspec

    data = msgspec.to_builtins(result)
    if hasattr(result, "repeatable"):
        data["repeatable"] = result.repeatable
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"
