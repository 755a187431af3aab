"""Over the whole app: which routes are open, and which role each of the others needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from service.app import make_app
from tests.service.security.stage import client_of, settings_in, tokens_in

OPEN_OF_API = ["POST /v1/session"]
OPEN_PAGES = ("/healthz", "/readyz", "/metrics", "/openapi.json")
NEEDS_ADMIN = [
    "DELETE /v1/lock", "DELETE /v1/runs/{run}", "GET /v1/audit", "GET /v1/webhooks/deliveries",
    "PUT /v1/lock",
]  # fmt: skip
VIEWER_MAY_CHANGE = ["DELETE /v1/session", "POST /v1/runs/{a}/compare/{b}"]  # and changes nothing


def operations(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Each operation of the app, and the role that it asks for; empty: none."""
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        roles = list(_roles(route.dependant)) if isinstance(route, APIRoute) else []
        for method in sorted(context.methods or ()):
            yield f"{method} {context.path}", ",".join(roles)


def _roles(dependant: Dependant) -> Iterator[str]:
    name = getattr(dependant.call, "__name__", "")
    if name.startswith("at_least_"):
        yield name.removeprefix("at_least_")
    for inner in dependant.dependencies:
        yield from _roles(inner)


def test_every_route_of_the_api_asks_for_one_role(tmp_path: Path) -> None:
    found = dict(operations(make_app(settings_in(tmp_path))))
    of_api = {name: role for name, role in found.items() if " /v1/" in name}
    assert len(of_api) > 25
    assert [name for name, role in of_api.items() if not role] == OPEN_OF_API
    assert sorted(name for name, role in of_api.items() if role == "admin") == NEEDS_ADMIN
    changing = {name: role for name, role in of_api.items() if not name.startswith("GET ")}
    assert sorted(name for name, role in changing.items() if role == "viewer") == VIEWER_MAY_CHANGE
    assert [role for role in of_api.values() if "," in role] == []


async def test_a_stranger_gets_pages_without_data_and_nothing_else(tmp_path: Path) -> None:
    path, _ = tokens_in(tmp_path, ci="operator")
    app = make_app(settings_in(tmp_path, tokens_file=path, hosts=("chaos.example",)))
    refused: list[str] = []
    let_in: list[str] = []
    async with client_of(app, url="http://chaos.example") as stranger:
        for operation, _role in operations(app):
            method, _, route = operation.partition(" ")
            if method == "HEAD" or operation in OPEN_OF_API:
                continue
            answer = await stranger.request(method, route.replace("{", "").replace("}", ""))
            (refused if answer.status_code == 401 else let_in).append(route)
    assert [route for route in refused if not route.startswith("/v1/")] == []
    assert [route for route in let_in if route.startswith("/v1/")] == []
    assert [route for route in OPEN_PAGES if route not in let_in] == []
