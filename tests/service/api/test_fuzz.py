"""schemathesis over the whole API: no 5xx, no answer that the description does not have.

A real server answers. Its data directory holds a run that another server has made, so that routes
of a run have something to show; its limit for runs is a second, so that what the fuzzer asks for is
judged to the end and hardly anything starts. The event stream is tested in `test_streams.py`: a
fuzzer would wait for its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from schemathesis import Case
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.api import made_runs
from tests.service.conftest import Server, start_process

ROOT = Path(__file__).parent.parent.parent.parent
CHECKS: list[CheckFunction] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
LIMITS = {
    "SAQCHAOS_LIMITS__RUN_S": "1",
    "SAQCHAOS_LIMITS__REQUESTS_PER_S": "100000",
    "SAQCHAOS_LIMITS__REQUESTS_BURST": "100000",
    "SAQCHAOS_LIMITS__WRITES_PER_MINUTE": "1000000",
}
schema = schemathesis.openapi.from_path(ROOT / "service" / "openapi.json")


@pytest.fixture(scope="module")
def known(
    tmp_path_factory: pytest.TempPathFactory,
    sim_environment: Callable[..., object],
) -> Iterator[tuple[Server, str]]:
    """A server under fuzzing limits, and the id of the run that it has."""
    sim_environment(made_runs.VARIANT)
    folder = tmp_path_factory.mktemp("fuzz")
    first = start_process(folder, {})
    try:
        run = made_runs.make(first.url)["id"]
    finally:
        first.end()
    server = start_process(folder, LIMITS)
    try:
        yield server, run
    finally:
        assert server.end() == 0


@schema.exclude(operation_id="followRun").parametrize()
@hypothesis.settings(
    max_examples=8,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_described_and_none_is_a_fault_of_ours(
    case: Case[Any], known: tuple[Server, str]
) -> None:
    server, run = known
    case.call_and_validate(base_url=server.url, checks=CHECKS)
    about = [name for name in ("run", "a", "b") if name in (case.path_parameters or {})]
    if about and case.operation.label != "DELETE /v1/runs/{run}":
        case.path_parameters.update(dict.fromkeys(about, run))
        case.call_and_validate(base_url=server.url, checks=CHECKS)
