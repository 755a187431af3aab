"""Where the parts of the service meet: what the API asks of the runs, as protocols.

    api ──► Runs ──► store, queue, runner processes
     │
     └────► Caller (from security): who asks, and what that role may do

The API knows no process and no database; the runs know no HTTP. Every method raises a
`service.errors.ServiceError` where it cannot do what it is asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from service.models import (
    Event,
    FaultAccepted,
    FaultRequest,
    Lock,
    Outcome,
    Preview,
    Role,
    Run,
    RunPage,
    RunRequest,
    State,
)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. `name` stands in the audit log; `session` tells the console from a token."""

    name: str
    role: Role
    session: bool = False


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are listed. None is any; `label` is `name=value` or a name."""

    state: State | None = None
    outcome: Outcome | None = None
    plan: str | None = None
    trigger: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Trigger:
    """What made a run: kind is api, schedule or standing; `schedule` its name."""

    kind: str
    by: str
    schedule: str | None = None


class Runs(Protocol):
    """All runs of this service. `start` recovers what an earlier process left; `close` ends all."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    def ready(self) -> str:
        """Empty when runs can be made; else why not (locked is ready)."""

    def preview(self, request: RunRequest) -> Preview:
        """What the request would run."""

    def submit(self, request: RunRequest, trigger: Trigger, key: str | None = None) -> Run:
        """Put a run into the queue.

        `key` is the caller's Idempotency-Key: the same key with an equal request gives the run
        that it gave before; with another request it is a Conflict.
        """

    def get(self, run: str) -> Run: ...

    def webhooks(self, run: str) -> tuple[str, ...]:
        """The webhooks that its request named; none for a run that was found by its directory."""

    def find(self, which: RunFilter, cursor: str | None, limit: int) -> RunPage:
        """Newest first. A cursor stays valid while runs come and go."""

    async def stop(self, run: str, caller: Caller) -> Run:
        """End a run; its faults heal and what it recorded is judged and kept."""

    async def delete(self, run: str, caller: Caller) -> None:
        """Remove an ended run and its files."""

    async def inject(self, run: str, request: FaultRequest, caller: Caller) -> FaultAccepted:
        """Inject one fault now into a live run that is in its phase SAFETY."""

    def events(self, run: str, after: int) -> AsyncIterator[Event]:
        """Events with an id above `after`, from the store and then as they come, to the last one.

        A subscriber that does not keep up loses its stream, not events: it comes back with the
        id of the last one that it saw. TooMany at the limit of subscribers.
        """

    def folder(self, run: str) -> Path:
        """The run directory; it may lack files, and be broken."""

    async def lock(self, reason: str, caller: Caller) -> Lock:
        """Stop everything and start nothing until it is released. It outlives a restart."""

    async def release(self, caller: Caller) -> Lock: ...

    def locked(self) -> Lock: ...
