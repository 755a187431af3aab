"""/v1/runs: start, list, show, stop, delete, disturb and compare runs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from service import errors
from service.api import comparing
from service.api.auditing import audited
from service.api.problems import answers
from service.api.state import RunsOf, WebhooksOf
from service.models import (
    Comparison,
    FaultAccepted,
    FaultRequest,
    Outcome,
    Preview,
    Run,
    RunPage,
    RunRequest,
    State,
)
from service.ports import RunFilter, Trigger
from service.security.dependencies import Admin, Operator, Viewer

router = APIRouter(prefix="/v1/runs", tags=["runs"])
RunPath = Annotated[
    str,
    Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$", description="A run's id."),
]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[!-~]{1,200}$",
        description="The same key with an equal request gives the run that it gave before.",
    ),
]
START_EXAMPLES: dict[str, Any] = {
    "shipped plan": {"value": {"plan": "same-key", "labels": {"pr": "412"}}},
    "gate an upgrade": {
        "value": {
            "plan": "same-key",
            "variants": ["stock@0.26.3", "stock@0.26.4"],
            "gate": "baseline",
            "baseline": "stock@0.26.3",
        }
    },
    "see what it would do": {"value": {"plan": "smoke", "seed": 7, "dry_run": True}},
}
FAULT_EXAMPLES: dict[str, Any] = {
    "sweep now": {"value": {"fault": {"fault": "sweep"}}},
    "restart the fleet now": {"value": {"fault": {"fault": "rolling_restart", "max_surge": 1}}},
}
CHANGES = (errors.NotFound, errors.Conflict, errors.TooLarge, errors.Invalid, errors.Unavailable)


@router.post(
    "",
    operation_id="startRun",
    status_code=201,
    response_model=Run,
    responses={
        200: {"model": Preview, "description": "`dry_run`: what it would run. Nothing started."},
        201: {
            "description": "It waits for its turn, or runs already.",
            "headers": {"Location": {"schema": {"type": "string"}, "description": "The run."}},
        },
        **answers(*CHANGES, errors.Locked, errors.NotAllowed),
    },
)
async def start_run(
    request: Request,
    caller: Operator,
    runs: RunsOf,
    webhooks: WebhooksOf,
    wanted: Annotated[RunRequest, Body(openapi_examples=START_EXAMPLES)],
    key: Key = None,
) -> Response:
    """Start a run, or with `dry_run` say what it would do."""
    if wanted.dry_run:
        return _json(await run_in_threadpool(runs.preview, wanted), 200)
    with audited(request, caller, "run.start", "") as entry:
        run = runs.submit(wanted, Trigger("api", caller.name), key)
        entry.target = run.id
        webhooks.watch(run.id, wanted.webhooks)
    return _json(run, 201, {"Location": f"/v1/runs/{run.id}"})


@router.get("", operation_id="listRuns", responses=answers(errors.Invalid))
async def list_runs(
    _: Viewer,
    runs: RunsOf,
    state: State | None = None,
    outcome: Outcome | None = None,
    plan: Annotated[str | None, Query(max_length=100)] = None,
    trigger: Annotated[str | None, Query(pattern="^(api|schedule|standing)$")] = None,
    label: Annotated[str | None, Query(max_length=301, examples=["pr=412"])] = None,
    cursor: Annotated[str | None, Query(max_length=300, description="`next` of a page.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> RunPage:
    """Runs, the newest first, a page at a time."""
    which = RunFilter(state=state, outcome=outcome, plan=plan, trigger=trigger, label=label)
    return runs.find(which, cursor, limit)


@router.get("/{run}", operation_id="getRun", responses=answers(errors.NotFound, errors.Invalid))
async def get_run(_: Viewer, runs: RunsOf, run: RunPath) -> Run:
    """One run, as it stands."""
    return runs.get(run)


@router.post("/{run}/stop", operation_id="stopRun", status_code=202, responses=answers(*CHANGES))
async def stop_run(request: Request, caller: Operator, runs: RunsOf, run: RunPath) -> Run:
    """End a run: its faults heal, and what it recorded is judged and kept."""
    with audited(request, caller, "run.stop", run):
        return await runs.stop(run, caller)


@router.delete("/{run}", operation_id="deleteRun", status_code=204, responses=answers(*CHANGES))
async def delete_run(request: Request, caller: Admin, runs: RunsOf, run: RunPath) -> Response:
    """Remove an ended run and its files."""
    with audited(request, caller, "run.delete", run):
        await runs.delete(run, caller)
    return Response(status_code=204)


@router.post(
    "/{run}/faults",
    operation_id="injectFault",
    status_code=202,
    responses=answers(*CHANGES, errors.Locked, errors.NotAllowed),
)
async def inject_fault(
    request: Request,
    caller: Operator,
    runs: RunsOf,
    run: RunPath,
    wanted: Annotated[FaultRequest, Body(openapi_examples=FAULT_EXAMPLES)],
) -> FaultAccepted:
    """Inject one fault now; the run's events tell how it goes."""
    with audited(request, caller, "run.inject", run) as entry:
        entry.detail = str(wanted.fault.get("fault", ""))[:100]
        return await runs.inject(run, wanted, caller)


@router.post(
    "/{a}/compare/{b}",
    operation_id="compareRuns",
    responses=answers(errors.NotFound, errors.Conflict, errors.Invalid),
)
async def compare_runs(_: Viewer, runs: RunsOf, a: RunPath, b: RunPath) -> Comparison:
    """Two ended runs side by side: is b worse than a, promise by promise, counter by counter?"""
    sides = [(runs.get(name), runs.folder(name)) for name in (a, b)]
    return await run_in_threadpool(comparing.compare_stored, *sides)


def _json(model: Run | Preview, status: int, headers: dict[str, str] | None = None) -> Response:
    return Response(model.model_dump_json(), status, headers, "application/json")
