"""`saq-chaos serve`: start the HTTP service. This process becomes it.

    saq-chaos serve --port 9000 ──exec──► python -m service     (its settings: SAQCHAOS_… variables)

The library never imports the service, so the verb knows no more of it than its name and three of
its variables; everything else is set in the environment. `-P` keeps the working directory off the
import path: a user's own package called `service` must not be taken for ours.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import click

from chaos.errors import UsageError

NEEDED = ("fastapi", "uvicorn", "sse_starlette", "pydantic_settings", "cronsim", "httpx", "jinja2")


@click.command("serve", short_help="Start the HTTP service: runs on demand, console, metrics.")
@click.option("--host", metavar="ADDRESS", help="Where to listen (SAQCHAOS_HOST). [127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="0: a free one (SAQCHAOS_PORT). [8080]")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Runs, schedules, the audit log (SAQCHAOS_DATA_DIR). [service-data]",
)
def command(host: str | None, port: int | None, data_dir: Path | None) -> int:
    """Serve chaos runs over HTTP until a signal ends it: the API, the console at /, /metrics.

    Everything is set by SAQCHAOS_… variables, which docs/service.md lists; an option here goes
    before its variable. Beyond loopback it needs a file of tokens.

    \b
    On this machine:   saq-chaos serve
    Another port:      saq-chaos serve --port 9000
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"the service needs packages that are not installed ({', '.join(missing)}): "
            f"run pip install 'saq-chaos[service]'"
        )
    environ = {**os.environ, **_variables(host, port, data_dir)}
    argv = [sys.executable, "-P", "-m", "service"]
    os.execve(sys.executable, argv, environ)  # noqa: S606 - no shell; the service is ours


def _variables(host: str | None, port: int | None, data_dir: Path | None) -> dict[str, str]:
    given = {"HOST": host, "PORT": port, "DATA_DIR": data_dir}
    return {f"SAQCHAOS_{name}": str(value) for name, value in given.items() if value is not None}
