"""What `soak` does between the command line and the conductor: request, run, report."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec

from chaos import plan_file
from chaos.cli import output
from chaos.errors import UsageError
from chaos.history import History
from chaos.reports import files, markdown, text, verdict_json, words
from chaos.request import Observer, SoakRequest, repeat_command
from chaos.run import soak
from chaos.verdict import Verdict

_OVERRIDES = ("seed", "duration", "drain", "gate", "baseline")


def overrides(options: dict[str, Any]) -> dict[str, Any]:
    """The keys of a plan that the command line sets, as a plan file would write them."""
    given = {name: options[name] for name in _OVERRIDES if options.get(name) is not None}
    if options.get("variants"):
        given["variants"] = list(options["variants"])
    return given


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
    return SoakRequest(
        plan=plan_file.load(plan, overrides(options)),
        runs_dir=options["run_dir"],
        app=options["app"],
        python=options["python"],
        redis_url=options["redis_url"],
        allow_external=options["allow_external"],
        metrics_port=options["metrics_port"],
        world=options["world"],
    )


def run(wanted: SoakRequest, observer: Observer) -> Verdict:
    """Make the run. ^C and SIGTERM end it early: it heals, and judges what it has seen.

    Raises:
        KeyboardInterrupt: it ended so early that there is nothing to judge.
    """
    try:
        return asyncio.run(_run(wanted, observer))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _run(wanted: SoakRequest, observer: Observer) -> Verdict:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await soak(wanted, observer)


def report(wanted: SoakRequest, verdict: Verdict, options: dict[str, Any]) -> int:
    """Write the report files and the answer.

    Returns:
        The exit code.
    """
    run_dir = wanted.runs_dir / verdict.run
    if not verdict.repeat:
        again = repeat_command(wanted, run_dir / "plan.yaml")
        verdict = msgspec.structs.replace(verdict, repeat=again)
    history = _history(run_dir)
    files.write(run_dir, verdict, history)
    show(verdict, history, run_dir, options)
    return words.exit_code(verdict)


def show(
    verdict: Verdict, history: History | None, run_dir: Path | None, options: dict[str, Any]
) -> None:
    """Write the answer to stdout: the final table, or JSON; and the Markdown summary if asked."""
    if options.get("summary"):
        with options["summary"].open("a", encoding="utf-8") as file:
            file.write(markdown.render(verdict, history))
    if options["as_json"]:
        output.answer(verdict_json.render(verdict))
        return
    colour = output.wants_colour(sys.stdout, options["no_colour"])
    width = shutil.get_terminal_size((110, 24)).columns
    output.answer(text.render(verdict, history, run_dir=run_dir, width=width, colour=colour))


def _history(run_dir: Path) -> History | None:
    """The stored history, if the run came far enough to have one."""
    with contextlib.suppress(FileNotFoundError):
        if (run_dir / "history.jsonl").stat().st_size:
            return History.read(run_dir / "history.jsonl")
    return None
