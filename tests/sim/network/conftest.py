"""Runs scripts of `scenarios/` in simulator environments, once for each variant of a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaos.environments import Environment
from tests.sim.scripts import printed

SCENARIOS = Path(__file__).parent / "scenarios"

Scenarios = Callable[..., Any]
_RESULTS: dict[tuple[str, str, str], Any] = {}


@pytest.fixture
def scenarios(
    request: pytest.FixtureRequest, sim_environment: Callable[[str], Environment]
) -> Scenarios:
    """`scenarios("clients", "stock@0.26.4")`: what the script printed in that environment.

    `hash_seed` is its PYTHONHASHSEED.
    """

    def results(script: str, variant: str, hash_seed: str = "random") -> Any:
        key = (script, variant, hash_seed)
        if key not in _RESULTS:
            url = request.getfixturevalue("redis_server").url
            path = SCENARIOS / f"{script}.py"
            _RESULTS[key] = printed(path, sim_environment(variant), url, hash_seed)
        return _RESULTS[key]

    return results
