"""A worker whose wall clock is wrong: what it starts looks stuck to others, and it heals."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from chaos.environments import Environment
from chaos.explore.bench_sim import plan_of
from chaos.explore.process import Child
from chaos.explore.protocol import RunSeeds, Subject, plan_text
from chaos.faults.clock_skew import SkewClock
from chaos.plan import ClockSkewFault

# A job takes a tenth of its timeout; the forced sweeps come from a host whose clock is right.
RECIPE: dict[str, Any] = {
    "plan": "clocks",
    "duration": "3s",
    "drain": "20s",
    "workers": {"count": 1, "concurrency": 4},
    "workload": {
        "kind": "same_key",
        "keys": 0,
        "rate": "4/s",
        "job": {"timeout": "10s", "retries": 3},
        "bodies": [{"profile": "quick", "takes": "1s"}],
    },
    "promises": ["no-internal-errors"],
}
SWEEP = {"fault": "sweep", "every": "500ms", "wait": "10ms"}
SKEW = {"fault": "clock_skew", "at": ["1s"], "for": "1s", "by": "60s"}


class Clocks:
    """A world of two workers that notes how far each clock is ahead."""

    variant = "v"

    def __init__(self) -> None:
        self.ahead_us: dict[str, int] = {}

    def hosts(self, role: str) -> tuple[str, ...]:
        return ("v/worker-1.1", "v/worker-2.1") if role == "worker" else ()

    def set_clock(self, host: str, *, ahead_us: int) -> None:
        self.ahead_us[host] = ahead_us


def made(**fields: str) -> SkewClock:
    spec = {"fault": "clock_skew", "at": ["1s"], "for": "2s", "by": "3s", **fields}
    return SkewClock(ClockSkewFault.model_validate_json(json.dumps(spec)))


@pytest.mark.parametrize(("way", "ahead_us"), [("ahead", 3_000_000), ("behind", -3_000_000)])
async def test_it_sets_one_clock_wrong_and_right_again(way: str, ahead_us: int) -> None:
    world, fault = Clocks(), made(way=way)
    await fault.inject(world, Random(1))  # type: ignore[arg-type] # a world of clocks alone
    assert fault.hold_us == 2_000_000
    assert list(world.ahead_us.values()) == [ahead_us]
    await fault.heal(world)  # type: ignore[arg-type]
    await fault.heal(world)  # type: ignore[arg-type]
    assert list(world.ahead_us.values()) == [0]


async def test_either_way_is_drawn() -> None:
    drawn: set[int] = set()
    for seed in range(20):
        world = Clocks()
        await made().inject(world, Random(seed))  # type: ignore[arg-type]
        drawn.update(world.ahead_us.values())
    assert drawn == {3_000_000, -3_000_000}


@pytest.mark.parametrize(
    ("faults", "swept"),
    [([SWEEP], False), ([SWEEP, {**SKEW, "way": "ahead"}], False),
     ([SWEEP, {**SKEW, "way": "behind"}], True)],
)  # fmt: skip
def test_what_a_worker_that_is_behind_starts_looks_stuck_to_a_sweep(
    sim_environment: Callable[[str], Environment], faults: list[Any], swept: bool
) -> None:
    plan = plan_of({**RECIPE, "faults": faults})
    subject = Subject(plan=plan_text(plan), variant="stock@0.26.4", patch="stock")
    with Child(sim_environment("stock@0.26.4")) as child:
        (done,) = child.seeds(RunSeeds(subject=subject, seeds=(1,)))
    assert done.summary.ended == "finished"
    assert (done.summary.verdict.counters["swept_live"] > 0) is swept
