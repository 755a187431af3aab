"""What the command line writes: answers on stdout, everything else on stderr.

A reader that goes away (`saq-chaos soak … | head`) must not change the answer of a run, so a broken
pipe ends the output and nothing else. So does a full disk behind stdout, which is told on stderr.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO


def answer(text: str) -> None:
    """Write to stdout. Once nobody reads it, nothing is written any more."""
    _write(sys.stdout, text)


def say(text: str) -> None:
    """Write one line to stderr."""
    _write(sys.stderr, f"{text}\n")


def finish() -> None:
    """Flush both streams before the process ends, so that the interpreter need not complain."""
    _write(sys.stdout, "")
    _write(sys.stderr, "")


def wants_colour(stream: TextIO, no_colour: bool) -> bool:
    """Colour on a terminal, unless told otherwise (the NO_COLOR convention, no-color.org)."""
    return not no_colour and not os.environ.get("NO_COLOR") and stream.isatty()


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:  # it was closed before we were started (`saq-chaos … >&-`)
        return
    try:
        stream.write(text)
        stream.flush()
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        _write(stream, text.encode(encoding, "backslashreplace").decode(encoding))
    except (BrokenPipeError, ValueError):
        _discard(stream)
    except OSError as error:  # a full disk, a terminal that is gone
        _discard(stream)
        if stream is sys.stdout:
            say(f"saq-chaos: the answer could not be written to stdout: {error.strerror}")


def _discard(stream: TextIO) -> None:
    """Point the stream at nothing, so that no later flush fails either."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
