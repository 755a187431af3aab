"""`saq-chaos confirm FILE`: act a shrunk failure out on real parts: does it happen there too?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command("confirm", short_help="Act a stored failure out in the live world.")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--tries",
    type=click.IntRange(min=1),
    help="How many runs at most, of about six seconds each. [default: 10; fewer of a long failure]",
)
@click.option(
    "--python",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The interpreter of your app's environment. [default: the one that runs saq-chaos]",
)
@click.option(
    "--run-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Where run directories are made.",
)
@click.option("--json", "as_json", is_flag=True, help="Write the answer as JSON to stdout.")
@click.option("--quiet", is_flag=True, help="No progress; the answer alone.")
@click.option("--no-color", "no_colour", is_flag=True, help="No colours (NO_COLOR works too).")
def command(file: Path, **options: Any) -> int:
    """Play FILE, a failure.json or a run directory with one, on real workers and a real Redis.

    The live world has its own timing, so the script is played in rounds with new keys, first alone,
    then with several copies beside each other, until the finding is seen or the tries are used up.

    \b
    Exit codes: 0 it happened live, 3 it did not (that refutes nothing), 4 the world failed.
    """
    from chaos.cli import confirming, progress

    with progress.make(quiet=options["quiet"], no_colour=options["no_colour"]) as display:
        done = confirming.run(file, options, display)
    return confirming.report(done, options)
