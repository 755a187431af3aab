"""How long each seed of an exploration goes on, if nobody says so: most are short, some are long.

A plan's own duration suits a soak, which is one long run. A search is better off with many short
ones: each is another draw, it is soon there, and a short failure is easier to shrink and to read.
But what needs time must have it too. So the lengths follow the ruler's marks: every second seed is
as short as can be, every fourth twice as long, every eighth four times, and so on to the longest.

    number    0  1  2  3  4  5  6  7  8 …
    length    1  2  1  4  1  2  1  8  1 …   sixteenths of the longest

The longest is twice the time after which every fault of the plan has come, ten seconds at least,
and never more than the plan's own duration. A plan that is over within a second was made for a
search: every seed of it is as long as it says.
"""

from __future__ import annotations

from chaos.clock import MILLISECOND_US, SECOND_US
from chaos.plan import FaultSpec, Plan

LONGEST_AT_LEAST_US = 10 * SECOND_US
PARTS = 16
SHORT_US = SECOND_US


def duration_us(plan: Plan, number: int) -> int:
    """How long seed `number` (from 0) of an exploration of this plan goes on."""
    longest_us = longest(plan)
    if plan.duration_us <= SHORT_US:
        return longest_us
    parts = min(PARTS, (number + 1) & -(number + 1))
    whole_ms = longest_us * parts // PARTS // MILLISECOND_US
    return max(MILLISECOND_US, whole_ms * MILLISECOND_US)


def longest(plan: Plan) -> int:
    """The longest that a seed of this plan goes on, µs."""
    all_came_us = max(map(_first_us, plan.faults), default=0)
    return min(plan.duration_us, max(LONGEST_AT_LEAST_US, 2 * all_came_us))


def _first_us(fault: FaultSpec) -> int:
    """When a fault has come for the first time, at the latest."""
    if fault.every_us is None:
        return min(fault.at_us)
    return fault.after_us + fault.every_us + fault.jitter_us
