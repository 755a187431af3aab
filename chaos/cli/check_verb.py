"""`saq-chaos check PATH`: judge a stored history again, with today's checkers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from chaos.cli.params import OneOf


@click.command("check", short_help="Judge a stored run, or a history written by hand.")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--plan",
    help="The plan to judge by. [default: plan.yaml beside the history, else every promise]",
)
@click.option("--gate", type=OneOf("strict", "baseline"), help="What decides the exit code.")
@click.option("--baseline", metavar="PATCH@SAQ", help="The variant to compare with.")
@click.option(
    "--write",
    is_flag=True,
    help="Write verdict.json, report.html, junit.xml and the story (and a rebuilt history.jsonl) "
    "into the run directory.",
)
@click.option("--json", "as_json", is_flag=True, help="Write the verdict as JSON to stdout.")
@click.option(
    "--summary",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append a summary in Markdown to this file.",
)
@click.option("--no-color", "no_colour", is_flag=True, help="No colours (NO_COLOR works too).")
def command(path: Path, **options: Any) -> int:
    """Judge PATH, a history.jsonl or a run directory, and exit as the run itself would.

    A run whose saq-chaos was killed has no history.jsonl: it is merged from what its processes
    recorded. A history can also be written by hand, one event a line (docs/results.md).

    \b
    The last run:                 saq-chaos check runs/latest
    By another plan:              saq-chaos check runs/latest --plan my-plan.yaml
    Against one of its variants:  saq-chaos check runs/latest --baseline stock@0.26.3
    """
    from chaos.cli import checking

    return checking.check(path, options)
