"""One line in the audit log for each request that changes something, also when it was refused.

    with audited(request, caller, "run.stop", run): …

An error of the service is the outcome `refused` with its kind; it goes on to the caller as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import Request

from service.errors import ServiceError
from service.ports import Caller


class Entry:
    """What will stand in the log; a route may say more once it knows."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.detail = ""


@contextmanager
def audited(request: Request, caller: Caller, action: str, target: str) -> Iterator[Entry]:
    """Record how what is done inside ends."""
    entry = Entry(target)
    log = request.app.state.audit
    try:
        yield entry
    except ServiceError as error:
        log.record(caller, action, entry.target, "refused", f"{error.kind}: {error.detail}")
        raise
    except Exception as error:
        log.record(caller, action, entry.target, "failed", type(error).__name__)
        raise
    log.record(caller, action, entry.target, "done", entry.detail)
