r"""The console's sessions: a signed cookie, a CSRF token that belongs to it, and an end.

    token ─► open ─► cookie  id.name.token's print.opened.seen.signature
                      └────► CSRF token = HMAC(key, id)

The cookie carries all there is, signed with a key that lies in the data directory, so sessions
outlive a restart. A log-out is remembered until the session would have ended anyway, in a file, so
that a copy of the cookie does not come back to life with the next process. A session knows the
print of the token that opened it: when that line leaves the tokens file or changes, it is over.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from chaos.clock import SECOND_US
from chaos.errors import UsageError
from service.security import folders
from service.security.tokens import Token

ABSOLUTE_US = 12 * 3_600 * SECOND_US
IDLE_US = 2 * 3_600 * SECOND_US
RENEW_US = 60 * SECOND_US
KEY_FILE = "session.key"
ENDED_FILE = "sessions-ended"
COOKIE = "saqchaos_session"
COOKIE_LENGTH_MAX = 1_000
ENDED_MAX = 100_000
_KEY_BYTES = 32
_LOCAL = "local"

NowUs = Callable[[], int]


def wall_clock_us() -> int:
    """Microseconds since 1970: a session's age must outlive the process."""
    return int(datetime.now(UTC).timestamp() * SECOND_US)


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """What the cookie says. Times are microseconds since 1970."""

    id: str
    name: str
    token_print: str
    opened_us: int
    seen_us: int


def cookie_name(*, secure: bool) -> str:
    """With `__Host-` a browser takes the cookie from this very host alone, and over TLS."""
    return f"__Host-{COOKIE}" if secure else COOKIE


def print_of(token: Token) -> str:
    """Tells tokens apart without being a hash that stands in the file."""
    return hashlib.sha256(f"session:{token.hash}".encode()).hexdigest()[:32]


class Sessions:
    """Opens, reads and ends sessions."""

    def __init__(self, data_dir: Path, now_us: NowUs = wall_clock_us) -> None:
        self._now_us = now_us
        self._key = folders.write_once(data_dir / KEY_FILE, secrets.token_bytes(_KEY_BYTES))
        if len(self._key) != _KEY_BYTES:
            raise UsageError(f"{data_dir / KEY_FILE} is no key of {_KEY_BYTES} bytes: delete it")
        self._ended = _Ended(data_dir / ENDED_FILE, now_us())

    def open(self, token: Token) -> SessionCookie:
        """A new session of whoever holds that token."""
        now_us = self._now_us()
        return SessionCookie(secrets.token_hex(16), token.name, print_of(token), now_us, now_us)

    def write(self, session: SessionCookie) -> str:
        """The cookie's value."""
        fields = (
            session.id, session.name, session.token_print,
            str(session.opened_us), str(session.seen_us),
        )  # fmt: skip
        text = base64.urlsafe_b64encode("\n".join(fields).encode()).decode()
        return f"{text}.{self._sign('session', text)}"

    def read(self, cookie: str) -> SessionCookie | None:
        """The session of a cookie; None if it is not ours, too old or logged out."""
        if len(cookie) > COOKIE_LENGTH_MAX:
            return None
        text, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(self._sign("session", text).encode(), signature.encode()):
            return None
        session = _fields(text)
        now_us = self._now_us()
        alive = (
            session.opened_us <= now_us + SECOND_US
            and now_us - session.opened_us < ABSOLUTE_US
            and now_us - session.seen_us < IDLE_US
            and session.id not in self._ended
        )
        return session if alive else None

    def renewed(self, session: SessionCookie) -> SessionCookie | None:
        """The session as it is to be written again, once a minute of use; None: not yet."""
        now_us = self._now_us()
        if now_us - session.seen_us < RENEW_US:
            return None
        return replace(session, seen_us=now_us)

    def end(self, session: SessionCookie) -> None:
        """Log out: every copy of the cookie is worthless from now on."""
        self._ended.add(session.id, session.opened_us + ABSOLUTE_US, self._now_us())

    def csrf(self, session: SessionCookie | None) -> str:
        """What X-CSRF-Token must carry; None: for the local administrator without a session."""
        return self._sign("csrf", session.id if session else _LOCAL)

    def is_csrf(self, presented: str, session: SessionCookie | None) -> bool:
        expected = self.csrf(session)
        return hmac.compare_digest(expected.encode(), presented.encode("utf-8", "surrogatepass"))

    def _sign(self, purpose: str, text: str) -> str:
        message = f"{purpose}:{text}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()


class _Ended:
    """Ids of sessions that were logged out, each until the time at which it ends by itself."""

    def __init__(self, path: Path, now_us: int) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._until_us: dict[str, int] = {}
        if path.exists():
            self._until_us = _ended_lines(folders.read_private(path).decode("ascii", "replace"))
        self._forget(now_us)

    def __contains__(self, session: str) -> bool:
        return session in self._until_us

    def add(self, session: str, until_us: int, now_us: int) -> None:
        with self._lock:
            self._forget(now_us)
            self._until_us[session] = until_us
            lines = "".join(f"{name} {until}\n" for name, until in self._until_us.items())
            fresh = self._path.with_name(f".{ENDED_FILE}.{os.getpid()}")
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with os.fdopen(folders.open_private(fresh, flags), "w") as file:
                file.write(lines)
            fresh.replace(self._path)

    def _forget(self, now_us: int) -> None:
        kept = [(name, until) for name, until in self._until_us.items() if until > now_us]
        self._until_us = dict(kept[-ENDED_MAX:])


def _ended_lines(text: str) -> dict[str, int]:
    ended: dict[str, int] = {}
    for line in text.splitlines():
        name, _, until = line.partition(" ")
        if until.isdigit():
            ended[name] = int(until)
    return ended


def _fields(text: str) -> SessionCookie:
    """Of a text that we signed, so it has the fields."""
    name, user, token_print, opened, seen = base64.urlsafe_b64decode(text).decode().split("\n")
    return SessionCookie(name, user, token_print, int(opened), int(seen))
