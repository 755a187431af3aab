"""Real runner processes for tests of the runs: short plans, simulated where that is enough.

`manager()` starts a RunManager over a data directory of the test; all of them are closed at its
end. `sim` and `live` are the names of the two plans that it offers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from chaos.environments import Environment
from service.runs.manager import RunManager
from service.settings import Settings
from tests.service.runs.running import LIVE, SIM, VARIANT, Managing


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """The data directory of the test's managers."""
    return tmp_path / "data"


@pytest.fixture
def plans_dir(tmp_path: Path) -> Path:
    """The folder with the two plans."""
    folder = tmp_path / "plans"
    folder.mkdir()
    (folder / "sim.yaml").write_text(SIM)
    (folder / "live.yaml").write_text(LIVE)
    return folder


@pytest.fixture
def settings(data_dir: Path, plans_dir: Path) -> Callable[..., Settings]:
    """Settings over the data directory of the test, with changes."""

    def make(**changes: Any) -> Settings:
        return Settings(data_dir=data_dir, plans_dir=plans_dir, **changes)

    return make


@pytest.fixture
async def manager(settings: Callable[..., Settings]) -> AsyncIterator[Managing]:
    """Starts managers: `await manager(stop_s=1, limits=Limits(…))`."""
    started: list[RunManager] = []

    async def start(*, metrics: Any = None, stop_s: float = 30.0, **changes: Any) -> RunManager:
        made = RunManager(settings(**changes), metrics, stop_s=stop_s)
        started.append(made)
        await made.start()
        return made

    yield start
    for one in started:
        await one.close()


@pytest.fixture
def simulated(sim_environment: Callable[[str], Environment]) -> Environment:
    """The environment of simulated runs, so that no run has to build it."""
    return sim_environment(VARIANT)


@pytest.fixture
def built(environment: Callable[[str], Environment]) -> Environment:
    """The environment of live runs, so that no run has to build it."""
    return environment(VARIANT)
