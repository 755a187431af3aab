"""^C and SIGTERM of the command line: a KeyboardInterrupt, but never in the middle of an import.

An interrupt that breaks into an import may come out as another error (a class body that failed, a
module half there), and then would be told as a fault of ours. So it waits until the import is over,
which takes some milliseconds, and is raised right after it. Before `install` was called the
interpreter itself answers, as it does for every Python program while it starts.
"""

from __future__ import annotations

import signal
from types import FrameType

_IMPORT = "<frozen importlib._bootstrap>"
_AGAIN_SECONDS = 0.01
_WAITS_MAX = 1_000
_ENDS = (signal.SIGINT, signal.SIGTERM)
_waits = 0


def install() -> None:
    """From now on both signals raise KeyboardInterrupt in the main thread, outside of imports."""
    for number in (*_ENDS, signal.SIGALRM):
        signal.signal(number, raise_outside_of_imports)


def ignore() -> None:
    """From now on neither does anything: the answer is given, its exit code must not change."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in (*_ENDS, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)


def raise_outside_of_imports(_number: int, frame: FrameType | None) -> None:
    """The handler: raise now, or ask again in a moment.

    Raises:
        KeyboardInterrupt: no import is going on (or one has not ended for ten seconds).
    """
    global _waits  # noqa: PLW0603 - a signal handler has no other place to count in
    if _waits < _WAITS_MAX and _imports(frame):
        _waits += 1
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
        return
    _waits = 0
    raise KeyboardInterrupt


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORT:
            return True
        frame = frame.f_back
    return False
