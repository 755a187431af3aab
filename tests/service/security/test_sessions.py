"""The console's sessions: cookie, CSRF token, expiry, log-out, and the end of their token."""

from __future__ import annotations

import os
from http.cookies import SimpleCookie
from pathlib import Path

import httpx
import pytest

from chaos.clock import SECOND_US
from chaos.errors import UsageError
from service.security import tokens
from service.security.sessions import ABSOLUTE_US, IDLE_US, RENEW_US, Sessions
from service.security.tokens import Token
from tests.service.security.stage import (
    PAGE_HEADERS,
    app_of,
    client_of,
    settings_in,
    tokens_in,
    write_tokens,
)

CI = Token("ci", "operator", "sha256:" + "ab" * 32)
START_US = 1_700_000_000 * SECOND_US


class Clock:
    """A wall clock that a test moves."""

    def __init__(self) -> None:
        self.now_us = START_US

    def __call__(self) -> int:
        return self.now_us


async def log_in(client: httpx.AsyncClient, token: str) -> dict[str, str]:
    """Log the client in; what a page must send to change something."""
    answer = await client.post("/v1/session", json={"token": token}, headers=PAGE_HEADERS)
    assert answer.status_code == 200, answer.text
    return {**PAGE_HEADERS, "X-CSRF-Token": answer.json()["csrf"]}


async def test_a_token_is_traded_for_a_cookie_that_no_script_reads(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ann="admin")
    async with client_of(app_of(settings_in(tmp_path, tokens_file=path))) as page:
        answer = await page.post("/v1/session", json={"token": secret["ann"]})
    header = answer.headers["set-cookie"]
    value = SimpleCookie(header)["saqchaos_session"].value
    assert header == (f"saqchaos_session={value}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict")
    assert secret["ann"] not in answer.text + header
    assert {key: answer.json()[key] for key in ("name", "role")} == {"name": "ann", "role": "admin"}


async def test_behind_tls_the_cookie_is_for_tls_and_this_host_alone(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ann="admin")
    settings = settings_in(
        tmp_path, tokens_file=path, secure_cookies=True, hosts=("chaos.example",)
    )
    async with client_of(app_of(settings), url="https://chaos.example") as page:
        answer = await page.post("/v1/session", json={"token": secret["ann"]})
        assert answer.headers["set-cookie"].startswith("__Host-saqchaos_session=")
        assert answer.headers["set-cookie"].endswith("; HttpOnly; SameSite=Strict; Secure")
        assert "domain" not in answer.headers["set-cookie"].lower()
        assert (await page.get("/v1/seen")).status_code == 200


async def test_a_session_does_what_its_token_may(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ann="operator")
    async with client_of(app_of(settings_in(tmp_path, tokens_file=path))) as page:
        sent = await log_in(page, secret["ann"])
        assert (await page.get("/v1/seen")).json() == "ann"
        assert (await page.post("/v1/done", headers=sent)).status_code == 200
        assert (await page.put("/v1/locked", headers=sent)).status_code == 403
        me = (await page.get("/v1/session")).json()
    assert me == {"name": "ann", "role": "operator", "csrf": sent["X-CSRF-Token"]}


async def test_a_change_by_session_needs_the_csrf_token_of_that_session(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ann="operator", bob="operator")
    app = app_of(settings_in(tmp_path, tokens_file=path))
    async with client_of(app) as ann, client_of(app) as bob:
        await log_in(ann, secret["ann"])
        of_bob = await log_in(bob, secret["bob"])
        statuses = [
            (await ann.post("/v1/done", headers=headers)).status_code
            for headers in ({}, PAGE_HEADERS, of_bob, {**PAGE_HEADERS, "X-CSRF-Token": "0" * 64})
        ]
        assert (await bob.post("/v1/done", headers=of_bob)).status_code == 200
    assert statuses == [403, 403, 403, 403]


async def test_a_token_in_the_header_needs_no_csrf_token(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ci="operator")
    async with client_of(app_of(settings_in(tmp_path, tokens_file=path)), secret["ci"]) as ci:
        assert (await ci.post("/v1/done")).status_code == 200
        assert (await ci.get("/v1/session")).json() == {
            "name": "ci", "role": "operator", "csrf": None
        }  # fmt: skip


async def test_a_wrong_token_is_not_mended_by_a_cookie(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ann="operator")
    async with client_of(app_of(settings_in(tmp_path, tokens_file=path))) as page:
        await log_in(page, secret["ann"])
        answer = await page.get("/v1/seen", headers={"Authorization": "Bearer wrong"})
    assert answer.status_code == 401


async def test_log_out_ends_every_copy_of_the_cookie_also_after_a_restart(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ann="operator")
    settings = settings_in(tmp_path, tokens_file=path)
    async with client_of(app_of(settings)) as page:
        sent = await log_in(page, secret["ann"])
        copy = {"Cookie": f"saqchaos_session={page.cookies['saqchaos_session']}"}
        assert (await page.get("/v1/seen", headers=copy)).status_code == 200
        answer = await page.delete("/v1/session", headers=sent)
        assert answer.status_code == 204
        assert "Max-Age=0" in answer.headers["set-cookie"]
        page.cookies.clear()
        assert (await page.get("/v1/seen", headers=copy)).status_code == 401
    async with client_of(app_of(settings)) as thief:
        assert (await thief.get("/v1/seen", headers=copy)).status_code == 401


async def test_a_session_outlives_a_restart(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ann="operator")
    settings = settings_in(tmp_path, tokens_file=path)
    async with client_of(app_of(settings)) as page:
        sent = await log_in(page, secret["ann"])
        cookie = {"Cookie": f"saqchaos_session={page.cookies['saqchaos_session']}"}
    async with client_of(app_of(settings)) as page:
        assert (await page.post("/v1/done", headers={**cookie, **sent})).status_code == 200


@pytest.mark.parametrize("change", ["removed", "replaced", "lowered"])
async def test_a_session_lives_and_dies_with_its_token(tmp_path: Path, change: str) -> None:
    path, secret = tokens_in(tmp_path, ann="admin")
    line = Token("ann", "admin", tokens.hash_of(secret["ann"]))
    after = {
        "removed": Token("other", "admin", tokens.hash_of("other")),
        "replaced": Token("ann", "admin", tokens.hash_of("another")),
        "lowered": Token("ann", "viewer", line.hash),
    }[change]
    async with client_of(app_of(settings_in(tmp_path, tokens_file=path))) as page:
        sent = await log_in(page, secret["ann"])
        assert (await page.post("/v1/done", headers=sent)).status_code == 200
        write_tokens(path, [after])
        status = (await page.post("/v1/done", headers=sent)).status_code
    assert status == (403 if change == "lowered" else 401)


async def test_a_log_in_with_a_wrong_token_is_refused_and_soon_rated(tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ann="operator")
    app = app_of(settings_in(tmp_path, tokens_file=path))
    async with client_of(app, peer="192.0.2.1") as thief, client_of(app, peer="192.0.2.2") as ann:
        wrong = {"token": "wrong"}
        answers = [await thief.post("/v1/session", json=wrong) for _ in range(12)]
        right = await thief.post("/v1/session", json={"token": secret["ann"]})
        other = await ann.post("/v1/session", json={"token": secret["ann"]})
    assert [answer.status_code for answer in answers] == [401] * 10 + [429] * 2
    assert int(answers[-1].headers["retry-after"]) in range(1, 8)
    assert (right.status_code, other.status_code) == (429, 200)


async def test_without_tokens_there_is_nothing_to_log_in_with(tmp_path: Path) -> None:
    async with client_of(app_of(settings_in(tmp_path))) as local:
        assert (await local.post("/v1/session", json={"token": "x"})).status_code == 409
        me = (await local.get("/v1/session")).json()
    assert (me["name"], me["role"], len(me["csrf"])) == ("local", "admin", 64)


def test_a_session_ends_twelve_hours_after_it_began(tmp_path: Path) -> None:
    clock = Clock()
    sessions = Sessions(tmp_path, clock)
    session = sessions.open(CI)
    for _ in range(ABSOLUTE_US // (IDLE_US // 2) - 1):
        clock.now_us += IDLE_US // 2
        session = sessions.renewed(session) or session
        assert sessions.read(sessions.write(session)) == session
    clock.now_us = START_US + ABSOLUTE_US - 1
    session = sessions.renewed(session) or session
    assert sessions.read(sessions.write(session)) == session
    clock.now_us += 1
    assert sessions.read(sessions.write(session)) is None


def test_a_session_ends_after_two_hours_without_use(tmp_path: Path) -> None:
    clock = Clock()
    sessions = Sessions(tmp_path, clock)
    cookie = sessions.write(sessions.open(CI))
    clock.now_us += IDLE_US - 1
    assert sessions.read(cookie) is not None
    clock.now_us += 1
    assert sessions.read(cookie) is None


def test_a_cookie_is_written_again_once_a_minute_of_use(tmp_path: Path) -> None:
    clock = Clock()
    sessions = Sessions(tmp_path, clock)
    session = sessions.open(CI)
    clock.now_us += RENEW_US - 1
    assert sessions.renewed(session) is None
    clock.now_us += 1
    renewed = sessions.renewed(session)
    assert renewed is not None
    assert (renewed.opened_us, renewed.seen_us) == (START_US, START_US + RENEW_US)


def test_a_cookie_of_the_future_is_none(tmp_path: Path) -> None:
    clock = Clock()
    sessions = Sessions(tmp_path, clock)
    cookie = sessions.write(sessions.open(CI))
    clock.now_us -= 3_600 * SECOND_US
    assert sessions.read(cookie) is None


@pytest.mark.parametrize("place", [0, 40, -1])
def test_a_cookie_that_somebody_changed_is_none(tmp_path: Path, place: int) -> None:
    sessions = Sessions(tmp_path, Clock())
    cookie = sessions.write(sessions.open(CI))
    assert sessions.read(cookie) is not None
    other = "A" if cookie[place] != "A" else "B"
    changed = cookie[:place] + other + (cookie[place + 1 :] if place != -1 else "")
    assert sessions.read(changed) is None


@pytest.mark.parametrize("cookie", ["", ".", "x", "a.b", "é.é", "x" * 9_000])
def test_what_is_no_cookie_of_ours_is_none(tmp_path: Path, cookie: str) -> None:
    assert Sessions(tmp_path, Clock()).read(cookie) is None


def test_a_cookie_of_another_service_is_none(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    cookie = Sessions(there, Clock()).write(Sessions(there, Clock()).open(CI))
    assert Sessions(here, Clock()).read(cookie) is None


def test_the_key_is_private_and_made_once(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        first = Sessions(tmp_path, Clock())
        cookie = first.write(first.open(CI))
    finally:
        os.umask(before)
    key = tmp_path / "session.key"
    assert (key.stat().st_mode & 0o777, key.stat().st_size) == (0o600, 32)
    assert Sessions(tmp_path, Clock()).read(cookie) is not None
    assert [path.name for path in tmp_path.iterdir()] == ["session.key"]


def test_a_cut_off_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "session.key").write_bytes(b"short")
    with pytest.raises(UsageError, match="is no key of 32 bytes: delete it"):
        Sessions(tmp_path, Clock())


def test_log_outs_are_forgotten_when_the_session_would_have_ended(tmp_path: Path) -> None:
    clock = Clock()
    sessions = Sessions(tmp_path, clock)
    sessions.end(sessions.open(CI))
    ended = tmp_path / "sessions-ended"
    assert len(ended.read_text("ascii").splitlines()) == 1
    assert ended.stat().st_mode & 0o777 == 0o600
    clock.now_us += ABSOLUTE_US
    last = sessions.open(CI)
    sessions.end(last)
    assert ended.read_text("ascii") == f"{last.id} {clock.now_us + ABSOLUTE_US}\n"
