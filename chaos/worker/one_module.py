"""Keeps this package one module object under both of its names.

The folder is `chaos.worker` in the controller's distribution and `saq_chaos_worker` in the small
wheel; a worker process loads it by path under the second name. An application may import either in
one process, and a class or a context variable that exists twice is a bug that nobody finds. So
whichever name is imported first is the package, and the other becomes an alias of it, submodules
included. The name `chaos.worker` is taken only when our own `chaos.worker` is really imported: an
application may have a package `chaos` of its own.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

SHORT = "saq_chaos_worker"


class _Alias(MetaPathFinder, Loader):
    """Answers imports of `<alias>.x` with the module `<name>.x`."""

    def __init__(self, alias: str, name: str) -> None:
        self._prefix = f"{alias}."
        self._name = name

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for what stands below the alias."""
        del path, target
        return ModuleSpec(fullname, self) if fullname.startswith(self._prefix) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module under its other name, with its own spec kept."""
        module = importlib.import_module(f"{self._name}.{spec.name[len(self._prefix) :]}")
        self._kept = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has been executed under its own name."""
        module.__spec__ = self._kept


def unite(name: str) -> None:
    """Called by the package while it is imported as `name`.

    If the other name is loaded already, that module takes this one's place.
    """
    if name == SHORT:
        return
    if SHORT not in sys.modules:
        sys.modules[SHORT] = sys.modules[name]
        sys.meta_path.insert(0, _Alias(SHORT, name))
    elif sys.modules[SHORT] is not sys.modules[name]:
        for loaded in [loaded for loaded in sys.modules if loaded.startswith(f"{name}.")]:
            del sys.modules[loaded]
        sys.modules[name] = sys.modules[SHORT]
        sys.meta_path.insert(0, _Alias(name, SHORT))
