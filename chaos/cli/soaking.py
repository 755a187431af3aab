"""What `soak` does between the command line and the conductor: request, run, report."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from chaos.cli import output
from chaos.errors import UsageError
from chaos.history import History
from chaos.live import run_dir
from chaos.plan_file import Overrides, load
from chaos.reports import files, markdown, text, verdict_json, words
from chaos.request import Observer, SoakRequest
from chaos.soak import SoakResult, soak
from chaos.verdict import Verdict


def overrides(options: dict[str, Any]) -> Overrides:
    """What the command line sets over the plan."""
    given = {field.name: options.get(field.name) for field in fields(Overrides)}
    return Overrides(**{**given, "variants": options["variants"] or None})


def request(plan: str, options: dict[str, Any]) -> SoakRequest:
    """The request that the command line describes.

    Raises:
        PlanError: the plan, or what overrides it, is wrong.
        UsageError: options that do not go together.
    """
    if options["redis_url"] and not options["allow_external"]:
        raise UsageError(
            "--redis-url names a Redis that saq-chaos did not start: jobs will be written to it. "
            "Say so with --allow-external, or leave --redis-url away to get one of our own"
        )
    if options["world"] == "sim":
        _refuse_live_only(options)
    return SoakRequest(
        plan=load(plan, overrides(options)),
        runs_dir=options["run_dir"],
        app=options["app"],
        python=options["python"],
        redis_url=options["redis_url"],
        allow_external=options["allow_external"],
        metrics_port=options["metrics_port"],
        world=options["world"],
    )


def _refuse_live_only(options: dict[str, Any]) -> None:
    """The simulator has no Redis server and nothing to scrape."""
    for name in ("redis_url", "metrics_port"):
        if options[name] is not None:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{flag} needs the live world: leave it away, or leave --world sim away"
            )


def run(wanted: SoakRequest, observer: Observer) -> SoakResult:
    """Make the run. Once it goes on, ^C and SIGTERM end it early: it heals and is judged.

    Raises:
        KeyboardInterrupt: it was ended before anything ran, so there is nothing to judge.
    """
    run_dir.private_umask()
    if wanted.world == "sim":
        from chaos.explore.simulated import soak_simulated

        return soak_simulated(wanted, observer, os.cpu_count() or 1)
    return soak(wanted, observer)


def report(result: SoakResult, options: dict[str, Any]) -> int:
    """Write the report files and the answer.

    Returns:
        The exit code.
    """
    files.write(result.folder, result.verdict, result.history)
    show(result.verdict, result.history, result.folder, options)
    if result.failure is not None:
        output.say(f"saq-chaos: {result.failure}")
    return words.exit_code(result.verdict)


def show(verdict: Verdict, history: History, folder: Path | None, options: dict[str, Any]) -> None:
    """Write the answer to stdout: the final table, or JSON; and the Markdown summary if asked."""
    if options.get("summary"):
        with options["summary"].open("a", encoding="utf-8") as file:
            file.write(markdown.render(verdict, history))
    if options["as_json"]:
        output.answer(verdict_json.render(verdict))
        return
    colour = output.wants_colour(sys.stdout, options["no_colour"])
    width = shutil.get_terminal_size((110, 24)).columns
    output.answer(text.render(verdict, history, run_dir=folder, width=width, colour=colour))
