"""The guard: everything that is checked before the app sees a request, in one ASGI middleware.

    request ─► Host ─► foreign page? ─► secret in URL? ─► who? ─► rate ─► CSRF ─► body ─► app
    answer  ◄── security headers, X-Request-Id, renewed cookie ◄────────────────────────────┘

One middleware, since each of a stack would parse the headers again and their order would matter in
ways that nobody sees. It refuses by default: whatever stands under /v1 needs somebody whom we know,
also if a route forgot to ask for a role. What a role may do is decided by `dependencies`.
"""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chaos.clock import MonotonicClock
from service.api import problems
from service.errors import BadRequest, NotFound, ServiceError, Unauthenticated, Unavailable
from service.security import access_log, bodies, origins
from service.security.audit import CURRENT, RequestInfo
from service.security.connections import FULL
from service.security.headers import add_security_headers
from service.security.identity import Identity
from service.security.security import Security
from service.security.serving import HEAD_BYTES_MAX
from service.security.sessions import ABSOLUTE_US, cookie_name
from service.settings import Settings

SESSION_PATH = "/v1/session"
OPEN_PATHS = ("/healthz", "/readyz")
PATH_MAX = 2_000
COME_AGAIN_S = 5
CLOSE = "close"  # in a request's state: the connection ends with its answer

logger = logging.getLogger("service.security")


def install(app: Starlette, settings: Settings) -> Security:
    """Put the guard around the app; `app.state` has what its routes share.

    A middleware that gives requests their id is added after it, and so stands outside.
    """
    security = Security(settings)
    app.state.security = security
    app.state.audit = security.audit
    app.add_middleware(Guard, security=security)
    return security


@dataclass(slots=True)
class _Exchange:
    """One request and what is known of it so far."""

    scope: Scope
    method: str
    path: str
    headers: dict[str, str]
    peer: str
    listening: int
    id: str
    began_us: int
    identity: Identity = field(default_factory=lambda: Identity(None))
    status: int = 0

    @property
    def changes(self) -> bool:
        return self.method not in origins.SAFE_METHODS

    @property
    def who(self) -> str:
        return self.identity.caller.name if self.identity.caller else "anonymous"


class Guard:
    """Refuses what is not allowed to reach the app, and marks what leaves it."""

    def __init__(self, app: ASGIApp, security: Security) -> None:
        self._app = app
        self._security = security
        self._settings = security.settings
        self._clock = MonotonicClock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http":
            await self._exchange(_exchange_of(scope, self._clock.now_us()), receive, send)
        else:
            await self._app(scope, receive, send)

    async def _exchange(self, exchange: _Exchange, receive: Receive, send: Send) -> None:
        outer = CURRENT.set(RequestInfo(exchange.id, exchange.peer))
        marked = self._marking(exchange, send)
        try:
            try:
                receive = await self._checked(exchange, receive)
            except ServiceError as error:
                await problems.response(error)(exchange.scope, receive, marked)
                return
            await self._inner(exchange, receive, marked)
        finally:
            CURRENT.reset(outer)
            self._log(exchange)

    async def _inner(self, exchange: _Exchange, receive: Receive, send: Send) -> None:
        """The app; what it raises becomes an answer like any other, if there is none yet."""
        try:
            await self._app(exchange.scope, receive, send)
        except Exception:
            logger.exception("request %s failed", exchange.id)
            if exchange.status:
                raise  # an answer is under way: the server breaks the connection off
            error = ServiceError(
                f"this is a fault of the service; its log tells more under request id {exchange.id}"
            )
            await problems.response(error)(exchange.scope, receive, send)

    async def _checked(self, exchange: _Exchange, receive: Receive) -> Receive:
        """Raises ServiceError for what must not pass; else what the app reads the body from."""
        headers, scope = exchange.headers, exchange.scope
        _check_head(scope)
        if exchange.path in OPEN_PATHS and not exchange.changes:
            return receive
        _check_room(scope)
        _check_path(exchange.path)
        host = headers.get("host", "")
        origins.check_host(host, self._settings, exchange.listening)
        secure = self._settings.secure_cookies
        origins.check_page(exchange.method, headers, host, secure=secure)
        access_log.check_no_secret(scope["query_string"])
        self._identify(exchange)
        scope["state"]["identity"] = exchange.identity
        if not exchange.changes:
            return receive
        self._security.identifier.check_csrf(exchange.method, headers, exchange.identity)
        declared = headers.get("content-length")
        body = await bodies.read(receive, declared, self._settings.limits.body_bytes)
        bodies.check_json(body)
        return bodies.replay(body, receive)

    def _identify(self, exchange: _Exchange) -> None:
        """Who asks, within their rate; whoever must be known is."""
        security = self._security
        try:
            exchange.identity = security.identifier.identify(exchange.headers)
            if exchange.identity.caller is None and self._must_be_known(exchange.path):
                raise Unauthenticated(
                    "this needs a token: send `Authorization: Bearer TOKEN`, or log in on the page"
                )
        except Unauthenticated as error:
            security.check_rate(None, exchange.peer, changes=exchange.changes)
            security.refused(exchange.peer, f"{exchange.method} {exchange.path}", error.detail)
            raise
        caller = exchange.identity.caller
        security.check_rate(caller, exchange.peer, changes=exchange.changes)

    def _must_be_known(self, path: str) -> bool:
        if path == "/metrics":
            return self._security.exposed
        return path.startswith("/v1/") and path != SESSION_PATH

    def _marking(self, exchange: _Exchange, send: Send) -> Send:
        """A `send` that adds what every answer carries."""

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.setdefault("X-Request-Id", exchange.id)
                add_security_headers(headers, exchange.path, exchange.status)
                self._renew(exchange, headers)
                if exchange.scope["state"].get(FULL) or exchange.scope["state"].get(CLOSE):
                    headers["Connection"] = "close"
            await send(message)

        return marked

    def _renew(self, exchange: _Exchange, headers: MutableHeaders) -> None:
        session = exchange.identity.session
        if session is None or exchange.path == SESSION_PATH:
            return
        renewed = self._security.sessions.renewed(session)
        if renewed is not None:
            value = self._security.sessions.write(renewed)
            headers.append("Set-Cookie", set_cookie(value, self._settings))

    def _log(self, exchange: _Exchange) -> None:
        scope = exchange.scope
        raw = scope.get("raw_path") or exchange.path.encode()
        took_us = self._clock.now_us() - exchange.began_us
        access_log.log(
            exchange.method, raw, scope["query_string"], exchange.status, took_us, exchange.who
        )


def set_cookie(value: str, settings: Settings) -> str:
    """The Set-Cookie header of a session; an empty value takes it away."""
    name = cookie_name(secure=settings.secure_cookies)
    age_s = ABSOLUTE_US // 1_000_000 if value else 0
    secure = "; Secure" if settings.secure_cookies else ""
    return f"{name}={value}; Path=/; Max-Age={age_s}; HttpOnly; SameSite=Strict{secure}"


def _check_head(scope: Scope) -> None:
    """The server bounds a head that comes in pieces; one that comes at once passes it whole."""
    size = sum(len(name) + len(value) for name, value in scope["headers"])
    if size > HEAD_BYTES_MAX:
        raise BadRequest(f"the headers have {size} bytes: at most {HEAD_BYTES_MAX}")
    names = {name.lower() for name, _ in scope["headers"]}
    if {b"content-length", b"transfer-encoding"} <= names:  # where does the request end?
        scope["state"][CLOSE] = True
        raise BadRequest("the request has both Content-Length and Transfer-Encoding: send one")


def _check_room(scope: Scope) -> None:
    """Who comes when all connections are taken makes room again."""
    if scope["state"].get(FULL):
        raise Unavailable(
            "as many connections are open as this service takes: close some, or come again",
            retry_after_s=COME_AGAIN_S,
        )


def _check_path(path: str) -> None:
    """No name of ours has these; refused here, no route need think of them."""
    if "\0" in path or "\\" in path or len(path) > PATH_MAX or ".." in path.split("/"):
        raise NotFound("no path of this service holds `..`, a backslash or a zero byte")


def _exchange_of(scope: Scope, now_us: int) -> _Exchange:
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name in headers:
            value = f"{headers[name]}{'; ' if name == 'cookie' else ', '}{value}"
        headers[name] = value
    state = scope.setdefault("state", {})
    client, server = scope.get("client"), scope.get("server")
    return _Exchange(
        scope=scope,
        method=scope["method"],
        path=scope["path"],
        headers=headers,
        peer=client[0] if client else "",
        listening=(server[1] if server else None) or 0,
        id=state.setdefault("request_id", secrets.token_hex(8)),
        began_us=now_us,
    )
