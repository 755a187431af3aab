"""What `story` does: read a stored run, judge it, choose a finding, tell it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from chaos import stored
from chaos.checkers import by_name
from chaos.cli import output
from chaos.cli.checking import judged, plan_for
from chaos.errors import UsageError
from chaos.reports import story
from chaos.variants import parse


def tell(path: Path, options: dict[str, Any]) -> int:
    """Tell a finding of what lies at `path`: on stdout, and as a page where it is asked for.

    Returns:
        0: there was a story to tell.

    Raises:
        HistoryError: there is no history there.
        UsageError: there is no such promise, or no such finding.
    """
    run = stored.open_run(path)
    plan = plan_for(run, {"plan": None, "baseline": None, "gate": None})
    promise = options["promise"] or ""
    if promise and promise not in plan.promises:
        plan = plan.model_copy(update={"promises": (*plan.promises, by_name(promise).name)})
    verdict = judged(plan, run.history, "")
    variant = parse(options["variant"]).label if options["variant"] else ""
    choice = story.choose(verdict, promise=promise, variant=variant, number=options["number"])
    told = story.of(run.history, choice)
    if options["page"] is not None:
        _write(options["page"], told)
    width = shutil.get_terminal_size((110, 24)).columns
    colour = output.wants_colour(sys.stdout, options["no_colour"])
    output.answer(story.text(told, width, colour=colour))
    return 0


def _write(page: Path, told: story.Story) -> None:
    try:
        page.write_text(story.html(told), "utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot write the page {page}: {error.strerror}; name another file as --html"
        ) from error
