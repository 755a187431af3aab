"""One simulated run: a plan, a seed, a script and a tape in; a history out.

    SimRequest ─► Kernel, hosts, Conductor on virtual time ─► SimResult

The same request gives the same history, digest included, in any process of one Python minor version
and whatever PYTHONHASHSEED is. It judges nothing: `SimResult.timeline` is the fold of the history,
ready for `chaos.judge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaos.history import History
from chaos.plan import Plan
from chaos.script import Script
from chaos.timeline import Timeline

FINISHED = "finished"  # the conductor led the run to its end
LIMIT = "limit"  # a limit of the plan or of the simulator ended it
FAILED = "failed"  # the world failed: a fault did not heal, a host did not come up
LIVELOCK = "livelock"  # many steps, and no virtual time passed
DEADLOCK = "deadlock"  # the conductor waits, and nobody has anything to do any more


@dataclass(frozen=True, slots=True, kw_only=True)
class SimLimits:
    """What ends a run that would not end by itself.

    Attributes:
        steps: callbacks of all hosts together.
        steps_at_once: callbacks without any virtual time passing: more are a livelock.
        virtual_us: virtual time; 0: what the plan's phases can take, and a margin.
    """

    steps: int = 200_000_000
    steps_at_once: int = 200_000
    virtual_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimRequest:
    """What is run.

    Attributes:
        plan: the recipe. Its own seed and variants are not used here.
        variant: the label that stands in host names, such as `stock@0.26.3`.
        patch: which worker class runs (`chaos.worker.patches`).
        seed: what script, targets and tape are drawn from.
        script: what happens when; None: drawn from the plan and the seed.
        tape: None: every decision is drawn from the seed. Otherwise the decisions by name; every
            other one has its default then.
        limits: what ends a run that would not end by itself.
        app: `module:settings` of a user's application, importable here.
    """

    plan: Plan
    variant: str
    patch: str
    seed: int
    script: Script | None = None
    tape: Mapping[str, int] | None = None
    limits: SimLimits = field(default_factory=SimLimits)
    app: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimResult:
    """What became of it.

    Attributes:
        history: every event, numbered, ordered by time and then as they happened.
        timeline: the fold of that history.
        digest: of the history.
        decisions: enqueues, injections, and tape entries that are not their default.
        tape: those tape entries, by name.
        steps: callbacks that ran.
        virtual_us: virtual time that passed.
        ended: finished, limit, failed, livelock or deadlock.
        reason: why, unless it finished.
        stacks: where every task of every host stood, after a livelock or a deadlock.
    """

    history: History
    timeline: Timeline
    digest: str
    decisions: int
    tape: dict[str, int]
    steps: int
    virtual_us: int
    ended: str
    reason: str = ""
    stacks: str = ""


def run_one(request: SimRequest) -> SimResult:
    """Run it to its end.

    Raises:
        UsageError: the request cannot be run here (a fault that the simulator cannot do).
    """
    raise NotImplementedError
