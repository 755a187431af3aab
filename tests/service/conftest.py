"""What tests of the service share: an app over an empty data directory, and a server process.

`client` talks to the app in this process, without a socket; `server` is `python -m service` as a
user starts it, on a free port, ended with the test.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from service.app import make_app
from service.settings import Settings

START_S = 120.0
END_S = 120.0
BASE = "http://127.0.0.1:8080"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The defaults, in a data directory of the test's own."""
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture
async def app(settings: Settings) -> AsyncIterator[FastAPI]:
    """The app with all of its parts started."""
    made = make_app(settings)
    async with made.router.lifespan_context(made):
        yield made


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the app."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as made:
        yield made


@dataclass
class Server:
    """A running `python -m service`."""

    process: subprocess.Popen[str]
    data_dir: Path
    url: str

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(END_S)

    def said(self) -> str:
        """Everything on stderr. Only once it has ended."""
        return (self.data_dir.parent / "stderr.txt").read_text("utf-8")


StartServer = Callable[..., Server]


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Starts servers in the test's folder; variables of their own are keyword arguments."""
    started: list[Server] = []

    def start(**variables: str) -> Server:
        server = start_process(tmp_path, variables)
        started.append(server)
        return server

    yield start
    for server in started:
        if server.process.poll() is None:
            server.end()


@pytest.fixture
def server(start_server: StartServer) -> Server:
    """A server with the default settings on a free port."""
    return start_server()


def environment(data_dir: Path, variables: dict[str, str]) -> dict[str, str]:
    """The environment of a server: no setting but these."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SAQCHAOS_") or name == "SAQCHAOS_CACHE"
    }
    own = {"SAQCHAOS_DATA_DIR": str(data_dir), "SAQCHAOS_PORT": "0"}
    return {**kept, **own, **variables}


def start_process(folder: Path, variables: dict[str, str]) -> Server:
    """A server whose data directory is `folder/data`; whoever starts it ends it."""
    data_dir = folder / "data"
    port_file = data_dir / "port"
    port_file.unlink(missing_ok=True)
    with (folder / "stderr.txt").open("a") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "service"],
            env=environment(data_dir, variables),
            stderr=said,
            text=True,
        )
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        text = port_file.read_text("ascii") if port_file.exists() else ""
        if text.endswith("\n"):
            return Server(process, data_dir, f"http://127.0.0.1:{int(text)}")
        time.sleep(0.02)
    process.kill()
    process.wait()
    raise AssertionError((folder / "stderr.txt").read_text("utf-8"))
