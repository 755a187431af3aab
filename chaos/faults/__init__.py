"""The faults: one file each, inject and heal side by side. `make` turns a plan's spec into one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chaos.faults.abort import AbortJobs
from chaos.faults.fault import Fault
from chaos.faults.kill import KillWorker
from chaos.faults.pause import PauseWorker
from chaos.faults.redis_pause import PauseRedis
from chaos.faults.redis_restart import RestartRedis
from chaos.faults.rolling_restart import RollingRestart
from chaos.faults.sweep import ForcedSweep

__all__ = ["FAULTS", "Fault", "FaultKind", "make"]


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
    FaultKind("abort", "aborts jobs that are running, queued or scheduled", AbortJobs),
    FaultKind("redis_restart", "takes Redis away and back, its data kept or lost", RestartRedis),
    FaultKind("redis_pause", "freezes Redis for a time (SIGSTOP)", PauseRedis),
)
_MAKERS = {kind.name: kind.make for kind in FAULTS}


def make(spec: Any) -> Fault:
    """The fault that a spec of `chaos.plan` describes."""
    return _MAKERS[spec.fault](spec)
