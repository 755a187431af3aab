"""What runs inside a worker process: the patches, the probe, the flight recorder, the entry.

Production imports the patched workers from here (`from saq_chaos_worker import GuardedWorker`); the
same folder is the package `chaos.worker` of saq-chaos, and in one process the two names are one
module. Everything here imports the standard library and saq only, and saq not before it is needed:
the controller reads the event vocabulary from this package in an environment that has no saq.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .instrument import Instrumented, MissingPrometheus, instrument
from .one_module import unite
from .patches import PATCHES, PatchError, fits, worker_class

if TYPE_CHECKING:
    from .patches import ByIdWorker, ByKeyWorker, GuardedWorker

__all__ = [
    "PATCHES",
    "ByIdWorker",
    "ByKeyWorker",
    "GuardedWorker",
    "Instrumented",
    "MissingPrometheus",
    "PatchError",
    "fits",
    "instrument",
    "worker_class",
]

_WORKERS = ("ByIdWorker", "ByKeyWorker", "GuardedWorker")


def __getattr__(name: str) -> Any:
    """The Worker classes, which need saq, once somebody asks for one."""
    if name in _WORKERS:
        from . import patches

        return getattr(patches, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


unite(__name__)
