"""Runs scripts of `scenarios/` in simulator environments, once for each variant of a session.

A script prints one JSON object: what became of each of its scenarios, by name.
"""

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
def scenarios(sim_environment: Callable[[str], Environment]) -> Scenarios:
    """`scenarios("loops", "stock@0.26.3")`: what the script printed in that environment.

    `hash_seed` is its PYTHONHASHSEED.
    """

    def results(script: str, variant: str = "stock@0.26.3", hash_seed: str = "random") -> Any:
        key = (script, variant, hash_seed)
        if key not in _RESULTS:
            path = SCENARIOS / f"{script}.py"
            _RESULTS[key] = printed(path, sim_environment(variant), variant, hash_seed)
        return _RESULTS[key]

    return results
