"""Counts the requests of an ASGI app by the route that took them.

    app.add_middleware(CountRequests, metrics=metrics.service)

Starlette puts the route that matched into the scope while it answers, so the template is known once
the answer begins. It reads no header and no body.
"""

from __future__ import annotations

import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.metrics.own import ServiceMetrics

SERVER_ERROR = 500


class CountRequests:
    """The middleware. A request whose app raised before it answered counts as 500."""

    def __init__(self, app: ASGIApp, metrics: ServiceMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        answered = False

        async def sending(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start" and not answered:
                answered = True
                self._count(scope, int(message["status"]), began)
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except BaseException:
            if not answered:
                self._count(scope, SERVER_ERROR, began)
            raise

    def _count(self, scope: Scope, status: int, began: float) -> None:
        route: Any = scope.get("route")
        template = getattr(route, "path", None)
        seconds = time.perf_counter() - began
        self._metrics.requested(template, str(scope["method"]), status, seconds)
