"""Secrets in URLs, paths that would lead out of a folder, and what the access log says."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from service.security import access_log
from tests.service.security.stage import app_of, client_of, settings_in, tokens_in

SECRET = "saqchaos_very-secret"


@pytest.mark.parametrize(
    "query",
    [
        f"token={SECRET}", f"access_token={SECRET}", f"authorization=Bearer%20{SECRET}",
        f"TOKEN={SECRET}", f"limit=5&Token={SECRET}", f"%74oken={SECRET}", f"%2574oken={SECRET}",
        "token=", f"limit=5;token={SECRET}&token={SECRET}", f"+token+={SECRET}",
    ],
)  # fmt: skip
async def test_a_token_in_a_url_is_refused_and_not_logged(
    tmp_path: Path, query: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.WARNING, "httpx")  # the client of this test logs its URLs
    path, _ = tokens_in(tmp_path, ci="operator")
    async with client_of(app_of(settings_in(tmp_path, tokens_file=path))) as client:
        answer = await client.get(f"/v1/seen?{query}")
    assert answer.status_code == 400
    assert "`Authorization: Bearer TOKEN`" in answer.json()["detail"]
    audit = tmp_path / "data" / "audit.jsonl"
    logged = caplog.text + answer.text + (audit.read_text() if audit.exists() else "")
    assert SECRET not in logged


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        (b"", ""),
        (b"limit=5&cursor=abc", "?limit=5&cursor=abc"),
        (b"password=hunter2&limit=5", "?\u2026&limit=5"),
        (b"hunter2", "?\u2026"),
        (b"plan=a%0Ab%1B[31m", "?plan=a%0Ab%1B%5B31m"),
        (b"label=%E2%80%AEpr", "?label=%E2%80%AEpr"),
    ],
)
def test_the_log_shows_values_of_known_keys_only(query: bytes, shown: str) -> None:
    assert access_log.shown_query(query) == shown


async def test_a_request_cannot_write_a_line_of_its_own_into_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "service.access")
    async with client_of(app_of(settings_in(tmp_path))) as client:
        await client.get("/v1/%0d%0aGET%20/forged%1b[31m?limit=%0aforged&x=secret")
    lines = [one.getMessage() for one in caplog.records if one.name == "service.access"]
    assert len(lines) == 1
    assert lines[0].isprintable()
    assert lines[0].startswith("GET /v1/%0d%0aGET%20/forged%1b[31m?limit=%0Aforged&\u2026 404 ")
    assert lines[0].endswith(" local")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/runs/%2e%2e/%2e%2e/etc/passwd", "/v1/runs/%2e%2e", "/v1/runs/.%2e/x",
        "/v1/runs/..%2f..%2fetc%2fpasswd", "/static/..%5c..%5cetc", "/v1/runs/a%00b",
        "/static/%2e%2e/%2e%2e/settings.py", "/v1/runs/" + "a" * 5_000,
    ],
)  # fmt: skip
async def test_no_path_leads_out_of_a_folder(tmp_path: Path, path: str) -> None:
    async with client_of(app_of(settings_in(tmp_path))) as client:
        url = client.base_url.copy_with(raw_path=path.encode())
        answer = await client.get(url)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert "holds `..`" in answer.json()["detail"]


async def test_a_socket_of_the_web_is_closed_at_once(tmp_path: Path) -> None:
    sent: list[object] = []

    async def send(message: object) -> None:
        sent.append(message)

    async def receive() -> dict[str, object]:
        return {"type": "websocket.connect"}

    app = app_of(settings_in(tmp_path))
    scope = {"type": "websocket", "path": "/v1/seen", "headers": [], "query_string": b""}
    await app(scope, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]
