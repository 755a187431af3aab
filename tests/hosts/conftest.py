"""Processes of the worker package on a server of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaos.environments import Environment
from tests.conftest import RunningServer
from tests.hosts.processes import Hosts, hosts_of


@pytest.fixture
def hosts(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    environment: Callable[[str], Environment],
    redis_server: RunningServer,
) -> Iterator[Hosts]:
    """Processes of `stock@0.26.3`, or of the variant that the test is parametrized with."""
    variant = getattr(request, "param", "stock@0.26.3")
    with hosts_of(tmp_path, environment(variant), redis_server.url) as hosts:
        yield hosts
