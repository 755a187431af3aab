"""/v1/runs/{run}/…: what a run has left, each in its own format, and how it goes, as a stream."""

from __future__ import annotations

from typing import Annotated, Any

from annotated_types import Ge, Le
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from prometheus_client import Gauge
from pydantic import BeforeValidator
from starlette.responses import HTMLResponse, PlainTextResponse

from service import errors
from service.api import artefacts
from service.api.problems import Responses, answers
from service.api.run_routes import RunPath
from service.api.state import RunsOf
from service.api.streams import EventStream, lines_of
from service.security.dependencies import Viewer

router = APIRouter(prefix="/v1/runs/{run}", tags=["results"])
LEFT = (errors.NotFound, errors.Conflict, errors.Invalid)
EVENT_ID_MAX = 2**63 - 1


def _digits(value: object) -> object:
    """Python reads `1_000` and ` 5` as numbers; an id is digits alone."""
    if isinstance(value, str) and not (value.isascii() and value.isdigit()):
        raise ValueError("an event's id is digits alone")
    return value


EventId = Annotated[int, Ge(0), Le(EVENT_ID_MAX), BeforeValidator(_digits)]


def _as(media_type: str, description: str, schema: dict[str, Any] | None = None) -> Responses:
    content = {media_type: {"schema": schema or {"type": "string"}}}
    return {200: {"description": description, "content": content}}


@router.get(
    "/verdict",
    operation_id="getVerdict",
    response_class=Response,
    responses={
        **_as("application/json", "verdict.json, as docs/results.md has it", {"type": "object"}),
        **answers(*LEFT),
    },
)
async def get_verdict(_: Viewer, runs: RunsOf, run: RunPath) -> Response:
    """The verdict with its findings, exposures, thresholds and the gate's answer."""
    return await _file(runs, run, "verdict.json", "application/json")


@router.get(
    "/history",
    operation_id="getHistory",
    response_class=Response,
    responses={
        **_as("application/x-ndjson", "history.jsonl: one event a line, gzip if accepted"),
        **answers(*LEFT),
    },
)
async def get_history(request: Request, _: Viewer, runs: RunsOf, run: RunPath) -> Response:
    """Every event of the run, to be judged elsewhere: `saq-chaos check`."""
    gzip = artefacts.takes_gzip(request.headers.get("accept-encoding", ""))
    path = runs.folder(run) / "history.jsonl"
    return await run_in_threadpool(
        artefacts.streamed, runs.get(run), path, "application/x-ndjson", gzip=gzip
    )


@router.get(
    "/report",
    operation_id="getReport",
    response_class=HTMLResponse,
    responses={**_as("text/html", "One page that needs no network."), **answers(*LEFT)},
)
async def get_report(_: Viewer, runs: RunsOf, run: RunPath) -> Response:
    """The report as a page, in a sandbox."""
    return await _file(runs, run, "report.html", "text/html; charset=utf-8")


@router.get(
    "/junit",
    operation_id="getJunit",
    response_class=Response,
    responses={
        **_as("application/xml", "Promises as cases, variants as suites."),
        **answers(*LEFT),
    },
)
async def get_junit(_: Viewer, runs: RunsOf, run: RunPath) -> Response:
    """The verdict as JUnit XML, for CI servers."""
    return await _file(runs, run, "junit.xml", "application/xml")


@router.get(
    "/summary",
    operation_id="getSummary",
    response_class=Response,
    responses={**_as("text/markdown", "GitHub-flavoured Markdown."), **answers(*LEFT)},
)
async def get_summary(_: Viewer, runs: RunsOf, run: RunPath) -> Response:
    """The verdict in Markdown, for a pull request or a chat."""
    return await run_in_threadpool(artefacts.summary_of, runs.get(run), runs.folder(run))


@router.get(
    "/story",
    operation_id="getStory",
    response_class=HTMLResponse,
    responses={**_as("text/html", "The first finding, step by step."), **answers(*LEFT)},
)
async def get_story(_: Viewer, runs: RunsOf, run: RunPath) -> Response:
    """How a promise came to be broken, as a page in a sandbox. 404 where none was."""
    return await _file(runs, run, "story.html", "text/html; charset=utf-8")


@router.get(
    "/plan",
    operation_id="getRunPlan",
    response_class=PlainTextResponse,
    responses={
        **_as("application/yaml", "plan.yaml, every default in it.", {"type": "object"}),
        **answers(*LEFT),
    },
)
async def get_run_plan(_: Viewer, runs: RunsOf, run: RunPath) -> Response:
    """The plan as it was run: a run of it is the same run."""
    return await _file(runs, run, "plan.yaml", "application/yaml")


@router.get(
    "/events",
    operation_id="followRun",
    response_class=Response,
    responses={
        **_as(
            "text/event-stream",
            "`id`, `event` (its type), `data` (EventData with `run` and `at`, JSON); comments are "
            "pings. The stream ends after the event `ended`.",
        ),
        204: {"description": "The run has ended and nothing came after that id: do not return."},
        **answers(errors.NotFound, errors.Invalid, errors.Unavailable),
    },
)
async def follow_run(
    request: Request,
    _: Viewer,
    runs: RunsOf,
    run: RunPath,
    after: Annotated[EventId, Query(description="Events above this id.")] = 0,
    last_event_id: Annotated[
        EventId | None, Header(description="What a browser sends when it comes back.")
    ] = None,
) -> Response:
    """A run's events as server-sent events: those that were, then those that come."""
    seen = after if last_event_id is None else last_event_id
    now = runs.get(run)
    if now.state == "ended" and seen >= now.events:
        return Response(status_code=204)
    open_now: Gauge = request.app.state.metrics.service.subscribers
    return EventStream(await lines_of(runs.events(run, seen)), open_now)


async def _file(runs: RunsOf, run: str, name: str, media_type: str) -> Response:
    found, path = runs.get(run), runs.folder(run) / name
    page = name.endswith(".html")
    return await run_in_threadpool(artefacts.whole, found, path, media_type, page=page)
