"""/v1/session: log the console in and out, and say who one is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from chaos.errors import UsageError
from service.errors import Conflict, Unauthenticated
from service.models import Session, SessionRequest
from service.ports import Caller
from service.security.dependencies import Viewer, identity_of, security_of
from service.security.identity import LOCAL, Identity, unreadable
from service.security.middleware import set_cookie
from service.security.security import Security
from service.security.tokens import Token

router = APIRouter(prefix="/v1/session", tags=["session"])

TheSecurity = Annotated[Security, Depends(security_of)]
TheIdentity = Annotated[Identity, Depends(identity_of)]


@router.post("", summary="Log in")
async def log_in(
    wanted: SessionRequest, request: Request, response: Response, security: TheSecurity
) -> Session:
    """Trade a token for a session's cookie, which scripts of a page cannot read."""
    peer = request.client.host if request.client else ""
    tokens = security.identifier.tokens
    if tokens is None:
        raise Conflict("this service has no tokens: on loopback everybody is its administrator")
    security.check_login(peer)
    try:
        token = tokens.find(wanted.token)
    except UsageError as error:
        raise unreadable(error) from error
    if token is None:
        security.refused(peer, "POST /v1/session", "the token is unknown")
        raise Unauthenticated("the token is not one of this service: ask its operator for one")
    return _open(token, identity_of(request), response, security)


@router.get("", summary="Who am I?")
async def who_am_i(caller: Viewer, identity: TheIdentity, security: TheSecurity) -> Session:
    """Name, role and, for a page, the CSRF token of its session."""
    has_csrf = identity.session is not None or caller is LOCAL
    csrf = security.sessions.csrf(identity.session) if has_csrf else None
    return Session(name=caller.name, role=caller.role, csrf=csrf)


@router.delete("", status_code=204, summary="Log out")
async def log_out(caller: Viewer, identity: TheIdentity, security: TheSecurity) -> Response:
    """End the session; every copy of its cookie is worthless then."""
    response = Response(status_code=204)
    if identity.session is not None:
        security.sessions.end(identity.session)
        security.audit.record(caller, "log-out", "session", "done")
    response.headers["Set-Cookie"] = set_cookie("", security.settings)
    return response


def _open(token: Token, before: Identity, response: Response, security: Security) -> Session:
    if before.session is not None:
        security.sessions.end(before.session)
    session = security.sessions.open(token)
    cookie = set_cookie(security.sessions.write(session), security.settings)
    response.headers["Set-Cookie"] = cookie
    caller = Caller(token.name, token.role, session=True)
    security.audit.record(caller, "log-in", "session", "done")
    return Session(name=token.name, role=token.role, csrf=security.sessions.csrf(session))
