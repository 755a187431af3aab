"""`python -m service`: the settings, a socket, the app. `python -m service token …` makes a token.

    settings ──► app ──► socket ──► <data_dir>/port ──► serve … SIGTERM, SIGINT
                                                                 └─► streams end, the run in flight
                                                                     is interrupted and kept ──► 0

Exit codes: 0 ended by a signal, 2 wrong settings, 4 the port is taken or a part did not start. The
second signal ends it at once. The socket is bound before anything is started, so that a second
service on the same port touches nothing.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import uvicorn
from fastapi import FastAPI

from chaos.errors import SaqChaosError, UsageError
from chaos.version import VERSION
from service import settings_loading
from service.app import make_app
from service.errors import ServiceError
from service.security import first_tokens, folders, serving, token_command
from service.security.exposure import check_exposure
from service.settings import Settings

USAGE, FAILED = 2, 4
GRACE_S = 15
BACKLOG = 2_048
PORT_FILE = "port"
EXPECTED = (ServiceError, SaqChaosError, OSError)


class CannotListen(SaqChaosError):
    """The address cannot be listened on."""


def main(argv: Sequence[str]) -> int:
    """Run the service until a signal ends it."""
    if argv[:1] == ["token"]:
        return token_command.main(argv[1:])
    if argv:
        _say(f"{argv[0]!r} is no command: `python -m service` takes its settings from SAQCHAOS_… "
             f"variables (docs/service.md); the one command is `token NAME ROLE`")  # fmt: skip
        return USAGE
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs webhooks' URLs, often secrets
    try:
        settings = settings_loading.load(os.environ)
        for sentence in settings_loading.unknown(os.environ):
            _say(sentence)
        for made in first_tokens.make(settings):
            _say(f"a first token was made: {made}")
        check_exposure(settings)
        folders.private_umask()
        listening = listen(settings.host, settings.port)
    except UsageError as error:
        _say(str(error))
        return USAGE
    except CannotListen as error:
        _say(str(error))
        return FAILED
    with listening:
        return _serve(settings, listening)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Raises:
        CannotListen: the port is taken, or the host has no such address.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotListen(f"SAQCHAOS_HOST={host!r} is no address: {error.strerror}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise CannotListen(
                f"port {port} of {host} is taken: end what listens there, or set SAQCHAOS_PORT to "
                f"another port (0: a free one)"
            ) from error
        raise CannotListen(
            f"cannot listen on {host}:{port}: {error.strerror}; set SAQCHAOS_HOST, SAQCHAOS_PORT"
        ) from error
    return listening


def _serve(settings: Settings, listening: socket.socket) -> int:
    try:
        folders.make_private(settings.data_dir)
        folders.lock(settings.data_dir)  # before anything looks at runs that may be another's
        app = make_app(settings)
        server = _server(app, settings)
        port = listening.getsockname()[1]
        (settings.data_dir / PORT_FILE).write_text(f"{port}\n", "ascii")
    except UsageError as error:
        _say(str(error))
        return USAGE
    except OSError as error:
        _say(f"SAQCHAOS_DATA_DIR={str(settings.data_dir)!r} cannot be written: {error.strerror}")
        return USAGE
    _say(f"saq-chaos {VERSION} serves on http://{_shown(settings.host)}:{port}/ (^C ends it)")
    # uvicorn raises the signal that ended it once more, on whatever handled it before: on this.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    logging.getLogger("uvicorn.error").addFilter(partial(_is_news, app))
    with suppress(SystemExit):  # uvicorn's way to say that the app did not start: `_ended` tells
        asyncio.run(server.serve(sockets=[listening]))
    return _ended(app, server)


def _is_news(app: FastAPI, record: logging.LogRecord) -> bool:
    """Not the traceback of a start that failed for a reason that `_ended` says in a line."""
    error = app.state.start_error
    return not (isinstance(error, EXPECTED) and "Traceback" in str(record.msg))


def _server(app: FastAPI, settings: Settings) -> uvicorn.Server:
    config = serving.config(app, settings.host, settings.port)
    config.timeout_graceful_shutdown = GRACE_S
    return uvicorn.Server(config)


def _ended(app: FastAPI, server: uvicorn.Server) -> int:
    if server.started:
        return 0
    error: BaseException | None = app.state.start_error
    if isinstance(error, EXPECTED):
        _say(f"the service could not start: {error}")
    return FAILED


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
