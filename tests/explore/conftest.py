"""What tests of stored failures share: one that was really found, and shrunk, once in a session."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.environments import Environment
from chaos.explore.capture import Capture, Captured, capture
from chaos.explore.process import Child
from chaos.explore.swarm import plan_for
from chaos.plan import Plan
from chaos.plan_file import Overrides, load
from chaos.variants import parse

SEED = 1


def searched_plan() -> Plan:
    """The plan same-key, six seconds of it: long enough to fail, short enough for a test."""
    plan = load("same-key", Overrides(variants=("stock@0.26.3",), gate="strict", duration="6s"))
    return plan_for(plan, SEED, swarm=False)


@pytest.fixture(scope="session")
def key_error(
    sim_environment: Callable[[str], Environment], tmp_path_factory: pytest.TempPathFactory
) -> Captured:
    """The KeyError of stock@0.26.3 as a failure file. Tests only read it."""
    wanted = Capture(
        variant=parse("stock@0.26.3"),
        plan=searched_plan(),
        seed=SEED,
        promise="no-internal-errors",
        kind="KeyError",
    )
    folder = tmp_path_factory.mktemp("key-error")
    with Child(sim_environment("stock@0.26.3")) as child:
        return capture(wanted, child, folder)


@pytest.fixture
def own_copy(key_error: Captured, tmp_path: Path) -> Path:
    """The failure file and its history, for a test to change."""
    for path in sorted(key_error.path.parent.iterdir()):
        shutil.copy(path, tmp_path)
    return tmp_path / key_error.path.name
