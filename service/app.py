"""The app: settings in, a FastAPI app out, with every part started in its lifespan.

    make_app ──► security ──► routers ──► problems
        │
        └─ lifespan: runs ─► webhooks ─► schedules ─ … serve … ─ ended in the reverse order

Parts meet in `app.state`: settings, runs, catalogue, security, metrics, schedules, webhooks. A part
that cannot start ends the process with its own message; none is started half.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from chaos.version import VERSION
from service.api import catalogue_routes, description, health_routes, problems
from service.api.catalogue import Catalogue
from service.api.request_id import RequestId
from service.ports import Runs
from service.settings import Settings


def make_app(settings: Settings, runs: Runs | None = None) -> FastAPI:
    """The app for these settings.

    Args:
        settings: everything that the server's operator decided.
        runs: what makes runs; none: a `RunManager` over the data directory.
    """
    app = FastAPI(
        title="saq-chaos",
        version=VERSION,
        description=description.TEXT,
        openapi_tags=description.TAGS,
        openapi_url="/openapi.json" if settings.docs else None,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.settings = settings
    app.state.runs = runs
    app.state.catalogue = Catalogue(settings)
    for router in (catalogue_routes.router, health_routes.router):
        app.include_router(router)
    problems.install(app)
    description.install(app)
    app.add_middleware(RequestId)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
