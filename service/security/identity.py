"""Who is asking: a bearer token, a session's cookie, or "local" where there are no tokens.

A token in the header wins over a cookie, and a wrong one is never mended by a cookie: who sends one
means it. Without a tokens file the service listens on loopback alone (`exposure`), and everybody
there is the administrator "local". A changing request that a browser sent on the strength of a
cookie, or of being on this machine, needs the CSRF token too, which no foreign page can read.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from chaos.errors import UsageError
from service.errors import Forbidden, Unauthenticated, Unavailable
from service.ports import Caller
from service.security.origins import SAFE_METHODS
from service.security.sessions import SessionCookie, Sessions, cookie_name, print_of
from service.security.tokens import TokensFile
from service.settings import Settings

LOCAL = Caller("local", "admin")
CSRF_HEADER = "x-csrf-token"
_BROWSER_HEADERS = ("cookie", "origin", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest")

logger = logging.getLogger("service.security")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks, and the session if it is one. `caller` None: somebody without any credentials."""

    caller: Caller | None
    session: SessionCookie | None = None


class Identifier:
    """Finds out who asks."""

    def __init__(self, settings: Settings, sessions: Sessions) -> None:
        self._secure = settings.secure_cookies
        self._sessions = sessions
        self.tokens = None if settings.tokens_file is None else TokensFile(settings.tokens_file)

    def identify(self, headers: Mapping[str, str]) -> Identity:
        """Raises Unauthenticated for credentials that are wrong, Unavailable for a bad file."""
        if self.tokens is None:
            return Identity(LOCAL)
        try:
            if "authorization" in headers:
                return Identity(self._bearer(self.tokens, headers["authorization"]))
            cookie = cookie_of(headers.get("cookie", ""), cookie_name(secure=self._secure))
            return self._session(self.tokens, cookie) if cookie else Identity(None)
        except UsageError as error:
            raise unreadable(error) from error

    def check_csrf(self, method: str, headers: Mapping[str, str], identity: Identity) -> None:
        """Raises Forbidden for a change that a browser asks for without the token."""
        if method in SAFE_METHODS or identity.caller is None:
            return
        by_browser = any(name in headers for name in _BROWSER_HEADERS)
        if identity.session is None and not (identity.caller is LOCAL and by_browser):
            return
        if not self._sessions.is_csrf(headers.get(CSRF_HEADER, ""), identity.session):
            raise Forbidden(
                "a page that changes something sends the `csrf` of GET /v1/session in the header "
                "X-CSRF-Token: it is missing or of another session. Load the page again"
            )

    def _bearer(self, tokens: TokensFile, header: str) -> Caller:
        scheme, _, presented = header.partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthenticated("the Authorization header must be `Bearer TOKEN`")
        token = tokens.find(presented.strip())
        if token is None:
            raise Unauthenticated("the token is not one of this service: ask its operator for one")
        return Caller(token.name, token.role)

    def _session(self, tokens: TokensFile, cookie: str) -> Identity:
        session = self._sessions.read(cookie)
        token = tokens.named(session.name) if session else None
        if session is None or token is None or print_of(token) != session.token_print:
            return Identity(None)  # it ended; the log-in page must stay within reach
        return Identity(Caller(token.name, token.role, session=True), session)


def unreadable(error: UsageError) -> Unavailable:
    """What is wrong stands in the log: a stranger learns neither path nor content."""
    logger.error("nobody is let in: %s", error)
    return Unavailable("the service's tokens file cannot be used; its log says why")


def cookie_of(header: str, name: str) -> str:
    """The value of one cookie; empty if it is not there or the header is none."""
    try:
        cookies: SimpleCookie = SimpleCookie(header)
    except CookieError:
        return ""
    return cookies[name].value if name in cookies else ""
