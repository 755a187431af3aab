"""What a live world is opened with, and its time. Only data: nothing here starts anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from chaos.clock import MonotonicClock
from chaos.environments import Environment
from chaos.live.hosts import Files
from chaos.plan import Plan
from chaos.variants import Variant


class Journal(Protocol):
    """Where the controller's own events go: a `chaos.worker.recorder.Recorder`."""

    def record_fields(self, kind: int, job: str = "", attempt: int = 0, **fields: Any) -> None:
        """Append one event of the controller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One variant's place in a run.

    Attributes:
        plan: the recipe.
        variant: the build under test.
        environment: where its processes run.
        run_dir: the run directory; hosts write below `hosts/` in it.
        run: the run's id: marks our keys on a Redis that is not ours.
        origin_ns: CLOCK_MONOTONIC of the run's beginning; all stamps count from there.
        salt: what job contents are hashed with before they are recorded.
        app: `module:settings` of a user's application, or none.
        redis_url: a Redis that we did not start, or none for one of our own.
        allow_external: the second yes that such a Redis needs.
    """

    plan: Plan
    variant: Variant
    environment: Environment
    run_dir: Path
    run: str
    origin_ns: int
    salt: str
    app: str | None = None
    redis_url: str | None = field(default=None, repr=False)
    allow_external: bool = False

    @property
    def mark(self) -> str:
        """What our queues and keys begin with on a Redis that is not ours; empty on our own."""
        return f"saqchaos-{self.run}" if self.redis_url is not None else ""

    def files(self, host: str) -> Files:
        """Where a host's files are."""
        return Files(self.run_dir / "hosts", host)


class RunClock(MonotonicClock):
    """CLOCK_MONOTONIC since the run began: what the history's stamps count in."""

    def __init__(self, origin_ns: int) -> None:
        self._origin_us = origin_ns // 1_000

    def now_us(self) -> int:
        return super().now_us() - self._origin_us
