"""Which names the service answers to, and what pages of other origins can do: nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from service.errors import BadRequest
from service.security.origins import check_host, same_origin, split_host
from tests.service.security.stage import HERE, PAGE_HEADERS, app_of, client_of, settings_in

FOREIGN = (
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:3000"},  # another server on this machine
    {"Origin": "http://127.0.0.1"},
    {"Origin": "https://127.0.0.1:8080.evil.example"},
    {"Origin": "http://127.0.0.1:8080@evil.example"},
    {"Origin": "file://127.0.0.1:8080"},
    {"Origin": "http://127.0.0.1:http"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080", "localhost.:8080"],
)
def test_loopback_names_are_ours(tmp_path: Path, host: str) -> None:
    check_host(host, settings_in(tmp_path), 8080)


@pytest.mark.parametrize(
    "host",
    [
        "", "evil.example", "evil.example:8080", "127.0.0.1:8081", "127.0.0.1", "0.0.0.0:8080",
        "127.0.0.1.evil.example:8080", "127.0.0.1:8080@evil.example", "127.0.0.1:8080/evil",
        "localhost:8080, evil.example", "127.0.0.1:99999", "[::1", "127.0.0.1:8080?x", "a" * 9_000,
    ],
)  # fmt: skip
def test_any_other_name_is_refused(tmp_path: Path, host: str) -> None:
    with pytest.raises(BadRequest, match="is no name of this service"):
        check_host(host, settings_in(tmp_path), 8080)


def test_names_of_the_settings_are_ours_with_their_port_or_with_any(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, hosts=("chaos.example", "saq-chaos:8080"))
    for host in ("chaos.example", "Chaos.Example:8443", "saq-chaos:8080"):
        check_host(host, settings, 8080)
    for host in ("saq-chaos:8081", "saq-chaos", "x.chaos.example"):
        with pytest.raises(BadRequest):
            check_host(host, settings, 8080)


def test_a_service_on_a_free_port_knows_it_from_its_socket(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, port=0)
    check_host("127.0.0.1:40123", settings, 40123)
    with pytest.raises(BadRequest):
        check_host("127.0.0.1:8080", settings, 40123)


async def test_a_rebound_name_reaches_nothing(tmp_path: Path) -> None:
    async with client_of(app_of(settings_in(tmp_path)), url="http://evil.example:8080") as page:
        answers = [await page.get(path) for path in ("/", "/v1/session", "/v1/seen", "/metrics")]
        answers.append(await page.post("/v1/done"))
    assert [answer.status_code for answer in answers] == [400] * 5


@pytest.mark.parametrize("headers", FOREIGN)
async def test_a_foreign_page_changes_nothing(tmp_path: Path, headers: dict[str, str]) -> None:
    app = app_of(settings_in(tmp_path))
    async with client_of(app) as page:
        csrf = (await page.get("/v1/session")).json()["csrf"]
        answer = await page.post("/v1/done", headers={**headers, "X-CSRF-Token": csrf})
    assert answer.status_code == 403
    assert "another origin" in answer.json()["detail"]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/v1/seen", "/v1/session", "/metrics"])
async def test_a_foreign_page_uses_up_no_streams_and_loads_nothing(
    tmp_path: Path, site: str, path: str
) -> None:
    async with client_of(app_of(settings_in(tmp_path))) as page:
        for mode, dest in (("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe")):
            sent = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
            assert (await page.get(path, headers=sent)).status_code == 403


async def test_a_link_on_a_foreign_page_can_be_followed(tmp_path: Path) -> None:
    followed = {
        "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"
    }  # fmt: skip
    async with client_of(app_of(settings_in(tmp_path))) as person:
        assert (await person.get("/", headers=followed)).status_code == 200


async def test_no_other_origin_is_let_in(tmp_path: Path) -> None:
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    async with client_of(app_of(settings_in(tmp_path))) as page:
        answers = [
            await page.options("/v1/done", headers=asked),
            await page.get("/v1/seen", headers={"Origin": "http://evil.example"}),
        ]
    names = [name for answer in answers for name in answer.headers]
    assert [name for name in names if name.startswith("access-control")] == []


async def test_a_local_page_needs_the_csrf_token_and_a_command_line_does_not(
    tmp_path: Path,
) -> None:
    async with client_of(app_of(settings_in(tmp_path))) as local:
        csrf = (await local.get("/v1/session")).json()["csrf"]
        right: dict[str, Any] = {"X-CSRF-Token": csrf}
        assert (await local.post("/v1/done")).status_code == 200
        for browser in (PAGE_HEADERS, {"Cookie": "x=1"}, {"Sec-Fetch-Site": "none"}):
            assert (await local.post("/v1/done", headers=browser)).status_code == 403
            wrong = {**browser, "X-CSRF-Token": "0" * 64}
            assert (await local.post("/v1/done", headers=wrong)).status_code == 403
            assert (await local.post("/v1/done", headers={**browser, **right})).status_code == 200


@pytest.mark.parametrize(
    ("origin", "host", "secure", "expected"),
    [
        (HERE, "127.0.0.1:8080", False, True),
        (HERE, "127.0.0.1:8080", True, False),
        ("https://chaos.example", "chaos.example", True, True),
        ("https://chaos.example:443", "chaos.example", True, True),
        ("https://chaos.example", "chaos.example:443", True, True),
        ("https://chaos.example:8443", "chaos.example", True, False),
        ("http://localhost", "localhost:80", False, True),
        ("http://[::1]:8080", "[::1]:8080", False, True),
        ("http://localhost:8080", "127.0.0.1:8080", False, False),
        ("", "127.0.0.1:8080", False, False),
    ],
)
def test_an_origin_is_the_same_where_scheme_name_and_port_are(
    origin: str, host: str, secure: bool, expected: bool
) -> None:
    assert same_origin(origin, host, secure) is expected


def test_a_host_has_a_name_and_perhaps_a_port() -> None:
    assert split_host("Chaos.Example:8080") == ("chaos.example", 8080)
    assert split_host("[::1]") == ("::1", None)
    assert split_host("a b") == ("a b", None)
    assert split_host("a/b") == ("", None)
