"""`saq-chaos clean`: removes old runs and cached environments, and nothing that is not ours."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chaos.cli import output
from chaos.cli.params import Duration
from chaos.clock import SECOND_US, parse_duration_us

if TYPE_CHECKING:
    from chaos.stored import Entry

_MAY_STILL_RUN_S = 600


@click.command("clean", short_help="Remove old runs and cached environments.")
@click.option("--runs", "runs", is_flag=True, help="Runs only.")
@click.option("--environments", is_flag=True, help="Cached environments only.")
@click.option(
    "--keep",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Keep this many of each, the newest.",
)
@click.option("--older-than", type=Duration(), help="Remove only what is older ('48h').")
@click.option("--dry-run", is_flag=True, help="Say what would be removed.")
@click.option(
    "--run-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Where the runs are.",
)
def command(
    runs: bool,
    environments: bool,
    keep: int,
    older_than: str | None,
    dry_run: bool,
    run_dir: Path,
) -> int:
    """Remove old runs and cached environments (both, unless you name one).

    A folder is removed only if it carries our marker files: a run has a plan.yaml and hosts/, an
    environment a saq-chaos.json. A run that may still be going on is left alone. Environments are
    built again when they are needed; do not remove them while a soak runs.
    """
    from chaos import stored

    both = runs == environments
    age_s = parse_duration_us(older_than) / SECOND_US if older_than else 0.0
    now_s = time.time()
    old: list[Entry] = []
    if runs or both:
        finished = [one for one in stored.runs(run_dir) if _is_over(one, now_s)]
        old += outdated(finished, keep, age_s, now_s)
    if environments or both:
        old += outdated(stored.environments(), keep, age_s, now_s)
    for entry in old:
        if not dry_run:
            shutil.rmtree(entry.path)
        output.answer(f"{'would remove' if dry_run else 'removed'} {entry.path} ({entry.title})\n")
    if not old:
        output.answer("nothing to remove\n")
    if not dry_run:
        _drop_dangling_link(run_dir / "latest")
    return 0


def outdated(entries: Sequence[Entry], keep: int, age_s: float, now_s: float) -> list[Entry]:
    """What may go: neither among the newest `keep` nor younger than `age_s`."""
    return [entry for entry in entries[keep:] if now_s - entry.changed_s >= age_s]


def _is_over(run: Entry, now_s: float) -> bool:
    """Whether a run has ended: it has a verdict, or has written nothing for a while."""
    return run.finished or now_s - run.changed_s > _MAY_STILL_RUN_S


def _drop_dangling_link(link: Path) -> None:
    """`latest` may have pointed to a run that is gone now."""
    if link.is_symlink() and not link.exists():
        link.unlink()
