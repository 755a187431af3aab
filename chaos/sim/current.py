"""Which run goes on in this process, and whose code runs: for what cannot be told as an argument.

saq makes its thread pool, reads the time and draws a number without saying for whom. `kernel` is
set by `chaos.sim.seams` while a run is on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaos.sim.host import SimHost
    from chaos.sim.kernel import Kernel

_kernel: Kernel | None = None


def set_kernel(kernel: Kernel | None) -> None:
    """A run begins, or is over."""
    global _kernel  # noqa: PLW0603 - one process, one run at a time: that is the point
    _kernel = kernel


def is_set() -> bool:
    """Whether a run goes on."""
    return _kernel is not None


def kernel() -> Kernel:
    """The run that goes on.

    Raises:
        RuntimeError: none does.
    """
    if _kernel is None:
        raise RuntimeError("no simulation runs in this process")
    return _kernel


def host() -> SimHost:
    """The host whose code runs now.

    Raises:
        RuntimeError: no simulation runs, or no host's code does.
    """
    found = kernel().current
    if found is None:
        raise RuntimeError("no simulated host runs now")
    return found
