"""A small app behind the real guard: one route for each role, one that forgot to ask for one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import httpx
from fastapi import Body, FastAPI
from starlette.responses import HTMLResponse

from service.api import problems
from service.models import Role
from service.security import audit_api, middleware, session_api, tokens
from service.security.dependencies import Admin, Operator, Viewer
from service.security.security import Security
from service.security.tokens import Token
from service.settings import Settings

HERE = "http://127.0.0.1:8080"
PAGE_HEADERS = {"Origin": HERE, "Sec-Fetch-Site": "same-origin"}


def settings_in(folder: Path, **changes: Any) -> Settings:
    """Settings of a service whose data lie in `folder`, whatever the environment says."""
    return Settings(data_dir=folder / "data", **changes)


def tokens_in(folder: Path, **roles: Role) -> tuple[Path, dict[str, str]]:
    """A tokens file, and the token of each name."""
    secrets = {name: tokens.new_token() for name in roles}
    path = folder / "tokens"
    write_tokens(path, [Token(name, roles[name], tokens.hash_of(secrets[name])) for name in roles])
    return path, secrets


def write_tokens(path: Path, lines: list[Token]) -> None:
    """Replace the file in one step, as an editor does."""
    fresh = path.with_name("tokens.fresh")
    fresh.write_text("".join(f"{token.line()}\n" for token in lines), "utf-8")
    fresh.chmod(0o600)
    fresh.replace(path)


def app_of(settings: Settings) -> FastAPI:
    """The small app."""
    app = FastAPI()
    middleware.install(app, settings)
    problems.install(app)
    app.include_router(session_api.router)
    app.include_router(audit_api.router)
    _add_routes(app)
    _add_open_routes(app)
    return app


def security_of(app: FastAPI) -> Security:
    found = app.state.security
    assert isinstance(found, Security)
    return found


@asynccontextmanager
async def client_of(
    app: FastAPI, token: str = "", url: str = HERE, peer: str = "127.0.0.1"
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the app in this process."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = httpx.ASGITransport(app, client=(peer, 50_000))
    async with httpx.AsyncClient(transport=transport, base_url=url, headers=headers) as client:
        yield client


def _add_routes(app: FastAPI) -> None:
    @app.get("/v1/seen")
    async def seen(caller: Viewer) -> str:
        return caller.name

    @app.post("/v1/done")
    async def done(caller: Operator, body: Annotated[Any, Body()] = None) -> str:
        return caller.name

    @app.put("/v1/locked")
    async def locked(caller: Admin) -> str:
        return caller.name

    @app.get("/v1/forgotten")
    async def forgotten() -> str:
        return "no role was asked for"

    @app.get("/v1/failing")
    async def failing(caller: Viewer) -> str:
        raise RuntimeError("a fault of ours")


def _add_open_routes(app: FastAPI) -> None:
    @app.get("/healthz")
    async def healthz() -> str:
        return "ok"

    @app.get("/readyz")
    async def readyz() -> str:
        return "ok"

    @app.get("/metrics")
    async def metrics() -> str:
        return "up 1"

    @app.get("/")
    async def page() -> HTMLResponse:
        return HTMLResponse("<!doctype html><title>console</title>")
