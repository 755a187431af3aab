"""What each role may do, and that nobody unknown does anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.models import Role
from service.security import tokens
from service.security.tokens import Token
from tests.service.security.stage import app_of, client_of, settings_in, tokens_in, write_tokens

ROUTES = (("GET", "/v1/seen"), ("POST", "/v1/done"), ("PUT", "/v1/locked"), ("GET", "/v1/audit"))


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("viewer", [200, 403, 403, 403]),
        ("operator", [200, 200, 403, 403]),
        ("admin", [200, 200, 200, 200]),
    ],
)
async def test_a_role_may_do_what_those_before_it_may(
    tmp_path: Path, role: Role, expected: list[int]
) -> None:
    path, secret = tokens_in(tmp_path, someone=role)
    async with client_of(app_of(settings_in(tmp_path, tokens_file=path)), secret["someone"]) as one:
        assert [(await one.request(*route)).status_code for route in ROUTES] == expected


async def test_a_refusal_says_which_role_it_needs(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, eve="viewer")
    async with client_of(app_of(settings_in(tmp_path, tokens_file=path)), secret["eve"]) as eve:
        answer = await eve.post("/v1/done")
    assert answer.json()["detail"] == (
        "this needs the role operator, and 'eve' has viewer: ask the service's operator for a "
        "token with it"
    )


@pytest.mark.parametrize("route", [*ROUTES, ("GET", "/v1/forgotten"), ("GET", "/v1/nothing")])
async def test_nobody_gets_anything_without_a_token(tmp_path: Path, route: tuple[str, str]) -> None:
    path, _ = tokens_in(tmp_path, ci="operator")
    async with client_of(app_of(settings_in(tmp_path, tokens_file=path))) as stranger:
        answer = await stranger.request(*route)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer ", "Bearer wrong", "Basic YTpi", "wrong", "Bearer " + "x" * 9_000]
)
async def test_a_wrong_token_is_refused(tmp_path: Path, header: str) -> None:
    path, _ = tokens_in(tmp_path, ci="operator")
    async with client_of(app_of(settings_in(tmp_path, tokens_file=path))) as stranger:
        answer = await stranger.get("/v1/seen", headers={"Authorization": header})
    assert answer.status_code == 401


async def test_the_hash_is_no_token(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ci="operator")
    hashed = tokens.hash_of(secret["ci"])
    async with client_of(app_of(settings_in(tmp_path, tokens_file=path)), hashed) as thief:
        assert (await thief.get("/v1/seen")).status_code == 401


async def test_a_removed_token_is_worthless_at_once(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ci="operator")
    async with client_of(app_of(settings_in(tmp_path, tokens_file=path)), secret["ci"]) as ci:
        assert (await ci.get("/v1/seen")).status_code == 200
        write_tokens(path, [Token("other", "viewer", tokens.hash_of("other"))])
        assert (await ci.get("/v1/seen")).status_code == 401


async def test_a_broken_tokens_file_is_told_to_the_log_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, secret = tokens_in(tmp_path, ci="operator")
    async with client_of(app_of(settings_in(tmp_path, tokens_file=path)), secret["ci"]) as ci:
        path.write_text("ci operator\n", "utf-8")
        answer = await ci.get("/v1/seen")
    assert answer.status_code == 503
    assert str(tmp_path) not in answer.text
    assert "line 1: it has 2 words" in caplog.text


async def test_on_loopback_without_tokens_everybody_is_the_local_administrator(
    tmp_path: Path,
) -> None:
    async with client_of(app_of(settings_in(tmp_path))) as local:
        assert [(await local.request(*route)).status_code for route in ROUTES] == [200] * 4
        assert (await local.get("/v1/seen")).json() == "local"


async def test_health_is_open_to_all_and_under_any_name(tmp_path: Path) -> None:
    path, _ = tokens_in(tmp_path, ci="operator")
    app = app_of(settings_in(tmp_path, tokens_file=path, host="0.0.0.0"))
    async with client_of(app, url="http://10.1.2.3:8080") as kubelet:
        answers = [await kubelet.get(path) for path in ("/healthz", "/readyz")]
    assert [answer.status_code for answer in answers] == [200, 200]


async def test_metrics_are_open_on_loopback_and_need_a_viewer_beyond_it(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, prometheus="viewer")
    near = app_of(settings_in(tmp_path, tokens_file=path))
    far = app_of(settings_in(tmp_path, tokens_file=path, host="0.0.0.0"))
    statuses = []
    for app, token in ((near, ""), (far, ""), (far, secret["prometheus"])):
        async with client_of(app, token) as scraper:
            statuses.append((await scraper.get("/metrics")).status_code)
    assert statuses == [200, 401, 200]
