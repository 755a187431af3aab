"""`saq-chaos gate --server URL --plan PLAN`: a run on a service, and its exit code as ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from chaos.cli.params import Duration, OneOf


@click.command("gate", short_help="Ask a saq-chaos service for a run and exit as its gate says.")
@click.option(
    "--server",
    envvar="SAQCHAOS_SERVER",
    required=True,
    metavar="URL",
    help="The service's address.",
)
@click.option(
    "--plan",
    required=True,
    help="A plan that the service offers, or a YAML file of yours: it is sent along.",
)
@click.option("--variant", "variants", multiple=True, metavar="PATCH@SAQ", help="Repeat it.")
@click.option("--gate", type=OneOf("strict", "baseline"), help="What decides. [default: the plan]")
@click.option("--baseline", metavar="PATCH@SAQ", help="The variant to compare with.")
@click.option("--world", type=OneOf("live", "sim"), default="live", show_default=True)
@click.option("--seed", type=click.IntRange(min=0), help="The seed of every draw of the run.")
@click.option("--duration", type=Duration(), help="How long faults and load go on ('90s').")
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE", help="Repeat it.")
@click.option("--app", help="An application that the service lists.")
@click.option("--redis", help="A Redis that the service lists. [default: one of its own]")
@click.option("--webhook", "webhooks", multiple=True, help="An address that the service lists.")
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Where the token stands. [default: the variable SAQCHAOS_TOKEN]",
)
@click.option(
    "--idempotency-key",
    help="The same key asks for the same run again instead of a second one: a job that is repeated "
    "by CI goes on following its first run. [default: a new one]",
)
@click.option(
    "--timeout",
    type=Duration(),
    default="1h",
    show_default=True,
    help="How long to wait for the answer, the queue included; the run is stopped then.",
)
@click.option(
    "--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write JUnit to this file."
)
@click.option(
    "--report", type=click.Path(dir_okay=False, path_type=Path), help="Write the HTML report."
)
@click.option(
    "--summary",
    type=click.Path(dir_okay=False, path_type=Path),
    help='Append the summary in Markdown (in GitHub: "$GITHUB_STEP_SUMMARY").',
)
@click.option("--json", "as_json", is_flag=True, help="Write the run as JSON to stdout.")
@click.option("--quiet", is_flag=True, help="No progress; the answer alone.")
def command(server: str, plan: str, **options: Any) -> int:
    """Start a run on the service at URL, show how it goes, and exit with its exit code.

    \b
    In a deploy pipeline:
      saq-chaos gate --server https://chaos.example.com --plan smoke --variant stock@0.26.4
    Nothing worse than what runs today:
      saq-chaos gate --server "$URL" --plan same-key --variant stock@0.26.3 \\
        --variant stock@0.26.4 --gate baseline --baseline stock@0.26.3

    \b
    Exit codes are those of a run: 0 passed, 1 failed, 3 UNKNOWN, 4 the world or the
    service failed, 130 stopped or interrupted; 2 if the service refuses the request.
    ^C stops the run on the service.
    """
    from chaos.cli import gating

    return gating.gate(server, plan, options)
