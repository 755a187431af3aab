"""When a fault is injected: its times, from its spec and the run's seed.

    every, jitter, after ──┐
                           ├──► sorted times in µs, from the start of SAFETY
    at ────────────────────┘

A fault's draws come from a stream of its own, `("fault", index)`, one draw per time: adding a fault
behind it, or a longer duration, moves none of its times. Nothing here waits or injects.
"""

from __future__ import annotations

from collections.abc import Iterator

from chaos.plan import FaultSpec
from chaos.seed import Seed

INJECTIONS_MAX = 1_000_000


def injections(spec: FaultSpec, index: int, duration_us: int, seed: int) -> tuple[int, ...]:
    """The injection times of fault `index`, sorted, each in [0, duration_us).

    Args:
        spec: the fault; `every` gives one time per period, counted from `after` and moved by up
            to ± `jitter`, the first one a period after `after`; `at` gives its own.
        index: the fault's place in the plan.
        duration_us: how long SAFETY goes on.
        seed: the run's seed.

    Returns:
        Microseconds from the start of SAFETY; at most `INJECTIONS_MAX` of them.
    """
    times = spec.at_us if spec.every_us is None else _each(spec, index, duration_us, seed)
    return tuple(sorted(at_us for at_us in times if 0 <= at_us < duration_us))


def count_max(spec: FaultSpec, duration_us: int) -> int:
    """How many injections there can be at most, before the bound."""
    if spec.every_us is None:
        return len(spec.at_us)
    return max(0, duration_us + spec.jitter_us - spec.after_us) // spec.every_us


def _each(spec: FaultSpec, index: int, duration_us: int, seed: int) -> Iterator[int]:
    assert spec.every_us is not None
    stream = Seed(seed).stream("fault", index)
    for number in range(1, min(count_max(spec, duration_us), INJECTIONS_MAX) + 1):
        moved_us = stream.randint(-spec.jitter_us, spec.jitter_us) if spec.jitter_us else 0
        at_us = spec.after_us + number * spec.every_us + moved_us
        if at_us >= spec.after_us:
            yield at_us
