"""Tries an exported test in a variant's environment, which may have no pytest.

Started by path with the environment's own interpreter, `trial.py FILE PATCH`; prints one line of
JSON behind a mark: the outcome of the file's only test (passed, failed or skipped), the type of
what it raised, and its message. With a PATCH other than stock the `from saq import Worker` of the
file gets that worker class, so that one file can be tried on every variant.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MARK = "saq-chaos-trial:"
STOCK = "stock"


class Skipped(Exception):
    """The test does not want to run here."""


def _skipif(condition: Any, *, reason: str = "") -> Callable[[Any], Any]:
    def decorate(test: Any) -> Any:
        if not condition:
            return test

        def skip() -> None:
            raise Skipped(reason)

        return skip

    return decorate


def stand_in_for_pytest() -> None:
    """What an exported test uses of pytest, where there is none."""
    if importlib.util.find_spec("pytest") is not None:
        return
    module: Any = types.ModuleType("pytest")
    module.mark = types.SimpleNamespace(skipif=_skipif)
    sys.modules["pytest"] = module


def use(patch: str) -> None:
    """Let `from saq import Worker` give the class of `patch`."""
    if patch == STOCK:
        return
    inspection = _load("saq_chaos_inspection", HERE / "inspection.py")
    inspection.load_package()
    saq = importlib.import_module("saq")
    patches = importlib.import_module("saq_chaos_worker.patches")
    saq.Worker = patches.worker_class(patch)  # type: ignore[attr-defined] # the file imports it


def _load(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def run(path: Path) -> dict[str, str]:
    """Run the test of a file."""
    try:
        module = _load("exported_test", path)
        tests = [value for name, value in vars(module).items() if name.startswith("test_")]
        for test in tests:
            test()
    except Exception as error:  # whatever a test raises is its outcome
        if type(error).__name__ == "Skipped":
            return {"outcome": "skipped", "error": "", "message": str(error)}
        return {"outcome": "failed", "error": type(error).__name__, "message": str(error)}
    return {"outcome": "passed" if tests else "skipped", "error": "", "message": ""}


if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]
    stand_in_for_pytest()
    use(sys.argv[2])
    sys.stdout.write(MARK + json.dumps(run(Path(sys.argv[1]))) + "\n")
