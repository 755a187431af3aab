"""How long one seed of an exploration goes on, if nobody says so.

A plan's own duration suits a soak, which is one long run. A search is better off with many short
ones: each is another draw, and a short failure is easier to shrink and to read. So a seed lasts ten
seconds of virtual time, or as long as it takes each fault of the plan to come once.
"""

from __future__ import annotations

from chaos.clock import SECOND_US
from chaos.plan import FaultSpec, Plan

SEED_US = 10 * SECOND_US
_ROOM_US = SECOND_US  # for what a fault does once it has come


def seed_duration_us(plan: Plan) -> int:
    """The duration of one seed; never above the plan's own."""
    first_us = max((_first_us(fault) + _ROOM_US for fault in plan.faults), default=0)
    return min(plan.duration_us, max(SEED_US, first_us))


def _first_us(fault: FaultSpec) -> int:
    """When a fault has come for the first time, at the latest."""
    if fault.every_us is None:
        return min(fault.at_us)
    return fault.after_us + fault.every_us + fault.jitter_us
