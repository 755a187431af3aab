"""The tokens file: who may do what, one line each, hashes only; read again when it changes.

    # name  role      hash
    ci      operator  sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef

A token is 256 random bits, so a plain SHA-256 is enough: nobody can try 2^256 of them, and a slow
hash, which protects guessable passwords, would only hand a stranger a cheap way to keep the service
busy. Every line is compared in constant time, also after one matched.

A file that cannot be trusted (missing, readable by everybody, a bad line) lets nobody in until it
is mended: to go on with the old one would keep a token alive that somebody has just removed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from chaos.errors import UsageError
from service.models import Role

TOKEN_BYTES = 32
PREFIX = "saqchaos_"  # so that scanners of repositories and logs can find one
FILE_BYTES_MAX = 1 << 20
TOKENS_MAX = 1_000
TOKEN_LENGTH_MAX = 500
RESERVED = ("local", "anonymous", "standing", "schedule")
ROLES: tuple[Role, ...] = get_args(Role)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._+-]{0,99}")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_OTHERS_AND_WRITING = stat.S_IRWXO | stat.S_IWGRP


@dataclass(frozen=True, slots=True)
class Token:
    """One line of the file. `hash` is `sha256:` and 64 hexadecimal digits."""

    name: str
    role: Role
    hash: str

    def line(self) -> str:
        return f"{self.name} {self.role} {self.hash}"


@dataclass(frozen=True, slots=True)
class _Stamp:
    """Changes when the file changes."""

    inode: int
    size: int
    modified_ns: int
    changed_ns: int


def new_token() -> str:
    """256 random bits as text."""
    return PREFIX + secrets.token_urlsafe(TOKEN_BYTES)


def hash_of(token: str) -> str:
    """What stands in the file for a token."""
    return "sha256:" + hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def check_name(name: str) -> None:
    """Raises UsageError for a name that no line may have."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name: write 1 to 100 letters, digits and @ . _ + -, "
            f"a letter or a digit first"
        )
    if name in RESERVED:
        raise UsageError(f"{name!r} is the service's own name in the audit log: take another")


def check_role(role: str) -> Role:
    """The role of that name, or UsageError."""
    for known in ROLES:
        if role == known:
            return known
    raise UsageError(f"{role!r} is no role: write {', '.join(ROLES[:-1])} or {ROLES[-1]}")


def parse(text: str) -> tuple[Token, ...]:
    """The tokens of a file's text, in order.

    Raises:
        UsageError: all that is wrong, a line each, with its number; never a hash.
    """
    tokens: list[Token] = []
    problems: list[str] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            token = _token(words)
            for key in (token.name, token.hash):
                if key in seen:
                    what = "the name" if key == token.name else "the hash"
                    raise UsageError(f"{what} of {token.name!r} stands on line {seen[key]} already")
                seen[key] = number
            tokens.append(token)
        except UsageError as error:
            problems.append(f"line {number}: {error}")
    if not tokens and not problems:
        problems.append("it has no token: make one with `python -m service token NAME ROLE`")
    if len(tokens) > TOKENS_MAX:
        problems.append(f"it has {len(tokens)} tokens: at most {TOKENS_MAX}")
    if problems:
        raise UsageError("\n".join(problems))
    return tuple(tokens)


def read(path: Path) -> tuple[Token, ...]:
    """The tokens of the file.

    Raises:
        UsageError: it is not there, others may read or change it, or a line is bad.
    """
    try:
        with path.open("rb") as file:
            _check_mode(path, os.fstat(file.fileno()).st_mode)
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"the tokens file {path} cannot be read: {error.strerror}") from error
    if len(content) > FILE_BYTES_MAX:
        raise UsageError(f"the tokens file {path} is larger than {FILE_BYTES_MAX} bytes")
    try:
        return parse(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"the tokens file {path} is no UTF-8 text") from error
    except UsageError as error:
        raise UsageError(f"the tokens file {path} is wrong:\n{error}") from error


class TokensFile:
    """The tokens as they stand in the file now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: _Stamp | None = None
        self._tokens: tuple[Token, ...] = ()

    def tokens(self) -> tuple[Token, ...]:
        """All of them; the file is read again if it changed. Raises UsageError as `read`."""
        stamp = self._stamp_now()
        if stamp is None or stamp != self._stamp:
            self._tokens, self._stamp = (), None
            self._tokens = read(self._path)
            self._stamp = stamp
        return self._tokens

    def find(self, token: str) -> Token | None:
        """The line of a token that somebody presents."""
        if len(token) > TOKEN_LENGTH_MAX:
            return None
        presented = hash_of(token)
        found = None
        for known in self.tokens():
            if hmac.compare_digest(known.hash, presented):
                found = known
        return found

    def named(self, name: str) -> Token | None:
        """The line of that name, for a session that one of its tokens opened."""
        return next((known for known in self.tokens() if known.name == name), None)

    def _stamp_now(self) -> _Stamp | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return _Stamp(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _token(words: list[str]) -> Token:
    if len(words) != 3:
        raise UsageError(f"it has {len(words)} words: write `name role hash`")
    check_name(words[0])
    role = check_role(words[1])
    if not _HASH.fullmatch(words[2]):
        raise UsageError(
            f"the hash of {words[0]!r} is not `sha256:` and 64 hexadecimal digits: make the line "
            f"with `python -m service token {words[0]} {role}`"
        )
    return Token(words[0], role, words[2])


def _check_mode(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise UsageError(f"the tokens file {path} is no file")
    if stat.S_IMODE(mode) & _OTHERS_AND_WRITING:
        raise UsageError(
            f"the tokens file {path} has mode {stat.S_IMODE(mode):04o}: others may read or change "
            f"it; run chmod 600 (or 440) on it"
        )
