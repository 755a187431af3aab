"""What every answer tells a browser, refusals and faults of ours too."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.datastructures import MutableHeaders

from service.security.headers import add_security_headers
from tests.service.security.stage import app_of, client_of, settings_in

ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
CONSOLE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
DATA = "default-src 'none'; frame-ancestors 'none'"


@pytest.mark.parametrize(
    ("path", "status", "policy", "cache"),
    [
        ("/", 200, CONSOLE, None),
        ("/healthz", 200, DATA, None),
        ("/metrics", 200, DATA, None),
        ("/v1/seen", 200, DATA, "no-store"),
        ("/v1/nothing", 404, DATA, "no-store"),
        ("/v1/seen?token=x", 400, DATA, "no-store"),
        ("/v1/failing", 500, DATA, "no-store"),
    ],
)
async def test_every_answer_has_them(
    tmp_path: Path, path: str, status: int, policy: str, cache: str | None
) -> None:
    async with client_of(app_of(settings_in(tmp_path))) as client:
        answer = await client.get(path)
    assert answer.status_code == status
    assert {name: answer.headers.get(name) for name in ALWAYS} == ALWAYS
    assert answer.headers["content-security-policy"] == policy
    assert answer.headers.get("cache-control") == cache
    assert len(answer.headers["x-request-id"]) == 16


def test_a_route_keeps_its_own_policy() -> None:
    headers = MutableHeaders(
        {
            "Content-Type": "text/html",
            "Content-Security-Policy": "sandbox",
            "Cache-Control": "max-age=60",
        }
    )
    add_security_headers(headers, "/v1/runs/r1/report", 200)
    assert headers["content-security-policy"] == "sandbox"
    assert headers["cache-control"] == "max-age=60"


async def test_a_request_chooses_no_request_id(tmp_path: Path) -> None:
    async with client_of(app_of(settings_in(tmp_path))) as client:
        answer = await client.get("/v1/seen", headers={"X-Request-Id": "forged"})
    assert answer.headers["x-request-id"] != "forged"
