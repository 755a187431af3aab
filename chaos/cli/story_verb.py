"""`saq-chaos story RUN`: how a promise came to be broken, step by step, in plain words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command("story", short_help="Tell how a finding of a stored run came about.")
@click.argument("path", metavar="RUN", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--promise",
    metavar="NAME",
    help="Tell a finding of this promise, also one that the plan does not name. "
    "[default: the first broken one]",
)
@click.option("--variant", metavar="PATCH@SAQ", help="Tell a finding of this variant.")
@click.option(
    "--number",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Which finding of the promise.",
)
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it as a page there, with the picture.",
)
@click.option("--no-color", "no_colour", is_flag=True, help="No colours (NO_COLOR works too).")
def command(path: Path, **options: Any) -> int:
    """Tell a finding of RUN, a run directory or a history.jsonl.

    The run is judged with today's checkers first, by its own plan. `soak`, `check --write` and
    `explore` write the story of the first finding into the run directory: story.html, story.txt.

    \b
    The last run's worst:      saq-chaos story runs/latest
    Its third double run:      saq-chaos story runs/latest --promise one-at-a-time --number 3
    As a page with a picture:  saq-chaos story runs/latest --html story.html
    """
    from chaos.cli import telling

    return telling.tell(path, options)
