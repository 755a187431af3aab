"""Swarm testing: a seed draws the plan's own parameters too, within bounds around what it says.

One plan is one mixture of dangers, and its faults can hide each other: what a sweep would have met,
a restart has ended before. So each seed leaves out some faults and some bodies, and stretches or
squeezes times, load and fleet (Groce et al., "Swarm Testing", ISSTA 2012). What a plan promises,
its variants, its phases and its limits stay; nothing is added that it does not have.
"""

from __future__ import annotations

from random import Random
from typing import Any, TypeVar

from chaos.plan import Plan, SameKey, Spec, Workers
from chaos.seed import Seed

FACTORS = (0.25, 0.5, 1.0, 1.0, 2.0, 4.0)
NEVER_STRETCHED = ("at_us", "after_us")
WORKERS_MAX = 64

ItemT = TypeVar("ItemT")
SpecT = TypeVar("SpecT", bound=Spec)


def plan_for(plan: Plan, seed: int, *, swarm: bool, duration_us: int = 0) -> Plan:
    """The plan that this seed runs: with its seed, and with `swarm` its own parameters too.

    Args:
        duration_us: how long it goes on; 0: as long as the plan says.
    """
    own = {"seed": seed, "duration_us": duration_us or plan.duration_us}
    if not swarm:
        return plan.model_copy(update=own)
    root = Seed(seed)
    return plan.model_copy(
        update={
            **own,
            "workers": _workers(plan.workers, root.stream("swarm", "workers")),
            "faults": _faults(plan.faults, root.stream("swarm", "faults")),
            "workload": _workload(plan.workload, root.stream("swarm", "workload")),
        }
    )


def _workers(workers: Workers, draw: Random) -> Workers:
    timers = workers.timers
    return workers.model_copy(
        update={
            "count": draw.randint(1, min(WORKERS_MAX, workers.count + 2)),
            "concurrency": draw.randint(1, 2 * workers.concurrency),
            "timers": timers.model_copy(update={"abort_us": _stretched(timers.abort_us, draw)}),
            "grace_us": _stretched(workers.grace_us, draw),
            "deadline_us": _stretched(workers.deadline_us, draw),
        }
    )


def _faults(faults: tuple[Any, ...], draw: Random) -> tuple[Any, ...]:
    return tuple(_times(fault, draw) for fault in _some(faults, draw))


def _workload(workload: Any, draw: Random) -> Any:
    if not isinstance(workload, SameKey):
        return workload  # an app's calls are its own: whatever they need of each other stays whole
    bodies = tuple(_times(body, draw) for body in _some(workload.bodies, draw))
    return workload.model_copy(
        update={
            "keys": draw.randint(1, 2 * workload.keys) if workload.keys else 0,
            "interval_us": _stretched(workload.interval_us, draw),
            "scheduled_share": draw.choice((0.0, workload.scheduled_share, 0.5)),
            "bodies": bodies,
            "job": _times(workload.job, draw, keep=("ttl_us",)),
        }
    )


def _times(spec: SpecT, draw: Random, keep: tuple[str, ...] = ()) -> SpecT:
    """The spec with all its times stretched or squeezed, each by a factor of its own."""
    names = [
        name
        for name in type(spec).model_fields
        if name.endswith("_us") and name not in (*NEVER_STRETCHED, *keep)
    ]
    values = {name: getattr(spec, name) for name in names}
    stretched = {name: _stretched(value, draw) for name, value in values.items() if value}
    if "min_us" in stretched:  # the least stays below the most
        stretched["min_us"] = min(stretched["min_us"], stretched["max_us"])
    return spec.model_copy(update=stretched)


def _some(items: tuple[ItemT, ...], draw: Random) -> tuple[ItemT, ...]:
    """Each of the items or not, in their order; one of them at least, if there are any."""
    if not items:
        return ()
    sure = draw.randrange(len(items))
    coins = [draw.random() < 0.5 for _ in items]
    return tuple(item for place, item in enumerate(items) if coins[place] or place == sure)


def _stretched(time_us: int, draw: Random) -> int:
    """A time by one of the factors, in whole milliseconds where it had them; 0 stays 0."""
    factor = draw.choice(FACTORS)
    if not time_us:
        return 0
    unit_us = 1_000 if time_us % 1_000 == 0 else 1
    return max(unit_us, round(time_us * factor / unit_us) * unit_us)
