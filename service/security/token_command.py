"""`python -m service token NAME ROLE`: make a token, and the line that lets it in.

The token is printed once, on stdout, and is stored nowhere; the line for the tokens file goes to
stderr, or to the end of the file that `--append` names.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from chaos.errors import UsageError
from service.security import tokens
from service.security.tokens import ROLES, Token


def main(argv: Sequence[str]) -> int:
    """Do it; the exit code is 0, or 2 for a wrong request, whose message is on stderr."""
    wanted = _parser().parse_args(argv)
    try:
        tokens.check_name(wanted.name)
        secret = tokens.new_token()
        token = Token(wanted.name, tokens.check_role(wanted.role), tokens.hash_of(secret))
        if wanted.append is not None:
            _append(wanted.append, token)
        else:
            sys.stderr.write(f"{token.line()}\n")
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{secret}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m service token", description="Make a token for the tokens file."
    )
    parser.add_argument("name", metavar="NAME", help="whose it is; stands in the audit log")
    parser.add_argument("role", metavar="ROLE", help=", ".join(ROLES))
    parser.add_argument(
        "--append", type=Path, metavar="FILE", help="add the line to FILE (made with mode 600)"
    )
    return parser


def _append(path: Path, token: Token) -> None:
    known = tokens.read(path) if path.exists() and path.stat().st_size else ()
    taken = [one for one in known if one.name == token.name]
    if taken:
        raise UsageError(
            f"{path} has a token named {token.name!r} already: take another name, or remove its "
            f"line first"
        )
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            whole = not size or os.pread(file.fileno(), 1, size - 1) == b"\n"
            file.write(f"{'' if whole else chr(10)}{token.line()}\n".encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
