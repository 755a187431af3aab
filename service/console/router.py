"""The console's routes: an empty frame for each page, and the static files.

    /  /runs/{id}  /start  /compare  /schedules  /login     a frame (templates/*.html)
    /static/{version}/{path}                                  assets, immutable below their version

No route here knows a run, a user or a setting: modules ask `/v1`. `not_found` is the page for an
address that nothing has; the app shows it to browsers, and a problem document to everybody else.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from service.console.assets import read_all

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
IMMUTABLE = "public, max-age=31536000, immutable"
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

ASSETS = read_all()
_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

router = APIRouter(include_in_schema=False)
page = partial(router.api_route, methods=["GET", "HEAD"])  # FastAPI's `get` answers HEAD with 405


@page("/")
def runs() -> HTMLResponse:
    """The list of runs."""
    return _page("runs", "Runs")


@page("/runs/{run}")
def run(run: str) -> HTMLResponse:
    """One run: live while it goes on, its verdict afterwards."""
    return _page("run", "Run") if RUN_ID.fullmatch(run) else not_found()


@page("/start")
def start() -> HTMLResponse:
    """The form that starts a run."""
    return _page("start", "Start a run")


@page("/compare")
def compare() -> HTMLResponse:
    """Two runs side by side."""
    return _page("compare", "Compare two runs")


@page("/schedules")
def schedules() -> HTMLResponse:
    """Runs by the clock."""
    return _page("schedules", "Schedules")


@page("/login")
def login() -> HTMLResponse:
    """Where a token becomes a session."""
    return _page("login", "Sign in")


@page("/static/{version}/{path:path}")
def static(request: Request, version: str, path: str) -> Response:
    """A static file. Below another version than today's it is sent too, but not kept."""
    asset = ASSETS.files.get(path)
    if asset is None:
        return not_found()
    headers = {
        "ETag": asset.etag,
        "Cache-Control": IMMUTABLE if version == ASSETS.version else "no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    if asset.etag in request.headers.get("If-None-Match", ""):
        return Response(status_code=304, headers=headers)
    return Response(asset.content, headers=headers, media_type=asset.media_type)


def not_found() -> HTMLResponse:
    """The page for an address that nothing has."""
    return _page("missing", "Not found", status=404)


def _page(name: str, title: str, status: int = 200) -> HTMLResponse:
    html = _TEMPLATES.get_template(f"{name}.html").render(
        page=name, title=title, base=f"/static/{ASSETS.version}"
    )
    headers = {
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "Cache-Control": "no-cache",
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
    }
    return HTMLResponse(html, status_code=status, headers=headers)
