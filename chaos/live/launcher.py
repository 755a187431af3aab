"""Starts one process of a run so that it cannot outlive the controller.

    python -I -S launcher.py PARENT_PID COMMAND ARGUMENT…

Asks the kernel to SIGKILL this process when its parent dies (PR_SET_PDEATHSIG; it stays through
exec, and it ends a stopped process too), makes sure that the parent is still the one that it was
told, then becomes the command. The signal comes when the parent *thread* ends, so the controller
starts its children from its main thread alone.

Only the standard library, and no package: it runs isolated, by path. It does not reach what the
command starts itself; that is the watchdog's work.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
ORPHANED = 125
NOT_FOUND = 127


def main(arguments: list[str]) -> int:
    """Tie this process to its parent and become the command; returns only if that failed."""
    parent, command = int(arguments[0]), arguments[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        sys.stderr.write(f"prctl failed: {os.strerror(ctypes.get_errno())}\n")
        return ORPHANED
    if os.getppid() != parent:
        return ORPHANED  # the controller died before the kernel knew
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and exec would hand that on
    try:
        os.execvp(command[0], command)  # noqa: S606 - becoming the command is the point
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
    return NOT_FOUND


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
