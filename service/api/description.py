"""The OpenAPI description: what FastAPI makes of the routes, and what it cannot know.

FastAPI documents a 422 of its own shape; here every problem has the shape of `Problem`. The tokens
that a caller needs are described once, for all routes but the open ones.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from service.models import Problem

OPEN = ("/healthz", "/readyz", "/problems/{kind}")
TEXT = """Starts, watches and gates chaos runs of [saq](https://github.com/tobymao/saq) workers.

Every error is a problem (RFC 9457); its `type` ends with a kind that docs/api.md explains. Send a
token as `Authorization: Bearer …`; on loopback without a file of tokens nobody needs one.
"""
TAGS = [
    {"name": "catalogue", "description": "Plans, variants, faults and promises of this server."},
    {"name": "runs", "description": "Start, follow, stop and delete runs."},
    {"name": "results", "description": "What a run has left: verdict, history, reports."},
    {"name": "schedules", "description": "Runs by the clock."},
    {"name": "webhooks", "description": "What addresses of the settings were told."},
    {"name": "lock", "description": "Stop everything, and start nothing until it is released."},
    {"name": "session", "description": "Log-ins of the console."},
    {"name": "audit", "description": "Who did what."},
    {"name": "health", "description": "For those who watch over the service."},
]
_METHODS = ("get", "put", "post", "delete", "patch")


def install(app: FastAPI) -> None:
    """Let the app describe itself with `describe`; the answer is made once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = describe(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def describe(app: FastAPI) -> dict[str, Any]:
    """The description of an app, in the order of its routes."""
    made = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        tags=app.openapi_tags,
    )
    schemas: dict[str, Any] = made.setdefault("components", {}).setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["Problem"] = Problem.model_json_schema()
    made["components"]["schemas"] = dict(sorted(schemas.items()))
    made["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": "saqchaos_session"},
    }
    for path, item in made["paths"].items():
        for method, operation in item.items():
            if method in _METHODS and path not in OPEN:
                operation["security"] = [{"token": []}, {"session": []}]
    return made
