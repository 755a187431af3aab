"""How the package is named and found: `names.py PATCH URL` prints what each import gave."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import stage


def one_package_under_both_names() -> dict[str, bool]:
    """Loaded by path as a worker process does, then imported as the controller does."""
    import saq_chaos_worker
    import saq_chaos_worker.events as short

    before = "chaos" in sys.modules
    sys.path.append(str(stage.PACKAGE.parents[1]))
    import chaos.worker
    import chaos.worker.events as long
    import chaos.worker.patches

    return {
        "no chaos before": not before,
        "package": chaos.worker is saq_chaos_worker,
        "module": long is short,
        "class": chaos.worker.patches.GuardedWorker is saq_chaos_worker.GuardedWorker,
        "spec": long.__spec__.name == "saq_chaos_worker.events",
    }


def an_applications_own_chaos() -> dict[str, str]:
    """An application has a package `chaos` with a module `worker`: it keeps it."""
    for name in [name for name in sys.modules if name.split(".")[0] == "chaos"]:
        del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "_Alias"]
    folder = Path(tempfile.mkdtemp())
    (folder / "chaos").mkdir()
    (folder / "chaos" / "__init__.py").write_text("")
    (folder / "chaos" / "worker.py").write_text("WHOSE = 'the application'\n")
    sys.path.insert(0, str(folder))
    import saq_chaos_worker.events

    import chaos.worker

    return {"whose": chaos.worker.WHOSE, "ours": saq_chaos_worker.events.Kind.BLIND.name}


def worker_classes() -> dict[str, Any]:
    """What `worker_class` makes of a name."""
    import saq.worker
    from saq_chaos_worker import PatchError, worker_class

    folder = Path(tempfile.mkdtemp())
    (folder / "mine.py").write_text(
        "from saq.worker import Worker\nclass Mine(Worker): pass\nclass Other: pass\n"
        "class Outer:\n    class Inner(Worker): pass\n"
    )
    (folder / "broken.py").write_text("1 / 0\n")
    sys.path.insert(0, str(folder))
    found: dict[str, Any] = {"stock": worker_class("stock") is saq.worker.Worker}
    for patch in ("by-key", "by-id", "guarded", "mine:Mine", "mine:Outer.Inner"):
        found[patch] = worker_class(patch).__name__
    for patch in ("guard", "mine:Other", "mine:None", "broken:Mine", "nowhere:Mine"):
        try:
            worker_class(patch)
        except PatchError as error:
            found[patch] = str(error)
    return found


if __name__ == "__main__":
    stage.load_package()
    results: dict[str, Any] = {
        "one package": one_package_under_both_names(),
        "an own chaos": an_applications_own_chaos(),
        "worker classes": worker_classes(),
    }
    sys.stdout.write(json.dumps(results) + "\n")
