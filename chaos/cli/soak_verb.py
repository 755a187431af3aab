"""`saq-chaos soak PLAN`: run a plan on real parts, judge it, exit as the gate says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from chaos.cli.params import Duration, OneOf


@click.command("soak", short_help="Run a plan and judge every variant of it.")
@click.argument("plan")
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="PATCH@SAQ",
    help="A saq build under test; repeat it. PATCH: stock, by-key, by-id, guarded or your own "
    "module:WorkerClass. SAQ: a version, a path to a checkout, or 'installed'.",
)
@click.option("--seed", type=click.IntRange(min=0), help="The seed of every draw of the run.")
@click.option("--duration", type=Duration(), help="How long faults and load go on ('90s').")
@click.option("--drain", type=Duration(), help="How long the queue may take to drain after it.")
@click.option(
    "--gate",
    type=OneOf("strict", "baseline"),
    help="What decides the exit code. strict: every promise holds. baseline: none is worse than "
    "on --baseline.",
)
@click.option("--baseline", metavar="PATCH@SAQ", help="The variant to compare with.")
@click.option(
    "--order",
    type=OneOf("side-by-side", "in-turn"),
    help="Whether variants run at the same time.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Worker processes of each variant.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Jobs at a time in each worker.")
@click.option("--app", metavar="MODULE:SETTINGS", help="Your own saq settings, run in isolation.")
@click.option(
    "--python",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The interpreter of your app's environment. [default: the one that runs saq-chaos]",
)
@click.option(
    "--redis-url",
    envvar="SAQCHAOS_REDIS_URL",
    help="A Redis to use instead of starting our own. Needs --allow-external. A password belongs "
    "into the variable SAQCHAOS_REDIS_URL, not on the command line.",
)
@click.option("--allow-external", is_flag=True, help="Yes, use that Redis: jobs are written to it.")
@click.option(
    "--run-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Where run directories are made; DIR/latest is a link to the last one.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    help="Serve Prometheus metrics on this loopback port during the run (0: a free one).",
)
@click.option("--json", "as_json", is_flag=True, help="Write the verdict as JSON to stdout.")
@click.option(
    "--summary",
    type=click.Path(dir_okay=False, path_type=Path),
    help='Append a summary in Markdown to this file (in GitHub: "$GITHUB_STEP_SUMMARY").',
)
@click.option("--quiet", is_flag=True, help="No progress; the report alone.")
@click.option("--no-color", "no_colour", is_flag=True, help="No colours (NO_COLOR works too).")
@click.option(
    "--world",
    type=OneOf("live", "sim"),
    default="live",
    show_default=True,
    help="Where it runs: on real processes and a real Redis, or on virtual time in the simulator.",
)
def command(plan: str, **options: Any) -> int:
    """Run PLAN, a shipped plan's name or a YAML file, and judge it.

    Each variant gets a Redis of its own, real worker processes, load and faults; then everything
    heals, the queue drains, and the promises of the plan are judged on what was recorded.

    \b
    Everything is in the plan; what you give here overrides it. See: saq-chaos list plans
    First look (3 minutes):   saq-chaos soak same-key
    In a deploy pipeline:     saq-chaos soak smoke --quiet
    Your own app and plan:    saq-chaos soak my-plan.yaml --app myapp.tasks:settings
    Two days in a minute:     saq-chaos soak production --world sim --variant stock@0.26.3
    Gate a saq upgrade:       saq-chaos soak same-key --variant stock@0.26.3 \\
                                --variant stock@0.26.4 --gate baseline --baseline stock@0.26.3
    """
    from chaos.cli import progress, soaking

    request = soaking.request(plan, options)
    with progress.make(quiet=options["quiet"], no_colour=options["no_colour"]) as display:
        result = soaking.run(request, display)
    return soaking.report(result, options)
