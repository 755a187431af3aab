"""Reading a run directory: regular files of the run's own, of a bounded size.

What lies there was written by a run, so by code under test. A link would lead out of it, a pipe
would be waited for, and a file of gigabytes would fill the memory: all of them are refused here,
and everything of the service that reads such a file reads it by these functions. It says `OSError`
alone; what that means to a caller, each says for itself. Files are not protected from each other.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

WHOLE_MAX = 64 << 20  # bytes of a file that is read whole; a run's largest has a few MiB


def open_own(path: Path) -> BinaryIO:
    """A regular file of a run directory, to be read; neither it nor its folder may be a link.

    Raises:
        FileNotFoundError, NotADirectoryError: it is not there.
        OSError: it is there, and no regular file, or cannot be read.
    """
    if path.parent.is_symlink():
        raise OSError(errno.ELOOP, "its run directory is a link", str(path))
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return os.fdopen(descriptor, "rb")


def read_own(path: Path) -> bytes:
    """All of one. Raises OSError as `open_own` does, and where it is larger than `WHOLE_MAX`."""
    with open_own(path) as file:
        content = file.read(WHOLE_MAX + 1)
    if len(content) > WHOLE_MAX:
        raise OSError(errno.EFBIG, f"it is larger than {WHOLE_MAX >> 20} MiB", str(path))
    return content


def is_own(folder: Path) -> bool:
    """Whether it is a folder that can be read, not a link to one, without a link at its top."""
    try:
        if folder.is_symlink() or not folder.is_dir():
            return False
        return not any(path.is_symlink() for path in sorted(folder.iterdir()))
    except OSError:
        return False


def size_of(folder: Path) -> int:
    """Bytes that a run directory takes, as far as it can be read; nothing behind a link."""
    if folder.is_symlink():
        return 0
    total = 0
    for path in sorted(folder.rglob("*")):
        try:
            if path.is_file() and not path.is_symlink():
                total += path.stat().st_size
        except OSError:
            continue
    return total
