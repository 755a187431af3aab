"""What `export` does between the command line and the test: make it, write it, say what it is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec

from chaos.cli import output
from chaos.errors import UsageError
from chaos.explore import failure as files
from chaos.explore.export import Exported, export
from chaos.explore.pytest_text import replaying_test
from chaos.reports.escape import terminal

STDOUT = "-"


def run(file: Path, options: dict[str, Any]) -> int:
    """Export a failure file.

    Returns:
        The exit code: 0 once it is written.
    """
    if options["as_json"] and options["target"] == STDOUT:
        raise UsageError("--json and the test would both go to stdout: name a file, --pytest PATH")
    done = export(
        file,
        (lambda _line: None) if options["quiet"] else output.say,
        python=options["python"],
        also=options["also"],
    )
    written = _write(done, file, options["target"])
    if options["as_json"]:
        output.answer(as_json(done, written))
    elif not options["quiet"]:
        for line in _said(done, written):
            output.say(line)
    return 0


def _write(done: Exported, file: Path, target: str) -> tuple[Path, ...]:
    """Write the test, and beside one that replays it the failure file; the files written."""
    if target == STDOUT:
        output.answer(done.text)
        return ()
    path = Path(target)
    text, written = done.text, [path]
    try:
        if not done.short:
            copy = path.with_suffix(".json")
            text = replaying_test(done.failure, copy.name, done.why)
            shutil.copyfile(files.file_of(file), copy)
            written.append(copy)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}") from error
    return tuple(written)


def as_json(done: Exported, written: tuple[Path, ...]) -> str:
    """What became of it, for machines."""
    data = {
        "short": done.short,
        "why": done.why,
        "files": [str(path) for path in written],
        "trials": [
            {"variant": one.variant, "outcome": one.outcome, "error": one.error}
            for one in done.trials
        ],
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


def _said(done: Exported, written: tuple[Path, ...]) -> list[str]:
    lines = [f"wrote {terminal(str(path))}" for path in written]
    if not done.short:
        return [*lines, f"it replays the failure file through saq-chaos: {terminal(done.why)}"]
    for one in done.trials:
        raised = (
            f" ({terminal(one.error)}: {terminal(one.message, limit=120)})" if one.error else ""
        )
        lines.append(f"tried on {terminal(one.variant)}: {one.outcome}{raised}")
    return lines
