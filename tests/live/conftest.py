"""A live world for one test: real worker processes on a real Redis, with what they recorded."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from chaos import variants
from chaos.environments import Environment
from chaos.event import CONTROLLER, Event, HostExited
from chaos.live.setting import Setting
from chaos.live.world import LiveWorld, open_world
from chaos.plan import Plan
from chaos.tail import EventFile
from chaos.worker.recorder import Recorder
from chaos.world import Enqueue

VARIANT = "guarded@0.26.4"
SECONDS = 60.0
ANSWER_US = 60_000_000

EventT = TypeVar("EventT", bound=Event)


def plan(**changes: Any) -> Plan:
    """A small plan: two workers, quick timers, nothing that happens by itself."""
    fields = {
        "plan": "test",
        "workload": {"kind": "same_key"},
        "duration": "5s",
        "promises": ["one-at-a-time"],
        "workers": {
            "count": 2, "concurrency": 4, "grace": "300ms", "deadline": "300ms",
            "timers": {"abort": "100ms", "schedule": "1s", "sweep": "60s"},
        },
        **changes,
    }  # fmt: skip
    return Plan.model_validate_json(json.dumps(fields))


def job(key: str, takes_us: int = 1_000, profile: str = "quick") -> Enqueue:
    """A job with this key whose body takes this long."""
    body = {"profile": profile, "takes_us": takes_us, "beat_us": 100_000, "winds_down_us": 0}
    return Enqueue(
        function="saq_chaos_body", key=key, kwargs={"bodies": [{**body, "error": "ValueError"}]}
    )


class Seen:
    """The events of a world's hosts so far, and the controller's own."""

    def __init__(self, own: EventFile) -> None:
        self.events: list[Event] = []
        self._own = own

    def arrive(self, events: list[Event]) -> None:
        """Take a batch in (the world's `on_events`)."""
        self.events += events

    def of(self, kind: type[EventT]) -> list[EventT]:
        """The events of one kind, the controller's among them."""
        self.events += self._own.read()
        return [event for event in self.events if isinstance(event, kind)]

    def exits(self) -> list[tuple[str, int, bool]]:
        """Which hosts exited, with which code, and whether that was wanted."""
        return [(event.target, event.code, event.expected) for event in self.of(HostExited)]

    async def until(self, what: Callable[[], Any]) -> None:
        """Wait until `what()` is true; fails with a picture of what was seen instead."""
        deadline = time.monotonic() + SECONDS
        while not what():
            if time.monotonic() > deadline:
                self.of(Event)
                last = "\n".join(map(str, self.events[-20:]))
                pytest.fail(f"not within {SECONDS} s; the last events:\n{last}")
            await asyncio.sleep(0.02)


class Worlds:
    """Opens live worlds in a run directory below `folder`."""

    def __init__(self, folder: Path, environment: Environment) -> None:
        self.run_dir = folder / "run"
        self._environment = environment

    def setting(self, of: Plan, **changes: Any) -> Setting:
        """What a world is opened with."""
        fields: dict[str, Any] = {
            "plan": of,
            "variant": variants.parse(VARIANT),
            "environment": self._environment,
            "run_dir": self.run_dir,
            "run": "r1",
            "origin_ns": time.monotonic_ns(),
            "salt": "00",
            **changes,
        }
        return Setting(**fields)

    @asynccontextmanager
    async def open(
        self, of: Plan | None = None, **changes: Any
    ) -> AsyncIterator[tuple[LiveWorld, Seen]]:
        """A world that is up, and what its hosts and the controller record."""
        setting = self.setting(of or plan(), **changes)
        (self.run_dir / "hosts").mkdir(parents=True, exist_ok=True)
        path = self.run_dir / "hosts" / "controller.events"
        journal = Recorder(str(path))
        seen = Seen(EventFile(path, CONTROLLER, setting.origin_ns))
        try:
            async with open_world(setting, journal, seen.arrive) as world:
                yield world, seen
        finally:
            journal.close()


@pytest.fixture
def worlds(
    tmp_path: Path, environment: Callable[[str], Environment], monkeypatch: pytest.MonkeyPatch
) -> Worlds:
    """Worlds whose workers may take their time to end, so that a slow machine kills none."""
    monkeypatch.setattr("chaos.live.fleet.STOP_MARGIN_US", ANSWER_US)
    return Worlds(tmp_path, environment(VARIANT))
