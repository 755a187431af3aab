"""What one caller may ask: bytes, depth, requests, changes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chaos.clock import SECOND_US
from service.errors import BadRequest
from service.security import bodies, rates
from service.security.rates import Rate, peer_key
from service.settings import Limits
from tests.service.security.stage import app_of, client_of, security_of, settings_in, tokens_in

JSON = {"Content-Type": "application/json"}
SMALL = Limits(body_bytes=1024)


async def _pieces(size: int) -> AsyncIterator[bytes]:
    yield b'"'
    for _ in range(size // 128):
        yield b"x" * 128
    yield b'"'


async def test_a_body_within_the_limit_passes_and_one_byte_more_does_not(tmp_path: Path) -> None:
    async with client_of(app_of(settings_in(tmp_path, limits=SMALL))) as client:
        statuses = [
            (await client.post("/v1/done", content=b'"' + b"x" * size + b'"')).status_code
            for size in (1022, 1023, 100_000)
        ]
    assert statuses == [200, 413, 413]


async def test_a_body_without_a_length_is_counted_as_it_comes(tmp_path: Path) -> None:
    async with client_of(app_of(settings_in(tmp_path, limits=SMALL))) as client:
        statuses = [
            (await client.post("/v1/done", content=_pieces(size), headers=JSON)).status_code
            for size in (512, 1024)
        ]
    assert statuses == [200, 413]


async def test_an_endless_body_is_read_no_further_than_the_limit() -> None:
    given = 0

    async def endless() -> dict[str, object]:
        nonlocal given
        given += 1
        return {"type": "http.request", "body": b"x" * 100, "more_body": True}

    with pytest.raises(Exception, match="larger than 1000 bytes"):
        await bodies.read(endless, None, 1000)
    assert given == 11


@pytest.mark.parametrize("declared", ["-1", "x", "1e3", "９"])
async def test_a_length_that_is_no_number_is_refused(declared: str) -> None:
    async def nothing() -> dict[str, object]:
        raise AssertionError("the body must not be read")

    with pytest.raises(BadRequest, match="is no number"):
        await bodies.read(nothing, declared, 1000)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        b'{"plan":' + b"[" * 51 + b"]" * 51 + b"}",
        b'"\\"' + b"[" * 100_000,  # a string that never ends
        ("[" * 100_000).encode("utf-16"),
        ("[" * 100_000).encode("utf-16-le"),
        b'"unclosed" "' + b"\\\\\\" * 60_000,
    ],
    ids=["open", "lists", "objects", "just too deep", "in a string", "utf-16", "le", "escapes"],
)
async def test_nested_json_never_reaches_a_parser(tmp_path: Path, body: bytes) -> None:
    async with client_of(app_of(settings_in(tmp_path))) as client:
        answer = await client.post("/v1/done", content=body, headers=JSON)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


def test_brackets_in_texts_do_not_count() -> None:
    bodies.check_json(
        json.dumps({"text": "[" * 1_000, 'quoted "': ["\\", '"' + "{" * 99]}).encode()
    )
    bodies.check_json(json.dumps([[]] * 5_000).encode())
    bodies.check_json(b"[" * 50 + b"]" * 50)
    with pytest.raises(BadRequest, match="more than 50 levels"):
        bodies.check_json(b"[" * 51 + b"]" * 51)


@pytest.mark.parametrize(
    "body", [b'"\\ud800"', b'{"\\uDFFF": 1}', b'"\xed\xa0\x80"', b'"\xff"', b'"a\x00"']
)
def test_text_that_is_no_unicode_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest, match=r"no UTF-8|surrogate"):
        bodies.check_json(body)


def test_a_pair_of_surrogates_is_a_character() -> None:
    bodies.check_json(b'"\\ud83d\\ude00"')


@pytest.mark.parametrize(
    ("body", "key"),
    [
        (b'{"plan": "smoke", "plan": "same-key"}', "'plan'"),
        (b'[{"a": {"b": 1, "\\u0062": 1}}]', "'b'"),
        (b'{"\x1b[31m": 1, "\x1b[31m": 2}'.replace(b"\x1b", b"\\u001b"), r"'\\x1b\[31m'"),
    ],
)
def test_a_key_that_stands_twice_is_refused_by_its_name(body: bytes, key: str) -> None:
    with pytest.raises(BadRequest, match=f"the key {key} stands twice"):
        bodies.check_json(body)


def test_the_same_key_in_two_objects_is_no_repetition() -> None:
    bodies.check_json(b'[{"a": 1}, {"a": {"a": 2}}]')


def test_a_number_of_more_digits_than_any_number_needs_is_refused_and_shown() -> None:
    bodies.check_json(b'{"seed": ' + b"9" * 400 + b"}")
    with pytest.raises(BadRequest, match=r"the number 9{60}… has 401 digits: at most 400"):
        bodies.check_json(b'{"seed": ' + b"9" * 401 + b"}")


async def test_more_requests_than_the_burst_are_told_when_to_come_again(tmp_path: Path) -> None:
    limits = Limits(requests_per_s=1, requests_burst=3)
    path, secret = tokens_in(tmp_path, ann="viewer", bob="viewer")
    app = app_of(settings_in(tmp_path, tokens_file=path, limits=limits))
    async with client_of(app, secret["ann"]) as ann, client_of(app, secret["bob"]) as bob:
        answers = [await ann.get("/v1/seen") for _ in range(5)]
        other = await bob.get("/v1/seen")
        health = await ann.get("/healthz")
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert answers[-1].headers["retry-after"] == "1"
    assert (other.status_code, health.status_code) == (200, 200)


async def test_strangers_are_limited_by_their_address(tmp_path: Path) -> None:
    limits = Limits(requests_per_s=1, requests_burst=2)
    path, _ = tokens_in(tmp_path, ann="viewer")
    app = app_of(settings_in(tmp_path, tokens_file=path, limits=limits))
    async with client_of(app, "wrong", peer="192.0.2.1") as one:
        statuses = [(await one.get("/v1/seen")).status_code for _ in range(4)]
    async with client_of(app, peer="192.0.2.2") as other:
        statuses.append((await other.get("/v1/seen")).status_code)
    assert statuses == [401, 401, 429, 429, 401]


async def test_changes_have_a_limit_of_their_own(tmp_path: Path) -> None:
    app = app_of(settings_in(tmp_path, limits=Limits(writes_per_minute=2)))
    async with client_of(app) as client:
        statuses = [(await client.post("/v1/done")).status_code for _ in range(3)]
        read = await client.get("/v1/seen")
    assert (statuses, read.status_code) == ([200, 200, 429], 200)


def test_a_bucket_fills_with_time() -> None:
    now = [0]
    rate = Rate(2, 3, lambda: now[0])
    assert [rate.take("a") for _ in range(4)] == [0, 0, 0, 1]
    now[0] = SECOND_US // 2
    assert [rate.take("a") for _ in range(2)] == [0, 1]
    now[0] = 100 * SECOND_US
    assert [rate.take("a") for _ in range(4)] == [0, 0, 0, 1]
    assert rate.take("b") == 0


def test_the_wait_is_how_long_one_takes_to_come() -> None:
    rate = Rate(10 / 60, 1, lambda: 0)
    assert (rate.take("a"), rate.take("a")) == (0, 7)


def test_buckets_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "BUCKETS_MAX", 3)
    rate = Rate(1, 1, lambda: 0)
    for key in "abcd":
        rate.take(key)
    assert list(rate._buckets) == ["b", "c", "d"]


def test_an_ipv6_host_counts_by_its_network() -> None:
    assert peer_key("2001:db8::1") == peer_key("2001:db8::ffff:2") == "2001:db8::/64"
    assert peer_key("192.0.2.1") == "192.0.2.1"
    assert peer_key("") == ""


async def test_a_fault_of_ours_is_an_answer_like_any_other(tmp_path: Path) -> None:
    app = app_of(settings_in(tmp_path))
    async with client_of(app) as client:
        answer = await client.get("/v1/failing")
    assert answer.status_code == 500
    assert "a fault of ours" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert security_of(app).settings.limits == Limits()
