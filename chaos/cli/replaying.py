"""What `replay` does between the command line and the rerun: run, answer, story."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec

from chaos.cli import output
from chaos.event import CONTROLLER
from chaos.explore import failure as files
from chaos.explore.replay import Parting, Replayed, replay
from chaos.explore.rerun import Sight
from chaos.history import History
from chaos.reports import story
from chaos.reports.escape import terminal
from chaos.reports.story import Story
from chaos.verdict import Finding

_EVENT_SHOWN = 400


def run(file: Path, options: dict[str, Any]) -> int:
    """Replay a failure file and report it.

    Returns:
        The exit code.
    """
    done = replay(
        file,
        (lambda _line: None) if options["quiet"] else output.say,
        variant=options["variant"],
        python=options["python"],
    )
    for line in () if is_elsewhere(done) else done.differences:
        output.say(f"saq-chaos: {line}")
    if options["history"]:
        done.history.write(options["history"])
    page = None if options["quiet"] else write_page(files.file_of(file), done)
    if options["as_json"]:
        output.answer(as_json(done, page))
    else:
        output.answer("\n".join(_answer(done, page, options)) + "\n")
    return exit_code(done)


def exit_code(done: Replayed) -> int:
    """0: the same run; on another variant: the finding is not there."""
    if is_elsewhere(done):
        return 1 if done.sight is not None else 0
    return 0 if done.same else 1


def is_elsewhere(done: Replayed) -> bool:
    """Whether it was replayed on another variant than the one that failed."""
    return done.variant.text != done.failure.variant


def as_json(done: Replayed, page: Path | None) -> str:
    """The answer for machines."""
    parting = done.parting
    data = {
        "same": done.same,
        "variant": done.variant.text,
        "digest": done.digest,
        "digest_then": done.failure.digest,
        "found": done.sight is not None,
        "promise": done.failure.finding.promise,
        "kind": done.failure.finding.kind,
        "message": done.sight.message if done.sight is not None else "",
        "decisions": done.failure.decisions.after,
        "events": len(done.history),
        "differences": done.differences,
        "parting": None
        if parting is None
        else {"event": parting.number, "then": parting.then, "now": parting.now},
        "story": str(page) if page is not None else "",
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


# --- for people -----------------------------------------------------------------------------------


def _answer(done: Replayed, page: Path | None, options: dict[str, Any]) -> list[str]:
    told = story_of(done.history, done.sight, done)
    lines = _digests(done)
    if done.parting is not None and not is_elsewhere(done):
        lines += parting_lines(done.parting)
    if told is not None and not options["quiet"]:
        colour = output.wants_colour(sys.stdout, options["no_colour"])
        width = shutil.get_terminal_size((100, 24)).columns
        lines += ["", story.text(told, width, colour=colour).rstrip()]
    if page is not None:
        lines += ["", f"story: {terminal(str(page))}"]
    return lines


def _digests(done: Replayed) -> list[str]:
    found, after = done.failure.finding, done.failure.decisions.after
    what = f"{found.promise} {found.kind} in {after} decisions"
    there = "found" if done.sight is not None else "NOT found"
    lines = [f"{done.variant.text}: {what}: {there}"]
    if is_elsewhere(done):
        return [*lines, f"  it was found on {terminal(done.failure.variant)}"]
    same = "the same run, event for event" if done.same else "NOT the same run"
    lines += [f"digest {done.digest}: {same} ({len(done.history)} events)"]
    if not done.same:
        lines += [f"  then {done.failure.digest}"]
        if done.parting is None:
            lines += [
                "  the history of that run is not beside the file: no telling where they part"
            ]
    return lines


def parting_lines(parting: Parting) -> list[str]:
    """Where two histories part: the event, and what in it is not the same."""
    then, now = (_fields(event) for event in (parting.then, parting.now))
    if not then or not now or _place(then) != _place(now):
        return [
            f"they part at event {parting.number}:",
            f"  then {_shown(parting.then)}",
            f"  now  {_shown(parting.now)}",
        ]
    lines = [f"they part at event {parting.number}, {terminal(' '.join(_place(then)))}:"]
    for name in dict.fromkeys((*then, *now)):
        if then.get(name) != now.get(name):
            lines += [
                f"  {name} then {_text(then.get(name))}",
                f"  {' ' * len(name)} now  {_text(now.get(name))}",
            ]
    return lines


def _fields(event: str) -> dict[str, object]:
    decoded: dict[str, object] = msgspec.json.decode(event) if event else {}
    return decoded


def _place(fields: dict[str, object]) -> tuple[str, str]:
    """What kind of event it is, and whose."""
    return str(fields["event"]), f"on {fields.get('host', CONTROLLER)}"


def _text(value: object) -> str:
    return "(nothing)" if value is None else terminal(str(value), limit=_EVENT_SHOWN)


def _shown(event: str) -> str:
    return terminal(event, limit=_EVENT_SHOWN) if event else "(no event: the run was over)"


def story_of(history: History, sight: Sight | None, done: Replayed) -> Story | None:
    """The story of the finding, if it is there."""
    if sight is None:
        return None
    finding = Finding(kind=sight.kind, message=sight.message, job=sight.job, events=sight.events)
    return story.of(history, finding, promise=sight.promise, variant=done.variant.label)


def write_page(path: Path, done: Replayed) -> Path | None:
    """The story as a page beside the failure file; none if there is none or no room for it."""
    told = story_of(done.history, done.sight, done)
    if told is None or is_elsewhere(done):
        return None
    page = path.with_suffix(".html")
    try:
        page.write_text(story.html(told), "utf-8")
    except OSError as error:
        output.say(f"saq-chaos: cannot write the story to {page}: {error.strerror}")
        return None
    return page
