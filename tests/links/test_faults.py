"""Inject and heal of the network faults: which rule stands meanwhile, and whose links it is about.

The world here only writes down what is asked of it; what rules do stands in tests/sim/network.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from pydantic import TypeAdapter

from chaos import faults
from chaos.errors import WorldError
from chaos.faults import Fault
from chaos.links import (
    AnswersWithError,
    Away,
    CutOff,
    Latency,
    LostReply,
    Rule,
    Selection,
)
from chaos.plan import Fault as FaultSpec
from chaos.seed import Seed

VARIANT = "stock@0.26.4"
WORKERS = (f"{VARIANT}/worker-1.1", f"{VARIANT}/worker-2.1")


class Recording:
    """A world with Links, Cuts, Scripts, Server and Rewind that does nothing but remember."""

    variant = VARIANT
    clock: Any = None

    def __init__(self, workers: tuple[str, ...] = WORKERS) -> None:
        self.rules: dict[int, Rule] = {}
        self.did: list[Any] = []
        self._workers = workers
        self._handles = 0

    def hosts(self, role: str) -> tuple[str, ...]:
        return self._workers if role == "worker" else ()

    async def tell(self, command: Any, wait_us: int = 0) -> bool:
        return True

    def add_rule(self, rule: Rule) -> int:
        self._handles += 1
        self.rules[self._handles] = rule
        return self._handles

    def remove_rule(self, handle: int) -> None:
        self.rules.pop(handle)

    def cut(self, which: Selection, stream: Random) -> int:
        self.did.append(which)
        return 1

    async def flush_scripts(self) -> None:
        self.did.append("flush")

    async def stop_server(self, *, keep_data: bool) -> None:
        self.did.append("kept" if keep_data else "lost")

    async def crash_server(self) -> None:
        self.did.append("crash")

    async def start_server(self) -> None:
        self.did.append("start")


def fault(name: str, **keys: Any) -> Fault:
    """The fault of a spec."""
    spec = TypeAdapter(FaultSpec).validate_python(
        {"fault": name, "at": ("1s",), **keys}, strict=True
    )
    return faults.make(spec)


def stream() -> Random:
    return Seed(3).stream("target")


@pytest.mark.parametrize(
    ("made", "rule", "cut", "hold_us"),
    [
        (fault("latency", max="9ms", **{"for": "2s"}), Latency(0, 9_000), None, 2_000_000),
        (
            fault("lost_reply", share=0.5, commands=("exec", "Get"), **{"for": "1s"}),
            LostReply(Selection(commands=("EXEC", "GET"), share=0.5)),
            None,
            1_000_000,
        ),
        (fault("cut"), None, Selection(), 0),
        (
            fault("cut", share=0.5, whose="workers", **{"for": "1s"}),
            CutOff(Selection(roles=("worker",), share=0.5)),
            Selection(roles=("worker",), share=0.5),
            1_000_000,
        ),
        (fault("redis_away", **{"for": "1s"}), Away(), Selection(), 1_000_000),
        (
            fault("redis_away", how="silent", whose="producer", **{"for": "1s"}),
            Away(silent=True, which=Selection(roles=("producer",))),
            None,
            1_000_000,
        ),
        (
            fault("redis_error", error="OOM", share=0.5, **{"for": "1s"}),
            AnswersWithError("OOM", Selection(share=0.5)),
            None,
            1_000_000,
        ),
    ],
)
async def test_a_rule_stands_from_inject_to_heal(
    made: Fault, rule: Rule | None, cut: Selection | None, hold_us: int
) -> None:
    world = Recording()
    assert made.hold_us == hold_us
    await made.heal(world)
    await made.inject(world, stream())
    assert list(world.rules.values()) == ([] if rule is None else [rule])
    assert world.did == ([] if cut is None else [cut])
    await made.heal(world)
    await made.heal(world)
    assert world.rules == {}


async def test_one_worker_is_drawn_each_time() -> None:
    made = fault("latency", max="9ms", whose="one_worker", **{"for": "1s"})
    drawn = set()
    for number in range(20):
        world = Recording()
        await made.inject(world, Seed(number).stream("target"))
        (rule,) = world.rules.values()
        assert isinstance(rule, Latency)
        drawn.add(rule.which.hosts)
        await made.heal(world)
    assert drawn == {(worker,) for worker in WORKERS}


async def test_without_a_worker_one_worker_cannot_be_drawn_and_no_rule_stands() -> None:
    world = Recording(workers=())
    made = fault("redis_error", whose="one_worker", **{"for": "1s"})
    with pytest.raises(WorldError, match="no worker is up"):
        await made.inject(world, stream())
    await made.heal(world)
    assert world.rules == {}


async def test_script_flush_has_nothing_to_heal() -> None:
    world, made = Recording(), fault("script_flush")
    await made.inject(world, stream())
    await made.heal(world)
    assert world.did == ["flush"]


@pytest.mark.parametrize(
    ("data", "end"), [("kept", "kept"), ("lost", "lost"), ("last_writes_lost", "crash")]
)
async def test_a_restart_ends_the_server_as_its_data_says(data: str, end: str) -> None:
    world, made = Recording(), fault("redis_restart", data=data)
    await made.heal(world)
    await made.inject(world, stream())
    await made.heal(world)
    await made.heal(world)
    assert world.did == [end, "start"]
