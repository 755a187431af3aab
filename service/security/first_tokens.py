"""The very first tokens, for a container: nobody could have made a tokens file before it started.

    no tokens file ──► random tokens ──► <first_tokens>/admin-token, viewer-token ──► tokens file

It happens once: while a tokens file is there, nothing is made or changed. The administrator's token
is for its owner alone (0600); the viewer's is for Prometheus, which runs as another user and sees
that folder through a volume of its own (0644: it can read metrics and runs, and change nothing).
The tokens file is written last, so that a start that was interrupted begins again.
"""

from __future__ import annotations

import os
from pathlib import Path

from chaos.errors import UsageError
from service.security.tokens import Token, hash_of, new_token
from service.settings import Settings

ADMIN, VIEWER = "admin", "viewer"


def make(settings: Settings) -> tuple[Path, ...]:
    """Make them if they are wanted and there is no tokens file yet.

    Returns:
        The files that hold the new tokens; none if there was nothing to do.

    Raises:
        UsageError: a folder cannot be written; the message names it.
    """
    folder, file = settings.first_tokens, settings.tokens_file
    if folder is None or file is None or file.exists():
        return ()
    secrets = {ADMIN: new_token(), VIEWER: new_token()}
    tokens = (
        Token(ADMIN, "admin", hash_of(secrets[ADMIN])),
        Token(VIEWER, "viewer", hash_of(secrets[VIEWER])),
    )
    written = (folder / "admin-token", folder / "viewer-token")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(written[0], secrets[ADMIN], 0o600)
        _write(written[1], secrets[VIEWER], 0o644)
        file.parent.mkdir(parents=True, exist_ok=True)
        _write(file, "".join(f"{token.line()}\n" for token in tokens), 0o600)
    except OSError as error:
        raise UsageError(
            f"SAQCHAOS_FIRST_TOKENS={str(folder)!r}: {error.filename} cannot be written: "
            f"{error.strerror}"
        ) from error
    return written


def _write(path: Path, text: str, mode: int) -> None:
    """Write the file in one step; it never exists with other rights or half its content."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        os.fchmod(file.fileno(), mode)
    fresh.replace(path)
