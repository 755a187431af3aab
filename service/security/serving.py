"""How uvicorn is to be run: the limits that stand before the app sees anything.

The pure-Python parser h11 bounds a request's head; proxies' headers are not believed, since anybody
on this machine could send them; the access log is our own, which leaves secrets out.
"""

from __future__ import annotations

import uvicorn
from starlette.types import ASGIApp

HEAD_BYTES_MAX = 32 * 1024
CONNECTIONS_MAX = 2_000
KEEP_ALIVE_S = 30


def config(app: ASGIApp, host: str, port: int) -> uvicorn.Config:
    """The configuration of a server on that address."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http="h11",
        ws="none",
        h11_max_incomplete_event_size=HEAD_BYTES_MAX,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_keep_alive=KEEP_ALIVE_S,
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
    )
