"""Runs scenario scripts in real variants' environments, against a real server, once a session.

A script prints one line of JSON: the results of its scenarios by name. Tests read them; what a
scenario does stands in `tests/worker/scenarios`.
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

SCENARIOS = Path(__file__).parent / "scenarios"
SECONDS = 90

Scenarios = Callable[[str, str], Any]
_RESULTS: dict[tuple[str, str], Any] = {}


@pytest.fixture
def scenarios(
    request: pytest.FixtureRequest, environment: Callable[[str], Environment]
) -> Scenarios:
    """`scenarios("patches", "guarded@0.26.3")`: what the script printed for that variant.

    What follows the script's name after a space is given to it as an argument.
    """

    def results(script: str, variant: str) -> Any:
        if (script, variant) not in _RESULTS:
            url = request.getfixturevalue("redis_server").url
            _RESULTS[script, variant] = _run(environment(variant), script, variant, url)
        return _RESULTS[script, variant]

    return results


def _run(environment: Environment, script: str, variant: str, url: str) -> Any:
    patch = variant.partition("@")[0]
    name, *arguments = script.split()
    done = subprocess.run(
        [str(environment.python), str(SCENARIOS / f"{name}.py"), patch, url, *arguments],
        env={**os.environ, **environment.env},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{script} on {variant} failed:\n{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])
