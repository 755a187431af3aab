"""How uvicorn is to be run: the limits that stand before the app sees anything.

The pure-Python parser h11 bounds a request's head, `connections` the time that a client may take;
proxies' headers are not believed, since anybody on this machine could send them; the access log is
our own, which leaves secrets out.
"""

from __future__ import annotations

import uvicorn
from starlette.types import ASGIApp

from service.security import connections

HEAD_BYTES_MAX = 32 * 1024
KEEP_ALIVE_S = 30


def config(app: ASGIApp, host: str, port: int) -> uvicorn.Config:
    """The configuration of a server on that address."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=connections.Connection,
        ws="none",
        h11_max_incomplete_event_size=HEAD_BYTES_MAX,
        limit_concurrency=connections.allowed(),
        timeout_keep_alive=KEEP_ALIVE_S,
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
    )
