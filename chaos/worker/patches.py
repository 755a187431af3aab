"""Which patches there are, whether one fits a saq, and the Worker class that a patch names.

    worker_class("guarded")            GuardedWorker
    worker_class("stock")              saq's own Worker
    worker_class("myapp.jobs:Mine")    a user's own subclass

A patch is a mapping installed as `Worker.job_task_contexts` (`contexts.py`), and where the idea
needs it an override of `Worker.abort` (`patched.py`). This file imports saq only once a class is
asked for, so that the names can be read where there is none.
"""

from __future__ import annotations

import importlib
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .patched import ByIdWorker, ByKeyWorker, GuardedWorker

__all__ = [
    "PATCHES",
    "ByIdWorker",
    "ByKeyWorker",
    "GuardedWorker",
    "PatchError",
    "fits",
    "worker_class",
]

STOCK = "stock"
PATCHES = MappingProxyType(
    {
        STOCK: "saq as it is",
        "by-key": "contexts keyed by job.key: still one slot a key",
        "by-id": "one context an attempt; abort reaches every local attempt of a key",
        "guarded": "each attempt reads its own context and removes only its own (as in 0.26.4)",
    }
)
_CLASSES = {"by-key": "ByKeyWorker", "by-id": "ByIdWorker", "guarded": "GuardedWorker"}
_OLDEST = {
    "by-key": ((0, 22), "nothing older was tried"),
    "by-id": ((0, 26), "before that, saq's abort() does not wait for the body that it cancels"),
    "guarded": ((0, 22), "nothing older was tried"),
}
_ACCEPTED = f"use {', '.join(PATCHES)}, or module:WorkerClass of your own"


class PatchError(ValueError):
    """A patch names no Worker class; the message shows the value and the way out."""


def fits(patch: str, saq_version: str) -> str:
    """Why `patch` does not go with that saq; empty if it does, or if the version says nothing."""
    if patch not in PATCHES and ":" not in patch:
        return f"unknown patch {patch!r}: {_ACCEPTED}"
    oldest, why = _OLDEST.get(patch, ((0, 0), ""))
    numbers = re.match(r"(\d+)\.(\d+)", saq_version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) >= oldest:
        return ""
    version = ".".join(map(str, oldest))
    return f"patch {patch!r} needs saq {version} or newer, not {saq_version}: {why}"


def worker_class(patch: str) -> Any:
    """The Worker class that `patch` names, a subclass of saq's Worker.

    Raises:
        PatchError: it is neither a patch nor an importable `module:WorkerClass`.
    """
    if ":" in patch:
        return _own_class(patch)
    if patch == STOCK:
        return importlib.import_module("saq.worker").Worker
    if patch in _CLASSES:
        return __getattr__(_CLASSES[patch])
    raise PatchError(f"unknown patch {patch!r}: {_ACCEPTED}")


def _own_class(patch: str) -> Any:
    module_name, _, path = patch.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:
        raise PatchError(
            f"patch {patch!r} cannot be imported ({type(error).__name__}: {error}): "
            f"write module:WorkerClass, with the module's folder on the path"
        ) from error
    worker = importlib.import_module("saq.worker").Worker
    if not (isinstance(found, type) and issubclass(found, worker)):
        raise PatchError(f"patch {patch!r} is no saq Worker class but {found!r}: {_ACCEPTED}")
    return found


def __getattr__(name: str) -> Any:
    if name in _CLASSES.values():
        return getattr(importlib.import_module(".patched", __package__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
