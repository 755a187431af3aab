"""The data directory is its owner's alone: 0700 at the top, 0600 for what the service writes.

Whatever lies below is unreachable for other users through the top folder, however a run or a plan's
own code sets the modes there; the process's umask makes the files private too, so that a copy of
one keeps its protection. It does not protect from the user that the service runs as, nor root.
"""

from __future__ import annotations

import os
import stat
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

from chaos.errors import UsageError

PRIVATE_UMASK = 0o077
LOCK_FILE = "lock"


def private_umask() -> None:
    """What this process and its runners make from now on is for their user alone."""
    os.umask(PRIVATE_UMASK)


def make_private(folder: Path) -> None:
    """Make the folder, or take others' access from one that is there.

    Raises:
        UsageError: it cannot be made, or belongs to somebody else.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(folder.stat().st_mode) != 0o700:
            folder.chmod(0o700)
    except OSError as error:
        raise UsageError(
            f"the data directory {folder} cannot be made private (0700): {error.strerror}; "
            f"give it to the service's user, or set SAQCHAOS_DATA_DIR to another"
        ) from error


def open_private(path: Path, flags: int) -> int:
    """A descriptor of a 0600 file, whatever the umask; a link in its place is not followed."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != 0o600:
        os.fchmod(descriptor, 0o600)
    return descriptor


def lock(folder: Path) -> int:
    """Hold the folder for this process alone, to its end, however it ends.

    Returns:
        The descriptor that holds it; whoever is started later does not inherit it.

    Raises:
        UsageError: another process holds it.
    """
    descriptor = open_private(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT)
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise UsageError(
            f"another service uses the data directory {folder}: end that one, or set "
            f"SAQCHAOS_DATA_DIR to another folder"
        ) from error
    return descriptor


def write_once(path: Path, content: bytes) -> bytes:
    """What the file holds: `content` if it was not there. Two processes get the same answer.

    The file appears whole or not at all: it is written under another name and linked into place.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(open_private(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        path.hardlink_to(fresh)
    except FileExistsError:
        return read_private(path)
    finally:
        fresh.unlink()
    return content


def read_private(path: Path) -> bytes:
    """The content of a file of ours; access that others have to it is taken from them."""
    with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
        return file.read()
