"""`saq-chaos explore PLAN`: many seeds of a plan in the simulator, judged together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from chaos.cli.params import Duration, OneOf


@click.command("explore", short_help="Search many seeds of a plan in the simulator.")
@click.argument("plan")
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="PATCH@SAQ",
    help="A saq build under test; repeat it: every variant runs the same seeds.",
)
@click.option("--seeds", type=click.IntRange(min=1), help="How many seeds, on each variant.")
@click.option(
    "--budget",
    type=Duration(),
    help="How long to search ('30s'). [default: 30s, if --seeds is not given either]",
)
@click.option("--until-failure", is_flag=True, help="Stop at the first seed that breaks a promise.")
@click.option(
    "--promise",
    "promises",
    multiple=True,
    metavar="NAME",
    help="Judge this promise alone; repeat it. [default: the plan's]",
)
@click.option(
    "--swarm",
    is_flag=True,
    help="Let each seed draw the plan's own parameters too: which faults, how many workers, times.",
)
@click.option(
    "--calm",
    is_flag=True,
    help="Leave nothing to chance but what happens when: every message takes as long as any other. "
    "Finds less, and what `confirm` can show.",
)
@click.option("--seed", type=click.IntRange(min=0), help="The base seed: all seeds come from it.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    help="Seeds at a time. [default: as many as there are processor cores]",
)
@click.option(
    "--duration",
    type=Duration(),
    help="How long load and faults go on in each seed. [default: many short seeds and some long "
    "ones, at most as long as the plan says]",
)
@click.option("--drain", type=Duration(), help="How long the queue may take to drain after it.")
@click.option(
    "--gate",
    type=OneOf("strict", "baseline"),
    help="What decides the exit code. strict: every promise holds. baseline: none is worse than "
    "on --baseline.",
)
@click.option("--baseline", metavar="PATCH@SAQ", help="The variant to compare with.")
@click.option("--workers", type=click.IntRange(min=1), help="Worker processes of each variant.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Jobs at a time in each worker.")
@click.option("--app", metavar="MODULE:SETTINGS", help="Your own saq settings, run in isolation.")
@click.option(
    "--python",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The interpreter of your app's environment. [default: the one that runs saq-chaos]",
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Run the seeds on this Dask cluster (needs the extra: saq-chaos[dask]).",
)
@click.option(
    "--run-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Where run directories are made; DIR/latest is a link to the last one.",
)
@click.option("--no-shrink", is_flag=True, help="Keep the first failure as it was found.")
@click.option("--json", "as_json", is_flag=True, help="Write the answer as JSON to stdout.")
@click.option(
    "--summary",
    type=click.Path(dir_okay=False, path_type=Path),
    help='Append a summary in Markdown to this file (in GitHub: "$GITHUB_STEP_SUMMARY").',
)
@click.option("--quiet", is_flag=True, help="No progress; the report alone.")
@click.option("--no-color", "no_colour", is_flag=True, help="No colours (NO_COLOR works too).")
def command(plan: str, **options: Any) -> int:
    """Run PLAN, a shipped plan's name or a YAML file, in the simulator under many seeds.

    saq itself runs unmodified, on virtual time and a simulated Redis. A seed decides who runs next,
    how long each command takes, what is enqueued, and when what goes wrong; the same seed always
    does the same. The first failure is cut down to the few decisions that it takes, and told.

    \b
    How often, and how soon:  saq-chaos explore same-key --variant stock@0.26.3 --seeds 1000
    Just find one:            saq-chaos explore same-key --variant stock@0.26.3 --until-failure
    Same seeds on two builds: saq-chaos explore same-key --variant guarded@0.26.3 \\
                                --variant stock@0.26.3 --seeds 1000
    """
    from chaos.cli import exploring

    return exploring.run(plan, options)
