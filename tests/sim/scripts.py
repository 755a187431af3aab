"""Runs a script in a simulator environment; it prints one JSON object as its last line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from chaos.environments import Environment

ROOT = Path(__file__).parents[2]
SECONDS = 100


def printed(script: Path, environment: Environment, argument: str, hash_seed: str) -> Any:
    """What the script printed. A warning is an error; nothing may be said on stderr."""
    done = subprocess.run(
        [str(environment.python), "-W", "error", str(script), argument],
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
    assert done.returncode == 0, f"{script.stem} failed:\n{done.stderr}"
    assert done.stderr == "", f"{script.stem} said:\n{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])
