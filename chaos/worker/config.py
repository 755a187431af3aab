"""What a worker or producer process is told: the config file its launcher writes.

The file is JSON, mode 0600, and the only place where the Redis password may stand. It is read with
the standard library alone, since the interpreter of a variant has nothing else.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WHOLE_SECOND_TIMERS = ("schedule", "sweep", "worker_info")
_PASSWORD = re.compile(r"(://)\S*@")


class HostError(Exception):
    """This process cannot do what it was started for; the message is one line with the way out."""


@dataclasses.dataclass(frozen=True)
class Config:
    """One process of a run.

    Attributes:
        role: `worker` or `producer`.
        host: the host's full name in the history.
        events: path of the flight recorder's file, which must not exist yet.
        redis_url: the only Redis that this process may talk to.
        queue: the queue's name (an app's own queue keeps its own name).
        salt: what job contents are hashed with before they are recorded.
        patch: which worker class runs: a patch's name, or `module:Class`.
        concurrency, timers, grace_s, deadline_s: for saq's Worker; None: the app's own, or saq's.
        app: `module:settings` of a user's application; None: the bodies that ship.
        app_path: folder to put on `sys.path` for it.
        mark: what queue names and job keys begin with on a Redis that is not the run's own.
    """

    role: str
    host: str
    events: str
    redis_url: str
    salt: str
    queue: str = "default"
    patch: str = "stock"
    concurrency: int | None = None
    timers: Mapping[str, float] | None = None
    grace_s: float | None = None
    deadline_s: float | None = None
    app: str | None = None
    app_path: str | None = None
    workload: str = "same_key"
    mark: str = ""


def read_config(path: str) -> Config:
    """The config in a file.

    Raises:
        HostError: the file cannot be read, or says something that this process cannot do.
    """
    try:
        fields = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HostError(f"cannot read the config {path}: {error}") from error
    try:
        config = Config(**fields)
    except TypeError as error:
        raise HostError(f"the config {path} does not fit: {error}") from error
    _check(config)
    return config


def _check(config: Config) -> None:
    if config.role not in ("worker", "producer"):
        raise HostError(f"role {config.role!r} is neither worker nor producer")
    if (config.workload == "app") != (config.app is not None):
        raise HostError(
            f"workload {config.workload!r} with app {config.app!r}: an app needs workload 'app'"
            " and the workload 'app' needs module:settings"
        )
    for timer in WHOLE_SECOND_TIMERS:
        seconds = (config.timers or {}).get(timer, 1)
        if seconds < 1 or seconds != int(seconds):
            raise HostError(
                f"timer {timer} of {seconds} s: saq uses it as the lifetime of a Redis key, which"
                " takes whole seconds from 1 (only `abort` may be a fraction)"
            )


def whole(seconds: float) -> float:
    """The same number as an int where it is one: saq hands it to SETEX, which refuses `1.0`."""
    return int(seconds) if seconds == int(seconds) else seconds


def redact(text: str) -> str:
    """The text without the credentials of any URL in it, and on one line."""
    if not text:
        return ""
    return " ".join(_PASSWORD.sub(r"\1***@", text).split())


def describe(error: BaseException) -> str:
    """Type and message of an error in one line, without credentials."""
    return redact(f"{type(error).__name__}: {error}")


def describe_with_place(error: BaseException) -> str:
    """The same, and the file and line it comes from."""
    trace = error.__traceback__
    if trace is None:
        return describe(error)
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{describe(error)} ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"


def say(text: str) -> None:
    """One line on stderr, which the controller keeps as this host's log."""
    sys.stderr.write(f"saq-chaos: {redact(text)}\n")
    sys.stderr.flush()


def seconds_to_us(seconds: Any) -> int:
    """Microseconds of one of saq's times; 0 for none."""
    return round(float(seconds or 0) * 1_000_000)
