"""One host of a live world: its process, the files it is told by and tells through, and a slot.

    config.json (0600) ──► process ──► hosts/<host>.events ──EventFile──► events
                              └──────► hosts/<host>.log

A producer is up once it has said what it is (`host-began`). A worker is up once saq works in it:
its first call after that (each worker sweeps when it starts). Before, a SIGTERM would just end it,
for saq has not taken the signal yet. Starting and ending processes is `processes.py`'s; which
hosts there are is `fleet.py`'s.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.clock import SECOND_US
from chaos.environments import Environment
from chaos.errors import HostFailed
from chaos.event import AttemptBegan, CallInvoked, CallReturned, Event, HostBegan
from chaos.live.processes import Process
from chaos.plan import Plan
from chaos.saq_settings import saq_settings
from chaos.tail import EventFile
from chaos.variants import Variant

UNSEEN_US = 3 * SECOND_US
MAIN = Path(__file__).parent.parent / "worker" / "main.py"


@dataclass(frozen=True, slots=True)
class Files:
    """Where the files of one host are: `hosts/<host>.events`, `.log`, `.json`."""

    folder: Path
    host: str

    def path(self, kind: str) -> Path:
        return self.folder / f"{self.host}.{kind}"


class Host:
    """A worker or producer process of one variant, from its start to its last event."""

    def __init__(self, role: str, process: Process, events: EventFile) -> None:
        self.role = role
        self.name = process.host
        self.process = process
        self.events = events
        self.stopping = False
        loop = asyncio.get_running_loop()
        self.began: asyncio.Future[HostBegan] = loop.create_future()
        self.works: asyncio.Future[None] = loop.create_future()

    @property
    def up(self) -> bool:
        """Whether it runs, has said what it is, and works."""
        return self.process.running and self.works.done()

    def hear(self, event: Event) -> None:
        """Take one of its own events in."""
        if isinstance(event, HostBegan) and not self.began.done():
            self.began.set_result(event)
        elif not isinstance(event, CallInvoked | CallReturned | AttemptBegan):
            return
        if not self.works.done() and (self.role != "worker" or not isinstance(event, HostBegan)):
            self.works.set_result(None)

    @property
    def stop_us(self) -> int:
        """How long it may take to stop after SIGTERM, by what it said itself."""
        if not self.began.done():
            return 0
        began = self.began.result()
        return began.grace_us + began.deadline_us

    async def comes_up(self, within_us: int) -> None:
        """Wait until it is up; a worker whose calls cannot be seen counts as up a moment later.

        Raises:
            HostFailed: it exited before, or took too long; the message ends with what it printed.
        """
        exited = asyncio.create_task(self.process.exited())
        try:
            await _first_of(self.began, exited, within_us)
            if self.began.done():
                await _first_of(self.works, exited, UNSEEN_US)
        finally:
            exited.cancel()
        if self.began.done() and self.process.running:
            if not self.works.done():
                self.works.set_result(None)
            return
        what = (
            f"exited with code {exited.result()} before it was up"
            if exited.done() and not exited.cancelled()
            else f"did not come up within {within_us // SECOND_US} s"
        )
        raise HostFailed(f"{self.name} {what}; it printed:\n{self.process.log_tail()}")


async def _first_of(one: asyncio.Future[Any], other: asyncio.Future[Any], within_us: int) -> None:
    """Wait for either, or as long as `within_us`."""
    seconds = within_us / SECOND_US
    await asyncio.wait([one, other], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What all hosts of one world are told; `config_of` adds what one of them is told alone.

    Attributes:
        plan: the recipe.
        variant: the build under test.
        environment: where it runs.
        redis_url: the only Redis that the hosts may talk to. It may hold a password.
        queue: the name of the queue.
        salt: what job contents are hashed with before they are recorded.
        mark: what queue names and job keys begin with on a Redis that is not ours; else empty.
        app: `module:settings` of a user's application, or none.
        app_path: the folder that the application or the user's Worker class is imported from.
    """

    plan: Plan
    variant: Variant
    environment: Environment
    redis_url: str
    queue: str
    salt: str
    mark: str = ""
    app: str | None = None
    app_path: Path | None = None

    def config_of(self, role: str, files: Files) -> dict[str, Any]:
        """The config of one process, as `chaos/worker/config.py` reads it."""
        return {
            "role": role,
            "host": files.host,
            "events": str(files.path("events")),
            "redis_url": self.redis_url,
            "queue": self.queue,
            "salt": self.salt,
            "patch": self.variant.patch,
            **saq_settings(self.plan.workers, own=self.app is not None),
            "app": self.app,
            "app_path": str(self.app_path) if self.app_path else None,
            "workload": self.plan.workload.kind,
            "mark": self.mark,
        }


def write_config(path: Path, config: dict[str, Any]) -> None:
    """Write a config that nobody else can read: a Redis password may stand in it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)
