"""The app: settings in, a FastAPI app out, with every part started in its lifespan.

    make_app ──► guard (service.security) ──► routers ──► problems
        │
        └─ lifespan: runs ─► webhooks ─► schedules ─ … serve … ─ ended in the reverse order

Parts meet in `app.state`: settings, runs, catalogue, security, audit, metrics, schedules, webhooks.
A part that cannot start ends the process with its own message; none is started half.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from fastapi.routing import APIRoute

from chaos.version import VERSION
from service import errors
from service.api import (
    catalogue_routes,
    description,
    health_routes,
    lock_routes,
    problem_routes,
    problems,
    result_routes,
    run_routes,
    schedule_routes,
    webhook_routes,
)
from service.api.catalogue import Catalogue
from service.api.request_id import RequestId
from service.console import router as console
from service.metrics.expose import Metrics
from service.metrics.middleware import CountRequests
from service.models import Run
from service.ports import RunFilter, Runs
from service.schedules.keeper import Keeper
from service.security import audit_api, middleware, session_api
from service.settings import Settings
from service.webhooks.hooks import Webhooks

_OWN_ROUTERS = (
    catalogue_routes, run_routes, result_routes, schedule_routes, webhook_routes, lock_routes,
    health_routes, problem_routes,
)  # fmt: skip
WAITING_SHOWN = 10_000
_OF_SESSION = (errors.Conflict, errors.TooLarge, errors.Invalid)


def make_app(settings: Settings, runs: Runs | None = None) -> FastAPI:
    """The app for these settings.

    Args:
        settings: everything that the server's operator decided.
        runs: what makes runs; none: a `RunManager` over the data directory.

    Raises:
        UsageError: the settings would let strangers in, or a file of theirs is wrong.
    """
    app = FastAPI(
        title="saq-chaos",
        version=VERSION,
        description=description.TEXT,
        openapi_tags=description.TAGS,
        openapi_url="/openapi.json" if settings.docs else None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        generate_unique_id_function=_operation_id,
    )
    app.state.settings = settings
    app.state.runs = runs
    app.state.catalogue = Catalogue(settings)
    app.state.metrics = metrics = Metrics(settings.variants)
    app.state.schedules = app.state.webhooks = app.state.start_error = None
    for module in _OWN_ROUTERS:
        app.include_router(module.router)
    app.include_router(session_api.router, responses=problems.answers(*_OF_SESSION))
    app.include_router(audit_api.router, responses=problems.answers(errors.Invalid))
    app.include_router(console.router)
    problems.install(app)
    description.install(app)
    middleware.install(app, settings)
    app.add_middleware(CountRequests, metrics=metrics.service)
    app.add_middleware(RequestId)
    return app


def _operation_id(route: APIRoute) -> str:
    """`log_in` is the operation `logIn`."""
    first, *rest = route.name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Start the parts, and end them in the reverse order, also when one could not start."""
    settings: Settings = app.state.settings
    given: Runs | None = app.state.runs
    async with AsyncExitStack() as stack:
        try:
            await _start(app, stack, settings, given)
        except Exception as error:
            app.state.start_error = error
            raise
        yield
        app.state.runs, app.state.webhooks, app.state.schedules = given, None, None


async def _start(
    app: FastAPI, stack: AsyncExitStack, settings: Settings, given: Runs | None
) -> None:
    runs = given if given is not None else _make_runs(settings, app.state.metrics)
    stack.push_async_callback(runs.close)
    await runs.start()
    figures = getattr(runs, "figures", None)  # a stand-in of a test has none
    if figures is not None:
        app.state.metrics.service.follow(figures)
    webhooks = Webhooks(settings, runs)
    stack.push_async_callback(webhooks.close)
    keeper = Keeper(settings, runs, webhooks.watch)
    stack.push_async_callback(keeper.close)
    app.state.runs, app.state.webhooks, app.state.schedules = runs, webhooks, keeper
    webhooks.start()
    keeper.start()


def _make_runs(settings: Settings, metrics: Metrics) -> Runs:
    """The real runs, with the metrics told what they do."""
    from service.runs.manager import RunManager

    def ended(run: Run) -> None:
        metrics.service.run_ended(run.outcome or "error")

    def waiting() -> float:
        return float(len(runs.find(RunFilter(state="queued"), None, WAITING_SHOWN).runs))

    runs = RunManager(settings, metrics.runs, on_end=ended)
    metrics.service.queue_length.set_function(waiting)
    return runs
