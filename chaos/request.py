"""What is asked of a run, and what a run tells while it goes on.

    command line ──SoakRequest──► chaos.run.soak ──Verdict──► reports
                                      │
                                      └── Observer: phases, ticks, notes (a table, lines, nothing)

The conductor knows no terminal and the progress display knows no process: these types, and a
`chaos.steering.Steering`, are all that passes between them. Nothing here decides anything.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol
from urllib.parse import urlsplit

from chaos.plan import App, Plan
from chaos.script import Script
from chaos.steering import Steering
from chaos.timeline import Timeline


@dataclass(frozen=True, slots=True)
class SoakRequest:
    """One run to be made.

    Attributes:
        plan: the recipe, with whatever the command line overrode already in it.
        runs_dir: where run directories are made (`runs/<id>/`).
        app: `module:settings` of a user's own saq application, or none.
        python: the interpreter that runs the application's workers; none: the one that runs us.
        redis_url: a Redis that we did not start, or none for one of our own per variant.
        allow_external: the second "yes" that a Redis of somebody else's needs.
        metrics_port: where Prometheus may scrape during the run (0: a free port), or none.
        world: where the plan runs.
        script: what happens when; none: drawn from the plan.
        repeat: the command line that makes this run again, where `soak` alone would not.
        run: the name of the run directory; empty: the time, the plan and the seed.
        steering: what the run can be told from outside while it goes on, if anything.
    """

    plan: Plan
    runs_dir: Path
    app: str | None = None
    python: Path | None = None
    redis_url: str | None = field(default=None, repr=False)  # it may hold a password
    allow_external: bool = False
    metrics_port: int | None = None
    world: Literal["live", "sim"] = "live"
    script: Script | None = None
    repeat: str = ""
    run: str = ""
    steering: Steering = field(default_factory=Steering, compare=False)

    @property
    def application(self) -> str | None:
        """The app under test: `--app`, or the one that the plan's workload names."""
        workload = self.plan.workload
        return self.app or (workload.app if isinstance(workload, App) else None)

    def repeat_command(self, plan_file: Path) -> str:
        """The command line that makes this run again; `plan_file` is the stored plan.

        A password in the URL is left out: it comes from the variable SAQCHAOS_REDIS_URL then.
        """
        if self.repeat:
            return self.repeat
        words = ["saq-chaos", "soak", str(plan_file)]
        if self.world != "live":
            words += ["--world", self.world]
        if self.app:
            words += ["--app", self.app]
        if self.python:
            words += ["--python", str(self.python)]
        if self.redis_url:
            words += ["--redis-url", without_password(self.redis_url)]
        if self.allow_external:
            words.append("--allow-external")
        return shlex.join(words)


@dataclass(frozen=True, slots=True)
class VariantStatus:
    """How one variant is doing now.

    Attributes:
        variant: its name, `PATCH@SAQ`.
        phase: preparing, safety, heal, liveness, judging or done.
        left_us: microseconds until the phase ends by itself (the bound, for liveness).
        counters: the counters of `chaos.counters` by name.
        faults_active: the faults that are injected and not yet healed, in the plan's order.
    """

    variant: str
    phase: str
    left_us: int
    counters: dict[str, float]
    faults_active: tuple[str, ...] = ()


class Observer(Protocol):
    """Is told how a run goes. It must return at once and must not raise."""

    def phase(self, variant: str, phase: str) -> None:
        """A variant entered a phase."""

    def tick(self, status: tuple[VariantStatus, ...]) -> None:
        """All variants, about once a second, in the plan's order."""

    def note(self, text: str) -> None:
        """Something worth a line: an environment is built, a server came up, a fault failed."""

    def folded(self, timelines: tuple[Timeline, ...]) -> None:
        """With each tick: the fold of all variants so far, to be read now and not kept."""


def without_password(url: str) -> str:
    """The URL as it may be shown: user and address, never the password or the query."""
    parts = urlsplit(url)
    credentials, at, address = parts.netloc.rpartition("@")
    user = credentials.partition(":")[0]
    return parts._replace(netloc=f"{user}{at if user else ''}{address}", query="").geturl()
