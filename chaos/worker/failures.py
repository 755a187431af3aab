"""Whose fault an exception is, and where in saq it came from.

A wrapper that sees an exception leave a job's function or a user's hook marks that very object, so
a job that raises KeyError is never taken for saq's own KeyError. Everything else is judged by its
type and by the frames it passed. Messages and tracebacks are kept for saq's own errors only, and a
Job in them is reduced to its key: a job's content does not belong into a history.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

TRACEBACK_SIZE = 4096
MESSAGE_SIZE = 500
_MARK = "_saq_chaos_mark"
_HERE = str(Path(__file__).parent)
_QUIET = ("body", "hook")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_FOLDER = re.compile(r'(File ")[^"\n]*?(?:site-packages|lib/python[0-9.]+)/')


class Mark(NamedTuple):
    """What is known about one exception object."""

    origin: str
    where: str
    reported: bool


class Frame(NamedTuple):
    """One line that an exception passed."""

    path: str
    line: int
    function: str


def is_end(error: BaseException) -> bool:
    """A cancel, or the end of the process: no error."""
    return not isinstance(error, Exception)


def mark(error: BaseException, origin: str, where: str = "", *, reported: bool = False) -> None:
    """Remember whose exception this is."""
    error.__dict__[_MARK] = Mark(origin, where, reported)


def mark_of(error: BaseException) -> Mark | None:
    """What was remembered."""
    found = error.__dict__.get(_MARK)
    return found if isinstance(found, Mark) else None


def describe(error: BaseException, where: str, attempt: Any, worker: Any) -> dict[str, str]:
    """The fields of an error-raised event."""
    frames = _frames(error.__traceback__)
    ours = [frame for frame in frames if _in_saq(frame.path)]
    origin = _origin(error, frames, ours, attempt, worker)
    found = {"origin": origin, "where": where, "error": type(error).__name__}
    if ours:
        last = ours[-1]
        found["line"] = f"{Path(last.path).name}:{last.line} {last.function}"
    if origin not in _QUIET:
        found["message"] = _message(error)
        found["traceback"] = _traceback(error, found["message"])
    return found


def _origin(
    error: BaseException, frames: list[Frame], ours: list[Frame], attempt: Any, worker: Any
) -> str:
    marked = mark_of(error)
    if marked is not None and marked.origin:
        return marked.origin
    if attempt is not None and _is_copy(error, attempt.body_error):
        return "body"
    if _of_redis(error):
        return "redis"
    function = ours[-1].function if ours else ""
    if isinstance(error, asyncio.TimeoutError) and function == "process":
        return "timeout"
    if _is_unknown_function(error, frames, worker):
        return "unknown-function"
    if function in ("serialize", "deserialize"):
        return "body"  # a result or an argument that the queue's dump or load refuses
    return "body" if _is_users(frames, ours) else "internal"


def _is_users(frames: list[Frame], ours: list[Frame]) -> bool:
    """Whether it came through no line of saq's: a task that a body left behind."""
    return bool(frames) and not ours and not any(_in_package(frame.path) for frame in frames)


def _is_copy(error: BaseException, raised: BaseException | None) -> bool:
    """Futures hand some exceptions over from a thread as a new object of the same type."""
    return raised is not None and type(error) is type(raised) and error.args == raised.args


def _of_redis(error: BaseException) -> bool:
    return any(base.__module__ == "redis.exceptions" for base in type(error).__mro__)


def _is_unknown_function(error: BaseException, frames: list[Frame], worker: Any) -> bool:
    """`self.functions[job.function]` in `process()`, for a name that is not registered."""
    return (
        isinstance(error, KeyError)
        and bool(frames)
        and frames[-1].function == "process"
        and _in_saq(frames[-1].path)
        and len(error.args) == 1
        and isinstance(error.args[0], str)
        and error.args[0] not in getattr(worker, "functions", ())
    )


def _frames(trace: TracebackType | None) -> list[Frame]:
    return [
        Frame(frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(trace)
    ]


def _in_saq(path: str) -> bool:
    saq = str(getattr(sys.modules.get("saq"), "__file__", ""))
    return bool(saq) and path.startswith(str(Path(saq).parent) + os.sep)


def _in_package(path: str) -> bool:
    return path.startswith(_HERE + os.sep)


def _import_path(path: str) -> str:
    """`saq/worker.py`: the path from where it was imported, since equal runs give equal histories
    wherever their environments lie."""
    roots = [root for root in sys.path if root and path.startswith(root.rstrip(os.sep) + os.sep)]
    longest = max(roots, key=len, default="")
    return path[len(longest.rstrip(os.sep)) + 1 :] if longest else path


def _message(error: BaseException) -> str:
    """The message, with a Job in it reduced to its key, and without addresses of objects."""
    try:
        parts = [_plain(part) for part in error.args]
    except Exception:  # an exception whose arguments cannot be printed
        return ""
    return _ADDRESS.sub("", ", ".join(parts))[:MESSAGE_SIZE]


def _plain(part: Any) -> str:
    if hasattr(part, "key") and hasattr(part, "function"):
        return f"Job {part.key}"
    return str(part)


def _traceback(error: BaseException, message: str) -> str:
    """The last 4 kB of the traceback, without the probe's own frames, with the cleaned message.

    Where packages are installed is left out: the same error reads the same on every machine.
    """
    frames = [
        traceback.FrameSummary(
            _import_path(frame.filename), frame.lineno, frame.name, line=frame.line
        )
        for frame in traceback.extract_tb(error.__traceback__)
        if not _in_package(frame.filename)
    ]
    lines = [*traceback.format_list(frames), f"{type(error).__name__}: {message}\n"]
    return _FOLDER.sub(r"\1", "".join(lines))[-TRACEBACK_SIZE:]
