"""Runs scripts of `scenarios/` in simulator environments, once for each variant of a session.

A script prints one JSON object: what became of each of its scenarios, by name.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaos.environments import Environment

ROOT = Path(__file__).parents[3]
SCENARIOS = Path(__file__).parent / "scenarios"
SECONDS = 100

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
            _RESULTS[key] = _run(sim_environment(variant), script, variant, hash_seed)
        return _RESULTS[key]

    return results


def _run(environment: Environment, script: str, variant: str, hash_seed: str) -> Any:
    done = subprocess.run(
        [str(environment.python), "-W", "error", str(SCENARIOS / f"{script}.py"), variant],
        env={
            **os.environ,
            **environment.env,
            "PYTHONPATH": str(ROOT),
            "PYTHONHASHSEED": hash_seed,
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{script} failed:\n{done.stderr}"
    assert done.stderr == "", f"{script} said:\n{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])
