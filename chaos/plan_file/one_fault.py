"""One fault to be injected now, as a mapping: read and refused in the words of a plan.

Its times are the caller's moment, so it may name none. What a world or a judge can take is not
decided here (`chaos.request.check_fault`).
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from chaos.errors import UsageError
from chaos.plan import FaultSpec
from chaos.plan_file import models
from chaos.plan_file.words import path_text

TIMES = ("every", "at", "jitter", "after")
# What stands around the fault, so that it is read by the code that reads plans.
_AROUND = {name: models.STAND_INS[name] for name in ("plan", "workload", "duration", "promises")}


def fault(given: Any) -> FaultSpec:
    """The fault that a mapping describes, as a plan writes it but without its times.

    Raises:
        UsageError: it is no fault, or it says when; the message holds every problem.
    """
    if not isinstance(given, dict):
        raise UsageError('a fault is a mapping such as {"fault": "sweep"}')
    timed = [name for name in TIMES if name in given]
    if timed:
        raise UsageError(f"it is injected now, so {', '.join(timed)} says nothing: leave it out")
    data = {**_AROUND, "faults": [{**given, "at": ["0s"]}]}
    try:
        return models.validate(data).faults[0]
    except ValidationError as error:
        found = models.problems(error, data)
        raise UsageError("; ".join(_said(one.path[2:], one.message) for one in found)) from error


def _said(path: tuple[str | int, ...], message: str) -> str:
    return f"{path_text(path)}: {message}" if path else message
