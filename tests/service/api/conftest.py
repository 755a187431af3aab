"""One server for the tests of the API that only look at runs, and one run that it has made."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.service.api import made_runs
from tests.service.api.made_runs import PATIENCE_S, VARIANT
from tests.service.conftest import Server, start_process


@pytest.fixture(scope="session")
def shared_server(
    tmp_path_factory: pytest.TempPathFactory, sim_environment: Callable[[str], object]
) -> Iterator[Server]:
    """A server with the default settings. Whoever changes it puts it back."""
    for variant in (VARIANT, "stock@0.26.3"):
        sim_environment(variant)
    started = start_process(tmp_path_factory.mktemp("shared"), {})
    yield started
    assert started.end() == 0


@pytest.fixture(scope="session")
def run(shared_server: Server) -> str:
    """A run without a finding: the danger was not met often enough."""
    return str(made_runs.make(shared_server.url, labels={"pr": "412"})["id"])


@pytest.fixture
def asked(shared_server: Server) -> Iterator[httpx.Client]:
    """A client of the shared server."""
    with httpx.Client(base_url=shared_server.url, timeout=PATIENCE_S) as client:
        yield client
