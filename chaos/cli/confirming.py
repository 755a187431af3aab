"""What `confirm` does between the command line and the soaks: run, answer."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import msgspec

from chaos.cli import output
from chaos.clock import MILLISECOND_US
from chaos.explore.confirm import Confirmed, confirm
from chaos.explore.failure import Failure
from chaos.live import run_dir
from chaos.reports import files, words
from chaos.reports.escape import terminal
from chaos.request import Observer
from chaos.sim.tape import LATENCY_US
from chaos.soak import SoakResult

EXIT_CONFIRMED, EXIT_NOT_CONFIRMED, EXIT_WORLD_FAILED, EXIT_INTERRUPTED = 0, 3, 4, 130
LINES_MAX = 40  # events of the excerpt
_HIDDEN = ("queue-depth", "answered", "job-state")


def run(file: Path, options: dict[str, Any], observer: Observer) -> Confirmed:
    """Play the failure until it is seen."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    run_dir.private_umask()
    return confirm(
        file,
        observer,
        _write,
        tries=options["tries"],
        runs_dir=options["run_dir"],
        python=options["python"],
    )


def _write(result: SoakResult) -> None:
    files.write(result.folder, result.verdict, result.history)


def report(done: Confirmed, options: dict[str, Any]) -> int:
    """Write the answer.

    Returns:
        The exit code.
    """
    output.answer(as_json(done) if options["as_json"] else "\n".join(_answer(done)) + "\n")
    if done.failed is not None:
        output.say(f"saq-chaos: {done.failed}")
    return exit_code(done)


def exit_code(done: Confirmed) -> int:
    """0 it was seen; else 130, 4 or 3, by what ended the last try."""
    if done.sight is not None:
        return EXIT_CONFIRMED
    if done.result.verdict.ended == "interrupted":
        return EXIT_INTERRUPTED
    return EXIT_WORLD_FAILED if done.failed is not None else EXIT_NOT_CONFIRMED


def as_json(done: Confirmed) -> str:
    """The answer for machines."""
    data = {
        "confirmed": done.sight is not None,
        "tries": done.tries,
        "copies": done.copies,
        "rounds": done.rounds,
        "variant": done.failure.variant,
        "promise": done.failure.finding.promise,
        "kind": done.failure.finding.kind,
        "message": done.sight.message if done.sight is not None else "",
        "events": done.sight.events if done.sight is not None else (),
        "run_dir": str(done.result.folder),
        "ended": done.result.verdict.ended,
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


def _answer(done: Confirmed) -> list[str]:
    found = done.failure.finding
    what = f"{found.promise} {found.kind} on {done.failure.variant}"
    tries = "1 try" if done.tries == 1 else f"{done.tries} tries"
    where = f"run directory: {terminal(str(done.result.folder))} (open report.html there)"
    if done.sight is None and done.result.verdict.ended == "interrupted":
        return [f"INTERRUPTED in try {done.tries}: {terminal(what)} was not seen so far", where]
    if done.sight is None:
        return [
            f"NOT CONFIRMED after {tries}: {terminal(what)} was not seen in the live world",
            "  which refutes nothing: a schedule of microseconds may be rare there",
            *_late(done.failure),
            where,
        ]
    how = f"rounds: {done.rounds}, copies in each: {done.copies}"
    return [
        f"CONFIRMED in the live world, in try {done.tries} ({how}): {terminal(what)}",
        f"  {terminal(done.sight.message)}",
        *(f"    {line}" for line in excerpt(done)),
        where,
    ]


def _late(failure: Failure) -> list[str]:
    """What the failure needs of the network, where our own server is a step away."""
    late_us = [
        value
        for name, value in failure.tape.items()
        if name.rpartition("|")[2] in ("request", "reply") and value > LATENCY_US
    ]
    if not late_us:
        return []
    needed = "1 late message" if len(late_us) == 1 else f"{len(late_us)} late messages"
    most = f"up to {max(late_us) / MILLISECOND_US:.1f} ms on the way"
    return [
        f"  it needs {needed} ({most}), and on one machine there is hardly any",
        "  a failure that needs none: saq-chaos explore … --until-failure --calm",
    ]


def excerpt(done: Confirmed) -> tuple[str, ...]:
    """The events of that job around the finding, one line each, the evidence marked."""
    sight, history = done.sight, done.result.history
    if sight is None or not sight.events:
        return ()
    last = history[sight.events[-1] - 1]
    near = [
        event
        for event in history
        if getattr(event, "job", "") == sight.job
        and event.n <= last.n
        and type(event).__struct_config__.tag not in _HIDDEN
    ]
    marks = {True: "►", False: " "}
    return tuple(
        f"{marks[event.n in sight.events]} {words.event_line(event)}" for event in near[-LINES_MAX:]
    )
