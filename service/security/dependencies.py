"""The role that a route needs, as a type of its argument: `caller: Operator`.

    viewer    sees everything that a run says
    operator  also starts and stops runs, injects faults, makes schedules
    admin     also deletes runs, locks the service, reads the audit log

Each role may do what the ones before it may. The guard has found out who asks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request

from service.errors import Forbidden, Unauthenticated
from service.models import Role
from service.ports import Caller
from service.security.identity import Identity
from service.security.security import Security
from service.security.tokens import ROLES


def identity_of(request: Request) -> Identity:
    """Who the guard found to be asking; nobody where no guard is installed."""
    found = getattr(request.state, "identity", None)
    return found if isinstance(found, Identity) else Identity(None)


def security_of(request: Request) -> Security:
    """The security of the app that answers."""
    security = request.app.state.security
    assert isinstance(security, Security)
    return security


def at_least(role: Role) -> Callable[[Request], Awaitable[Caller]]:
    """A dependency that refuses everybody below `role`."""

    async def dependency(request: Request) -> Caller:
        caller = identity_of(request).caller
        if caller is None:
            raise Unauthenticated(
                "this needs a token: send `Authorization: Bearer TOKEN`, or log in on the page"
            )
        if ROLES.index(caller.role) < ROLES.index(role):
            security_of(request).audit.record(
                caller, "authorize", f"{request.method} {request.url.path}", "refused", role
            )
            raise Forbidden(
                f"this needs the role {role}, and {caller.name!r} has {caller.role}: ask the "
                f"service's operator for a token with it"
            )
        return caller

    dependency.__name__ = f"at_least_{role}"
    return dependency


Viewer = Annotated[Caller, Depends(at_least("viewer"))]
Operator = Annotated[Caller, Depends(at_least("operator"))]
Admin = Annotated[Caller, Depends(at_least("admin"))]
