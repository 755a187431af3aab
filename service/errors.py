"""Every error that the service answers on purpose, and the HTTP status that each one means.

    ServiceError
    ├── BadRequest        400   the request cannot be read
    ├── Unauthenticated   401   nobody we know
    ├── Forbidden         403   somebody we know, who may not do this
    ├── NotFound          404   there is nothing of that name
    ├── MethodNotAllowed  405   the path is there, and does not know this method
    ├── Conflict          409   it is there, but not in a state that allows this
    ├── TooLarge          413   more than a limit of the settings
    ├── NotAllowed        422   the server's operator has not listed what the request names
    ├── Invalid           422   a plan or a value of it is wrong; carries every problem at once
    ├── Locked            423   an administrator has locked the service
    ├── TooMany           429   a rate or a queue is full; says when to come again
    └── Unavailable       503   the service cannot do it now: disk full, shutting down

`service.api.problems` turns one into `application/problem+json` (RFC 9457). Text in `detail` names
the offending value and the way out; it never holds a secret or a path of the server.
"""

from __future__ import annotations


class ServiceError(Exception):
    """Base of the tree.

    Attributes:
        status: the HTTP status code.
        kind: the last part of the problem's `type`; docs/api.md explains each.
        title: the same for every problem of this kind.
        detail: what is wrong with this very request, and the way out.
        problems: all of them where there are several, such as those of a plan.
        retry_after_s: when to come again, if that helps.
    """

    status = 500
    kind = "internal"
    title = "The service failed"

    def __init__(
        self, detail: str, *, problems: tuple[str, ...] = (), retry_after_s: int | None = None
    ) -> None:
        self.detail = detail
        self.problems = problems
        self.retry_after_s = retry_after_s
        super().__init__(detail)


class BadRequest(ServiceError):
    """The request cannot be read."""

    status, kind, title = 400, "bad-request", "The request cannot be read"


class Unauthenticated(ServiceError):
    """There is no token or session, or it is not a valid one."""

    status, kind, title = 401, "unauthenticated", "Who are you?"


class Forbidden(ServiceError):
    """The caller's role is too low, or the request came from a foreign page."""

    status, kind, title = 403, "forbidden", "You may not do this"


class NotFound(ServiceError):
    """Nothing has that name."""

    status, kind, title = 404, "not-found", "There is no such thing"


class MethodNotAllowed(ServiceError):
    """The path is there, and does not know this method."""

    status, kind, title = 405, "method-not-allowed", "That method is not for this path"


class Conflict(ServiceError):
    """It is there, but its state does not allow this."""

    status, kind, title = 409, "conflict", "Its state does not allow this"


class TooLarge(ServiceError):
    """The request is larger than a limit of the settings."""

    status, kind, title = 413, "too-large", "The request is too large"


class NotAllowed(ServiceError):
    """The request names something that the server's operator has not listed."""

    status, kind, title = 422, "not-allowed", "The server's operator has not allowed this"


class Invalid(ServiceError):
    """A plan or another value is wrong."""

    status, kind, title = 422, "invalid", "The request is wrong"


class Locked(ServiceError):
    """An administrator has locked the service: nothing starts until it is released."""

    status, kind, title = 423, "locked", "The service is locked"


class TooMany(ServiceError):
    """A rate, the queue or the number of subscribers is at its limit."""

    status, kind, title = 429, "too-many", "Too many at once"


class Unavailable(ServiceError):
    """The service cannot do it now."""

    status, kind, title = 503, "unavailable", "Not now"
