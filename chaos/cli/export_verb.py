"""`saq-chaos export FILE --pytest [PATH]`: a stored failure as a regression test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command("export", short_help="Write a stored failure as a regression test.")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--pytest",
    "target",
    is_flag=False,
    flag_value="-",
    metavar="[PATH]",
    required=True,
    help="Write a pytest file; without PATH to stdout.",
)
@click.option(
    "--try",
    "also",
    multiple=True,
    metavar="PATCH@SAQ",
    help="Try the test on this build too, such as one with a repair; repeat it.",
)
@click.option(
    "--python",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The interpreter to build environments with. [default: the one that runs saq-chaos]",
)
@click.option("--json", "as_json", is_flag=True, help="Write what became of it as JSON to stdout.")
@click.option("--quiet", is_flag=True, help="The test alone.")
def command(file: Path, **options: Any) -> int:
    """Make a test of FILE, a failure.json or a run directory with one.

    The test needs saq, redis-py, pytest and a Redis in REDIS_URL. It forces the order of events
    that broke the promise, without a sleep, and it was tried: it fails on the build that failed.
    A schedule finer than that becomes a test that replays FILE through saq-chaos.

    \b
    To look at:        saq-chaos export runs/latest --pytest
    To keep:           saq-chaos export runs/latest --pytest tests/test_same_key.py
    Does a repair help? saq-chaos export runs/latest --pytest t.py --try stock@0.26.4
    """
    from chaos.cli import exporting

    return exporting.run(file, options)
