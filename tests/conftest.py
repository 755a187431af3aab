"""What tests of several parts share: a Redis server of their own, and variants' environments.

`redis_server` is a server for one test. `environment("stock@0.26.3")` is that variant's
environment, built once in a session (or taken from `SAQCHAOS_CACHE`), and `sim_environment(…)` the
one in which the simulator runs; a test that needs one which cannot be had (no index, nothing
cached) is skipped with the reason.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as generating

from chaos import variants
from chaos.environments import CACHE_VARIABLE, Environment
from chaos.errors import EnvironmentFailed
from chaos.live.binary import find_server

_SERVER_SECONDS = 30
# A machine that is busy with something else says nothing about the code: no example has a deadline.
# Each run tries the same examples; `--hypothesis-profile=wandering` tries others, as benches do.
patient = generating(deadline=None, suppress_health_check=[HealthCheck.too_slow])
generating.register_profile("wandering", patient)
generating.register_profile("patient", patient, derandomize=True)
generating.load_profile("patient")


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A Redis server that belongs to one test."""

    url: str
    port: int
    pid: int


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RunningServer]:
    """A Redis server on a free loopback port, with an empty folder of its own."""
    with serving(tmp_path / "redis-server") as server:
        yield server


@pytest.fixture
def other_redis_server(tmp_path: Path) -> Iterator[RunningServer]:
    """A second server: one that a run must not touch."""
    with serving(tmp_path / "other-redis-server") as server:
        yield server


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[RunningServer]:
    """A Redis server with an empty data set, on `port` or a free one, stopped at the end."""
    folder.mkdir()
    for _ in range(5):
        chosen = port or _free_port()
        argv = [str(find_server()), "--bind", "127.0.0.1", "--port", str(chosen), "--save", ""]
        argv += ["--appendonly", "no", "--dir", str(folder)]
        with (folder / "log").open("ab") as log, subprocess.Popen(argv, stdout=log) as process:
            try:
                if _answers(process, chosen):
                    yield RunningServer(f"redis://127.0.0.1:{chosen}/0", chosen, process.pid)
                    return
            finally:
                process.kill()
    pytest.fail(f"no Redis server came up; its log:\n{(folder / 'log').read_text()}")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Environments are kept in `SAQCHAOS_CACHE`, or in a folder of this session.

    The processes of `--numprocesses` share that folder: each environment is built once, by whoever
    needs it first, and the others wait for it.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with pytest.MonkeyPatch.context() as patch:
        if not os.environ.get(CACHE_VARIABLE):
            patch.setenv(CACHE_VARIABLE, str(shared / "saqchaos-cache"))
        yield


@pytest.fixture(scope="session")
def environment(cache: None) -> Callable[[str], Environment]:
    """Makes a variant's environment from its text: `environment("guarded@0.26.4").python`."""
    return _prepared


@pytest.fixture(scope="session")
def sim_environment(cache: None) -> Callable[[str], Environment]:
    """The same with what the simulator needs: `sim_environment("stock@0.26.3").python`."""
    return partial(_prepared, sim=True)


def _prepared(text: str, *, sim: bool = False) -> Environment:
    try:
        return variants.prepare(variants.parse(text), print, sim=sim)
    except EnvironmentFailed as error:
        pytest.skip(f"no environment for {text}: {error}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    """Whether the server answers PING before it exits and in time."""
    deadline = time.monotonic() + _SERVER_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                if connection.recv(64).startswith(b"+PONG"):
                    return True
        except OSError:
            time.sleep(0.01)
    return False
