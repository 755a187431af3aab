"""/v1/lock: stop everything, and start nothing until it is released. It outlives a restart."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Request

from service import errors
from service.api.auditing import audited
from service.api.problems import answers
from service.api.state import RunsOf
from service.models import Lock, LockRequest
from service.security.dependencies import Admin, Viewer

router = APIRouter(prefix="/v1/lock", tags=["lock"])
EXAMPLES: dict[str, Any] = {
    "an incident": {"value": {"reason": "staging is needed for the incident of today"}}
}
CHANGES = (errors.TooLarge, errors.Invalid, errors.Unavailable)


@router.get("", operation_id="getLock", responses=answers(errors.Unavailable))
async def get_lock(_: Viewer, runs: RunsOf) -> Lock:
    """Whether the service is locked, by whom and why."""
    return runs.locked()


@router.put("", operation_id="lock", responses=answers(*CHANGES))
async def put_lock(
    request: Request,
    caller: Admin,
    runs: RunsOf,
    wanted: Annotated[LockRequest, Body(openapi_examples=EXAMPLES)],
) -> Lock:
    """Stop what runs, keep what waits from beginning, refuse what is new."""
    with audited(request, caller, "lock", "service") as entry:
        entry.detail = wanted.reason
        return await runs.lock(wanted.reason, caller)


@router.delete("", operation_id="release", responses=answers(*CHANGES))
async def release_lock(request: Request, caller: Admin, runs: RunsOf) -> Lock:
    """Release it. One that is not locked stays so."""
    with audited(request, caller, "release", "service"):
        return await runs.release(caller)
