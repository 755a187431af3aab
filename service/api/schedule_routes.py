"""/v1/schedules: runs by the clock, made, changed and removed."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request, Response

from service import errors
from service.api.auditing import audited
from service.api.problems import answers
from service.api.shapes import ScheduleList
from service.api.state import KeeperOf
from service.models import Schedule, ScheduleRequest
from service.security.dependencies import Operator, Viewer

router = APIRouter(prefix="/v1/schedules", tags=["schedules"])
ScheduleName = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9@._+-]{0,99}$", description="A schedule's name.")
]
CHANGES = (errors.TooLarge, errors.Invalid, errors.NotAllowed, errors.Unavailable)
EXAMPLES: dict[str, Any] = {
    "every night": {
        "value": {"name": "nightly", "cron": "0 3 * * *", "run": {"plan": "same-key"}, "keep": 14}
    }
}
Wanted = Annotated[ScheduleRequest, Body(openapi_examples=EXAMPLES)]


@router.get("", operation_id="listSchedules", responses=answers(errors.Unavailable))
async def list_schedules(_: Viewer, keeper: KeeperOf) -> ScheduleList:
    """All schedules by name, each with what became of it."""
    return ScheduleList(schedules=keeper.all())


@router.post(
    "",
    operation_id="createSchedule",
    status_code=201,
    responses=answers(errors.Conflict, *CHANGES),
)
async def create_schedule(
    request: Request, response: Response, caller: Operator, keeper: KeeperOf, wanted: Wanted
) -> Schedule:
    """Make a schedule; what it would run is checked now."""
    with audited(request, caller, "schedule.create", wanted.name):
        made = keeper.create(wanted, caller)
    response.headers["Location"] = f"/v1/schedules/{wanted.name}"
    return made


@router.get(
    "/{name}",
    operation_id="getSchedule",
    responses=answers(errors.NotFound, errors.Invalid, errors.Unavailable),
)
async def get_schedule(_: Viewer, keeper: KeeperOf, name: ScheduleName) -> Schedule:
    """One schedule."""
    return keeper.get(name)


@router.put("/{name}", operation_id="changeSchedule", responses=answers(errors.NotFound, *CHANGES))
async def change_schedule(
    request: Request, caller: Operator, keeper: KeeperOf, name: ScheduleName, wanted: Wanted
) -> Schedule:
    """Put another request in its place. Its runs and what became of it stay."""
    with audited(request, caller, "schedule.change", name):
        return keeper.change(name, wanted)


@router.delete(
    "/{name}",
    operation_id="deleteSchedule",
    status_code=204,
    responses=answers(errors.NotFound, *CHANGES),
)
async def delete_schedule(
    request: Request, caller: Operator, keeper: KeeperOf, name: ScheduleName
) -> Response:
    """Remove a schedule. Its runs stay."""
    with audited(request, caller, "schedule.delete", name):
        keeper.delete(name)
    return Response(status_code=204)
