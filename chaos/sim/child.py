"""The entry of a simulating process: `python …/chaos/sim/child.py`, started by path.

It runs in the interpreter of the variant under test, whose site-packages hold that variant's saq
and no saq-chaos, or another one. So this file registers the folder that it lies in as the package
`chaos` before anything else is imported, and takes its own folder off the path. Nothing else of the
controller's environment becomes importable.

Jobs come as lines on stdin and answers leave as lines on what was stdout. Whatever the code under
test prints goes to stderr, and it reads an empty stdin, so that it can neither corrupt nor eat the
protocol. The process ends at the end of stdin, or with its parent: `chaos.live.launcher` starts it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "chaos"
SERVING = "chaos.explore.serving"


def load_package(folder: Path) -> None:
    """Register `folder` as the package `chaos`, whatever else is called so."""
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


def keep_channels() -> tuple[int, int]:
    """Take stdin and stdout for the protocol alone: its two descriptors from now on."""
    jobs, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return jobs, answers


def main() -> int:
    """Serve jobs until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C is the controller's, which ends this process
    jobs, answers = keep_channels()
    load_package(HERE.parent)
    serve = importlib.import_module(SERVING).serve
    return int(serve(jobs, answers))


if __name__ == "__main__":
    sys.exit(main())
