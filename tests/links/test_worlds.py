"""Faults that a world cannot do are refused before anything starts, by name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chaos import faults
from chaos.errors import UsageError
from chaos.plan import Plan
from chaos.world import CAPABILITIES, Links, Rewind

SCRIPT = Path(sys.executable).parent / "saq-chaos"
LINKS = ("latency", "lost_reply", "cut", "redis_away", "redis_error", "script_flush")


def plan(*specs: dict[str, Any]) -> Plan:
    """A plan with these faults, at one second."""
    timed = [{"at": ["1s"], **spec} for spec in specs]
    fields = {
        "plan": "test", "workload": {"kind": "same_key"}, "duration": "5s",
        "promises": ["one-at-a-time"], "faults": timed,
    }  # fmt: skip
    return Plan.model_validate_json(json.dumps(fields))


def spec(name: str) -> dict[str, Any]:
    """The shortest spec of a fault."""
    timed = ("pause", "clock_skew", "redis_pause", *LINKS[:2], "redis_away", "redis_error")
    extra = {"latency": {"max": "1ms"}, "clock_skew": {"by": "1s"}}.get(name, {})
    return {"fault": name, **({"for": "1s"} if name in timed else {}), **extra}


def test_the_simulator_can_do_every_fault() -> None:
    everything = [spec(kind.name) for kind in faults.FAULTS]
    faults.check_world(
        plan(*everything, {"fault": "redis_restart", "data": "last_writes_lost"}), "sim"
    )


@pytest.mark.parametrize("name", [*LINKS, "clock_skew"])
def test_the_live_world_refuses_faults_of_the_network_and_of_clocks(name: str) -> None:
    with pytest.raises(UsageError) as error:
        faults.check_world(plan(spec("kill"), spec(name)), "live")
    assert str(error.value) == (
        f"plan 'test': the live world cannot do {name}: run it with --world sim, or take it out"
    )


def test_the_live_world_refuses_to_lose_the_last_writes_alone() -> None:
    kept = {"fault": "redis_restart", "data": "kept"}
    faults.check_world(plan(kept, {**kept, "data": "lost"}), "live")
    with pytest.raises(UsageError) as error:
        faults.check_world(plan(kept, {**kept, "data": "last_writes_lost"}), "live")
    assert "the live world cannot do redis_restart (data: last_writes_lost)" in str(error.value)
    assert Rewind not in CAPABILITIES["live"]


def test_a_world_that_can_do_less_is_refused_likewise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CAPABILITIES, "sim", (Links,))
    faults.check_world(plan(spec("latency")), "sim")
    with pytest.raises(UsageError) as error:
        faults.check_world(plan(spec("latency"), spec("kill"), spec("kill")), "sim")
    assert str(error.value) == "plan 'test': the sim world cannot do kill: take it out"


def test_a_live_soak_of_such_a_plan_ends_with_2_and_starts_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cut.yaml"
    path.write_text(
        "plan: cuts\nduration: 5s\nworkload: {kind: same_key, rate: 5/s}\n"
        "faults: [{fault: cut, at: [1s]}]\npromises: [one-at-a-time]\n"
    )
    done = subprocess.run(
        [SCRIPT, "soak", str(path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "plan 'cuts': the live world cannot do cut: run it with --world sim" in done.stderr
    assert not (tmp_path / "runs").exists()
