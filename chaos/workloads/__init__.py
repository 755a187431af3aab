"""The workloads, one file each, and the registry that makes one from a plan."""

from __future__ import annotations

from chaos.plan import App, Plan, SameKey
from chaos.workloads.app import AppWorkload
from chaos.workloads.same_key import SameKeyWorkload
from chaos.workloads.workload import Workload

__all__ = ["WORKLOADS", "Workload", "make"]

WORKLOADS: tuple[tuple[str, str], ...] = (
    ("same_key", SameKeyWorkload.summary),
    ("app", AppWorkload.summary),
)


def make(plan: Plan) -> Workload:
    """The workload of a plan."""
    spec: SameKey | App = plan.workload
    if isinstance(spec, SameKey):
        return SameKeyWorkload(spec, plan.limits.jobs)
    return AppWorkload(spec, plan.limits.jobs)
