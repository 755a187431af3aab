"""What is asked of an exploration, and what it tells while it goes on.

The same three types as for a soak (`chaos.request`): a request, a status, an observer. Nothing here
decides anything.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from chaos.clock import format_duration
from chaos.explore.results import FirstFailure
from chaos.explore.search import Extent
from chaos.explore.swarm import plan_for
from chaos.plan import App, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreRequest:
    """One exploration to be made.

    Attributes:
        plan: the recipe, with whatever the command line overrode already in it; its seed is the
            base seed.
        runs_dir: where run directories are made.
        extent: how far it goes.
        jobs: how many seeds run at a time.
        swarm: let each seed draw the plan's own parameters too.
        calm: leave nothing to chance but what happens when (`chaos.explore.protocol.Subject`).
        shrink: cut the first failure down, and write its failure file.
        app: `module:settings` of a user's own saq application, or none.
        python: the interpreter of the application, or the one to build environments with.
    """

    plan: Plan
    runs_dir: Path
    extent: Extent
    jobs: int
    swarm: bool = False
    calm: bool = False
    shrink: bool = True
    app: str | None = None
    python: Path | None = None

    @property
    def application(self) -> str | None:
        """The app under test: `--app`, or the one that the plan's workload names."""
        workload = self.plan.workload
        return self.app or (workload.app if isinstance(workload, App) else None)

    def plan_of(self, number: int, seed: int) -> Plan:
        """The plan as seed `number` of this exploration ran it."""
        duration_us = self.extent.duration_us(self.plan, number)
        return plan_for(self.plan, seed, swarm=self.swarm, duration_us=duration_us)

    def repeat_command(self, plan_file: Path) -> str:
        """The command line that makes this exploration again; `plan_file` is the stored plan."""
        words = ["saq-chaos", "explore", str(plan_file)]
        if self.extent.seeds:
            words += ["--seeds", str(self.extent.seeds)]
        if self.extent.budget_us:
            words += ["--budget", format_duration(self.extent.budget_us)]
        if not self.extent.lengths:
            words += ["--duration", format_duration(self.plan.duration_us)]
        words += ["--until-failure"] if self.extent.until_failure else []
        words += ["--swarm"] if self.swarm else []
        words += ["--calm"] if self.calm else []
        words += ["--app", self.app] if self.app else []
        words += ["--python", str(self.python)] if self.python else []
        return shlex.join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneStatus:
    """How far one variant is.

    Attributes:
        failing: seeds that broke each promise, by its name.
        interleavings: pairs of attempt states that met so far, of `possible`.
        since_new: seeds since the last new pair.
    """

    variant: str
    seeds: int
    failing: dict[str, int]
    interleavings: int
    possible: int
    since_new: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreStatus:
    """How far an exploration is; `search_us` is the time so far."""

    search_us: int
    extent: Extent
    lanes: tuple[LaneStatus, ...]


class ExploreObserver(Protocol):
    """Is told how an exploration goes. It must return at once and must not raise."""

    def note(self, text: str) -> None:
        """Something worth a line: an environment is built, shrinking began."""

    def found(self, failure: FirstFailure) -> None:
        """A promise was broken on a variant for the first time."""

    def progress(self, status: ExploreStatus) -> None:
        """All variants, about once a second, in the plan's order."""
