"""The faults: one file each, inject and heal side by side. `make` turns a plan's spec into one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chaos.errors import UsageError
from chaos.faults.abort import AbortJobs
from chaos.faults.clock_skew import SkewClock
from chaos.faults.cut import CutConnections
from chaos.faults.fault import Fault
from chaos.faults.kill import KillWorker
from chaos.faults.latency import SlowNetwork
from chaos.faults.lost_reply import LoseReplies
from chaos.faults.pause import PauseWorker
from chaos.faults.redis_away import TakeRedisAway
from chaos.faults.redis_error import AnswerWithErrors
from chaos.faults.redis_pause import PauseRedis
from chaos.faults.redis_restart import RestartRedis
from chaos.faults.rolling_restart import RollingRestart
from chaos.faults.script_flush import FlushScripts
from chaos.faults.sweep import ForcedSweep
from chaos.plan import Plan
from chaos.world import CAPABILITIES

__all__ = ["FAULTS", "Fault", "FaultKind", "check_fault", "check_world", "make"]


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One fault that a plan can name, what it does in one line, and what makes it."""

    name: str
    description: str
    make: Callable[[Any], Fault]


FAULTS = (
    FaultKind("sweep", "sweeps now, the lock cleared, with its own wait", ForcedSweep),
    FaultKind("rolling_restart", "replaces every worker, old and new overlapping", RollingRestart),
    FaultKind("kill", "SIGKILLs a worker and replaces it later", KillWorker),
    FaultKind("pause", "freezes a worker for a time (SIGSTOP)", PauseWorker),
    FaultKind("clock_skew", "sets a worker's wall clock wrong for a time", SkewClock),
    FaultKind("abort", "aborts jobs that are running, queued or scheduled", AbortJobs),
    FaultKind("redis_restart", "takes Redis away and back, its data kept or lost", RestartRedis),
    FaultKind("redis_pause", "freezes Redis for a time (SIGSTOP)", PauseRedis),
    FaultKind("latency", "slows the network down for a time, each way", SlowNetwork),
    FaultKind("lost_reply", "breaks connections between a command and its reply", LoseReplies),
    FaultKind("cut", "breaks connections, idle ones too", CutConnections),
    FaultKind("redis_away", "lets nobody reach Redis for a time; it runs on", TakeRedisAway),
    FaultKind("redis_error", "lets Redis answer LOADING, READONLY or OOM", AnswerWithErrors),
    FaultKind("script_flush", "lets Redis forget its scripts", FlushScripts),
)
_MAKERS = {kind.name: kind.make for kind in FAULTS}


def make(spec: Any) -> Fault:
    """The fault that a spec of `chaos.plan` describes."""
    return _MAKERS[spec.fault](spec)


def check_world(plan: Plan, world: str) -> None:
    """Refuse a plan with a fault that this kind of world (`live`, `sim`) cannot do.

    Raises:
        UsageError: it names those faults, and the worlds that can.
    """
    refused = [spec for spec in plan.faults if not _can(world, make(spec))]
    if not refused:
        return
    others = [
        other for other in CAPABILITIES if all(_can(other, make(spec)) for spec in plan.faults)
    ]
    names = ", ".join(dict.fromkeys(_described(spec) for spec in refused))
    way_out = f"run it with --world {others[0]}, or take it out" if others else "take it out"
    raise UsageError(f"plan {plan.plan!r}: the {world} world cannot do {names}: {way_out}")


def check_fault(spec: Any, world: str, *, external: bool) -> None:
    """Refuse a fault from outside that a run in this kind of world cannot do, or not be judged by.

    Raises:
        UsageError: it names the fault and why.
    """
    fault = make(spec)
    if not _can(world, fault):
        raise UsageError(f"the {world} world cannot do {_described(spec)}")
    if external and fault.server:
        raise UsageError(f"{spec.fault} acts on the Redis server, and this run's is not ours")
    if getattr(spec, "data", "kept") != "kept":
        raise UsageError(
            f"{_described(spec)} loses jobs on purpose, which the judge excuses only where the "
            f"plan itself says so: write it into a plan, or inject it with data: kept"
        )


def _can(world: str, fault: Fault) -> bool:
    return all(need in CAPABILITIES[world] for need in fault.needs)


def _described(spec: Any) -> str:
    data = getattr(spec, "data", "")
    return f"{spec.fault} (data: {data})" if data else str(spec.fault)
