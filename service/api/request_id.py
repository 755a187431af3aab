"""A request's id: made here, in the header `X-Request-Id` of the answer and in the log.

A plain ASGI wrapper, so that streams pass through it untouched. An id that the client sends is not
taken over: it would be text of a stranger in our log.
"""

from __future__ import annotations

import secrets

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "X-Request-Id"


class RequestId:
    """Gives every HTTP request an id of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        identity = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = identity

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = identity
            await send(message)

        await self._app(scope, receive, send_with_id)
