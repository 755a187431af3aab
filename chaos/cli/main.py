"""The entry point: takes ^C and SIGTERM in hand before anything else is imported, then runs a verb.

    saq-chaos ──► main ──► interrupts.install ──► command_line.run ──► exit code

It imports next to nothing itself: until the signals are in hand an interrupt would be a traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from chaos.cli import interrupts

INTERRUPTED = b"saq-chaos: interrupted\n"
EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the command line and leave with its exit code, whatever signal comes last."""
    try:
        interrupts.install()
        code = run(sys.argv[1:])
        interrupts.ignore()  # an impatient second ^C must not change the code
    except KeyboardInterrupt:  # before or after the part that answers it itself
        interrupts.ignore()
        os.write(2, INTERRUPTED)
        os._exit(EXIT_INTERRUPTED)
    from chaos.cli import output

    output.finish()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run the command line.

    Returns:
        The exit code (DESIGN, Exit codes).
    """
    from chaos.cli import command_line

    return command_line.run(arguments)
