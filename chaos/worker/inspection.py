"""Says which saq and redis-py an environment has, and whether a patch fits: for the controller.

Started by path with the environment's own interpreter, `inspection.py PATCH FOLDER APP MODULE…`;
prints one line of JSON behind a mark, since an application may print as well. `missing` says why
saq does not work here at all; `problem` says why this patch or application does not go with it;
`lacking` names the first MODULE that cannot be imported. It starts no worker, and no connection to
any Redis is made, not even by an application's module.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import platform
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MARK = "saq-chaos-inspection:"
NOWHERE = "redis://127.0.0.1:1/0"


def load_package(name: str = "saq_chaos_worker") -> None:
    """Register this folder as the package `name`, whatever else is called so or called `chaos`."""
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(
        name, HERE / "__init__.py", submodule_search_locations=[str(HERE)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {HERE}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def inspect(patch: str, folder: str, app: str, modules: tuple[str, ...] = ()) -> dict[str, str]:
    """What is here, as the fields of the controller's `Inspection`."""
    found = {"python": platform.python_version()}
    try:
        saq = importlib.import_module("saq")
        importlib.import_module("saq.queue.redis")
        importlib.import_module("saq.worker")
        redis = importlib.import_module("redis")
    except ImportError as error:
        return {**found, "missing": f"{type(error).__name__}: {error}"}
    found["saq"] = str(getattr(saq, "__version__", "unknown"))
    found["saq_path"] = str(Path(str(saq.__file__)).parent)
    found["redis_py"] = str(getattr(redis, "__version__", "unknown"))
    found["lacking"] = _lacking(modules)
    if folder:
        sys.path.insert(0, folder)  # after saq: a checkout in that folder must not replace it
    try:
        return {**found, "problem": _problem(patch, found["saq"], app)}
    except Exception as error:  # a saq so different that even our own package does not load
        reason = f"the worker package does not load here: {type(error).__name__}: {error}"
        return {**found, "problem": reason}


def _lacking(modules: tuple[str, ...]) -> str:
    """The first of `modules` that cannot be imported, with the reason; empty if all can."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            return f"{type(error).__name__}: {error}"
    return ""


def _problem(patch: str, version: str, app: str) -> str:
    """Why `patch` or `app` does not go with this saq; empty if they do."""
    importlib.import_module("saq_chaos_worker.guard").install(NOWHERE)
    if ":" in patch:
        problem = _problem_of_class(patch)
    else:
        problem = str(importlib.import_module("saq_chaos_worker.patches").fits(patch, version))
    return problem or (_problem_of_app(app) if app else "")


def _problem_of_app(app: str) -> str:
    try:
        importlib.import_module("saq_chaos_worker.app").load_settings(app)
    except Exception as error:
        return f"{app}: {error}" if app not in str(error) else str(error)
    return ""


def _problem_of_class(patch: str) -> str:
    module, _, name = patch.partition(":")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception as error:  # whatever a user's module raises while it is imported
        return f"module {module!r} cannot be imported: {type(error).__name__}: {error}"
    worker = importlib.import_module("saq.worker").Worker
    if isinstance(found, type) and issubclass(found, worker):
        return ""
    return f"{module!r} has no class {name!r} that is a saq Worker"


if __name__ == "__main__":
    load_package()
    asked_patch, asked_folder, asked_app, *asked_modules = sys.argv[1:]
    answer = inspect(asked_patch, asked_folder, asked_app, tuple(asked_modules))
    sys.stdout.write(MARK + json.dumps(answer) + "\n")
