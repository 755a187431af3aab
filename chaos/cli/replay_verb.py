"""`saq-chaos replay FILE`: make the run of a failure file again, to the byte; tell its story."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command("replay", short_help="Make a stored failure happen again, and tell how.")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--variant",
    metavar="PATCH@SAQ",
    help="Replay it on this build: is the finding there too? [default: the one that failed]",
)
@click.option(
    "--python",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The interpreter of your app's environment. [default: the one that runs saq-chaos]",
)
@click.option(
    "--history",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the history of the run there (JSON Lines).",
)
@click.option("--json", "as_json", is_flag=True, help="Write the answer as JSON to stdout.")
@click.option("--quiet", is_flag=True, help="The answer alone: no story.")
@click.option("--no-color", "no_colour", is_flag=True, help="No colours (NO_COLOR works too).")
def command(file: Path, **options: Any) -> int:
    """Run FILE again, a failure.json or a run directory with one.

    The same versions give the same history, event for event. The story is printed, and written as a
    page beside FILE.

    \b
    Exit codes: 0 it is the same run, 1 it is not (the first event that differs is shown).
    With another --variant: 0 the finding is not there, 1 it is.

    \b
    The last failure:              saq-chaos replay runs/latest
    Does the repair cure this one? saq-chaos replay runs/latest --variant guarded@0.26.3
    """
    from chaos.cli import replaying

    return replaying.run(file, options)
