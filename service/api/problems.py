"""Every error as `application/problem+json` (RFC 9457): the service's own, FastAPI's, and ours.

    ServiceError ──────────────┐
    RequestValidationError ──► Invalid, BadRequest
    404 and 405 of the router ─┼──► response() ──► {"type", "title", "status", "detail", "problems"}
    anything else ──► 500, logged with the request's id ──┘

`answers(…)` gives the same problems to the OpenAPI description, so that what a route can answer and
what it says it can answer come from one list. docs/api.md explains each kind.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from service import errors
from service.api.wording import in_words
from service.errors import ServiceError
from service.models import Problem

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "/problems/"
PROBLEMS_MAX = 50
Responses = dict[int | str, dict[str, Any]]  # as FastAPI takes them
_LOG = logging.getLogger("service.api")
_OF_ROUTER: dict[int, type[ServiceError]] = {
    400: errors.BadRequest,
    404: errors.NotFound,
    405: errors.MethodNotAllowed,
    413: errors.TooLarge,
}
_DETAIL_OF_ROUTER = {
    400: "the body is no readable HTTP request body: send JSON in UTF-8",
    404: "no route has the path {path}: docs/api.md names them all",
    405: "{path} does not know {method}: the header Allow names what it knows",
    413: "the body of the request is larger than this server accepts",
}


def kinds() -> list[type[ServiceError]]:
    """Every kind of problem, in the order of the tree."""
    return [ServiceError, *_below(ServiceError)]


def _below(kind: type[ServiceError]) -> Iterator[type[ServiceError]]:
    for one in kind.__subclasses__():
        if "kind" in vars(one):  # another class of the same kind is the same problem to a caller
            yield one
        yield from _below(one)


def response(error: ServiceError, headers: dict[str, str] | None = None) -> JSONResponse:
    """The answer that tells a problem. `Retry-After` stands in it where the error has one."""
    problem = Problem(
        type=f"{TYPE_PREFIX}{error.kind}",
        title=error.title,
        status=error.status,
        detail=error.detail,
        problems=list(error.problems[:PROBLEMS_MAX]),
    )
    told = {"Cache-Control": "no-store", **(headers or {})}
    if error.retry_after_s is not None:
        told["Retry-After"] = str(error.retry_after_s)
    if error.status == 401:
        told.setdefault("WWW-Authenticate", "Bearer")
    return JSONResponse(problem.model_dump(), error.status, told, MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Let the app answer every error as a problem."""
    app.add_exception_handler(ServiceError, _of_service)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_router)
    app.add_exception_handler(Exception, _of_fault)


def answers(*kinds: type[ServiceError]) -> Responses:
    """What a route's description says of its problems: these kinds, and those of every route."""
    every: list[type[ServiceError]] = [
        errors.BadRequest, errors.Unauthenticated, errors.Forbidden, errors.TooMany,
        errors.Unavailable, *kinds,
    ]  # fmt: skip
    found: Responses = {}
    for kind in sorted(dict.fromkeys(every), key=lambda one: (one.status, one.kind)):
        title = found.get(kind.status, {}).get("description", "")
        found[kind.status] = {
            "description": f"{title}; {kind.title}" if title else kind.title,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    return found


async def _of_service(_: Request, error: Exception) -> Response:
    assert isinstance(error, ServiceError)
    return response(error)


async def _of_validation(_: Request, error: Exception) -> Response:
    """A body that is no JSON cannot be read; one that is, and says something wrong, is invalid."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(one["type"] == "json_invalid" for one in found):
        where = next(one for one in found if one["type"] == "json_invalid")
        said = where.get("ctx", {}).get("error", "it ends too early")
        return response(errors.BadRequest(f"the body is no JSON: {said}"))
    problems = tuple(f"{_place(one['loc'])}: {in_words(one)}" for one in found)
    return response(errors.Invalid(_first(problems), problems=problems))


def _place(loc: tuple[int | str, ...]) -> str:
    """`body.labels.x`; parts that pydantic adds for the arms of a union are left as they are."""
    return ".".join(str(part) for part in loc)


def _first(problems: tuple[str, ...]) -> str:
    if len(problems) == 1:
        return problems[0]
    return f"{len(problems)} problems; the first: {problems[0]}"


async def _of_router(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _OF_ROUTER.get(error.status_code)
    if kind is None:
        return await _of_fault(request, error)
    path = request.url.path[:200]
    detail = _DETAIL_OF_ROUTER[error.status_code].format(path=repr(path), method=request.method)
    if kind is errors.NotFound and _is_browser(request):
        return _page_not_found()
    return response(kind(detail), dict(error.headers or {}))


def _is_browser(request: Request) -> bool:
    """A person who typed an address, and nothing of the API."""
    wants = request.headers.get("accept", "")
    return "text/html" in wants and not request.url.path.startswith("/v1/")


def _page_not_found() -> Response:
    from service.console.router import not_found

    return not_found()


async def _of_fault(request: Request, error: Exception) -> Response:
    """A fault of ours: its traceback is logged, the caller gets the id to find it by."""
    identity = request.scope.get("state", {}).get("request_id", "unknown")
    _LOG.error("request %s failed: %s %s", identity, request.method, request.url.path,
               exc_info=error)  # fmt: skip
    detail = f"this is a fault of the service; its log tells more under request id {identity}"
    return response(ServiceError(detail), {"X-Request-Id": identity})
