"""The entry of a worker or producer process: `python …/chaos/worker/main.py config.json`.

It is started by path, in the interpreter of the variant under test, because an application may have
top-level packages of its own called `chaos`, `service`, `app` or `events`. So this file takes its
folder off the path, where Python has put it, and registers it as the package `saq_chaos_worker`
before anything else is imported. What a process then does stands in `host.py`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

PACKAGE = "saq_chaos_worker"


def load_package() -> None:
    """Make this folder importable as `saq_chaos_worker`, and under no other name."""
    folder = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != folder]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load the package in {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    load_package()
    host = importlib.import_module(f"{PACKAGE}.host")
    sys.exit(host.main(sys.argv[1:]))
