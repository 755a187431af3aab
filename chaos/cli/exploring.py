"""What `explore` does between the command line and the search: request, progress, report."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import msgspec

from chaos.checkers import by_name
from chaos.cli import output
from chaos.clock import SECOND_US, parse_duration_us
from chaos.errors import UsageError
from chaos.explore.explore import ExploreResult, explore
from chaos.explore.request import ExploreRequest, ExploreStatus, LaneStatus
from chaos.explore.results import FirstFailure
from chaos.explore.search import Extent
from chaos.live import run_dir
from chaos.plan import Plan
from chaos.plan_file import Overrides, load
from chaos.reports import exploration, files, markdown, story, text, verdict_json, words
from chaos.reports.escape import terminal
from chaos.reports.story import Story
from chaos.variants import parse
from chaos.verdict import Finding

BUDGET_US = 30 * SECOND_US
EVERY_US = 5 * SECOND_US


def run(plan: str, options: dict[str, Any]) -> int:
    """Make the exploration that the command line describes, and report it.

    Returns:
        The exit code.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    run_dir.private_umask()
    observer = Quiet() if options["quiet"] else Lines()
    wanted = request(plan, options)
    with executor_of(options["dask"]) as executor:
        result = explore(wanted, observer, executor)
    return report(result, options)


def request(plan: str, options: dict[str, Any]) -> ExploreRequest:
    """The request that the command line describes.

    Raises:
        PlanError: the plan, or what overrides it, is wrong.
        UsageError: a promise that does not exist.
    """
    budget_us = parse_duration_us(options["budget"]) if options["budget"] else 0
    if not budget_us and not options["seeds"]:
        budget_us = BUDGET_US
    return ExploreRequest(
        plan=plan_of(plan, options),
        runs_dir=options["run_dir"],
        extent=Extent(
            seeds=options["seeds"] or 0,
            budget_us=budget_us,
            until_failure=options["until_failure"],
            lengths=options["duration"] is None,
        ),
        jobs=options["jobs"] or os.cpu_count() or 1,
        swarm=options["swarm"],
        calm=options["calm"],
        shrink=not options["no_shrink"],
        app=options["app"],
        python=options["python"],
    )


def plan_of(name: str, options: dict[str, Any]) -> Plan:
    """The plan with what the command line sets over it."""
    given: dict[str, Any] = {field.name: options.get(field.name) for field in fields(Overrides)}
    given["variants"] = options["variants"] or None
    plan = load(name, Overrides(**given))
    if not options["promises"]:
        return plan
    names = tuple(dict.fromkeys(by_name(name).name for name in options["promises"]))
    return plan.model_copy(update={"promises": names})


@contextmanager
def executor_of(address: str | None) -> Iterator[Executor | None]:
    """The executor of a Dask cluster, for as long as it is needed; none: the local one.

    Raises:
        UsageError: Dask is not installed, or nobody answers at this address.
    """
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError(
            f"--dask {address} needs Dask ({error}): pip install 'saq-chaos[dask]'"
        ) from error
    try:
        client = Client(address, timeout="10s")  # type: ignore[no-untyped-call] # Dask has no types
    except (OSError, ValueError) as error:
        raise UsageError(f"--dask {address}: no Dask scheduler answers there ({error})") from error
    with client:
        yield client.get_executor(pure=False)  # type: ignore[no-untyped-call] # the same


# --- progress -------------------------------------------------------------------------------------


class Quiet:
    """Shows nothing."""

    def note(self, text: str) -> None:
        """Not shown."""

    def found(self, failure: FirstFailure) -> None:
        """Not shown."""

    def progress(self, status: ExploreStatus) -> None:
        """Not shown."""


class Lines(Quiet):
    """One line for each note and first failure, and one for each variant every five seconds."""

    def __init__(self) -> None:
        self._next_us = EVERY_US

    def note(self, text: str) -> None:
        """Say it."""
        output.say(terminal(text))

    def found(self, failure: FirstFailure) -> None:
        """Say which seed broke what, and how soon that was known."""
        output.say(f"{terminal(failure.variant)}: {exploration.failure_line(failure)}")

    def progress(self, status: ExploreStatus) -> None:
        """Say how far each variant is, now and then."""
        if status.search_us < self._next_us:
            return
        self._next_us = status.search_us + EVERY_US
        for lane in status.lanes:
            output.say(status_line(lane, status))


def status_line(lane: LaneStatus, status: ExploreStatus) -> str:
    """`stock@0.26.3: 812 of 1000 seeds, 40.2/s; …`: how far one variant is."""
    wanted = f" of {status.extent.seeds}" if status.extent.seeds else ""
    rate = lane.seeds * SECOND_US / status.search_us if status.search_us else 0.0
    broken = ", ".join(f"{name} {count}" for name, count in lane.failing.items()) or "none"
    return (
        f"{terminal(lane.variant)}: {lane.seeds}{wanted} seeds, {rate:.1f}/s, "
        f"interleavings {lane.interleavings} (a new one {lane.since_new} seeds ago), "
        f"broken in: {broken}"
    )


# --- the answer -----------------------------------------------------------------------------------


def report(result: ExploreResult, options: dict[str, Any]) -> int:
    """Write the report files and the answer.

    Returns:
        The exit code.
    """
    verdict, history = result.verdict, result.history
    files.write(result.folder, verdict, history)
    told = tell(result)
    if options["summary"]:
        with options["summary"].open("a", encoding="utf-8") as file:
            file.write(markdown.render(verdict, history))
    if options["as_json"]:
        output.answer(as_json(result))
    else:
        colour = output.wants_colour(sys.stdout, options["no_colour"])
        width = shutil.get_terminal_size((110, 24)).columns
        output.answer(exploration.render(result.explored))
        if told is not None:
            output.answer(story.text(told, width, colour=colour) + "\n")
        output.answer(
            text.render(verdict, history, run_dir=result.folder, width=width, colour=colour)
        )
    if result.failure is not None:
        output.say(f"saq-chaos: {result.failure}")
    return words.exit_code(verdict)


def tell(result: ExploreResult) -> Story | None:
    """The story of the shrunk failure, written as story.txt and story.html; none without one."""
    captured = result.captured
    if captured is None:
        return None
    found = captured.failure.finding
    finding = Finding(kind=found.kind, message=found.message, job=found.job, events=found.events)
    told = story.of(
        captured.history,
        finding,
        promise=found.promise,
        variant=parse(captured.failure.variant).label,
    )
    (result.folder / "story.txt").write_text(story.text(told), "utf-8")
    (result.folder / "story.html").write_text(story.html(told), "utf-8")
    return told


def as_json(result: ExploreResult) -> str:
    """`{"verdict": …, "explored": …}`: verdict.json and explored.json in one."""
    verdict = msgspec.json.decode(verdict_json.render(result.verdict))
    both = {"verdict": verdict, "explored": msgspec.to_builtins(result.explored)}
    return msgspec.json.format(msgspec.json.encode(both), indent=2).decode() + "\n"
