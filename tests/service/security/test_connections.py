"""Clients that are slow on purpose, on real sockets: what each of them costs has an end."""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from starlette.responses import StreamingResponse

from service.__main__ import listen
from service.security import connections, serving
from service.settings import Limits
from tests.service.security.stage import app_of, settings_in

SECONDS = 60.0
LARGE = 64 << 20
MEDIA_TYPE = "application/problem+json"


@asynccontextmanager
async def served(app: FastAPI, most: int = 0) -> AsyncIterator[tuple[int, uvicorn.Server]]:
    """The app on a free port of this loop; `most` connections, or as many as usual."""
    with closing(listen("127.0.0.1", 0)) as listening:
        config = serving.config(app, "127.0.0.1", 0)
        config.limit_concurrency = most or config.limit_concurrency
        config.timeout_graceful_shutdown = 1
        server = uvicorn.Server(config)
        server.capture_signals = _no_signals  # type: ignore[method-assign]
        serving_task = asyncio.create_task(server.serve([listening]))
        while not (server.started or serving_task.done()):
            await asyncio.sleep(0)
        try:
            yield listening.getsockname()[1], server
        finally:
            server.should_exit = True
            await serving_task


@contextmanager
def _no_signals() -> Iterator[None]:
    yield


class Client:
    """A connection that says what it is told to say, and no more."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def of(cls, port: int, text: str = "") -> Client:
        made = cls(*await asyncio.open_connection("127.0.0.1", port))
        made.writer.write(text.encode())
        return made

    async def end(self) -> str:
        """What comes until the server closes the connection."""
        async with asyncio.timeout(SECONDS):
            try:
                return (await self.reader.read()).decode("latin-1")
            except ConnectionError:
                return ""
            finally:
                self.writer.close()


def _head(port: int, line: str, *more: str) -> str:
    return "\r\n".join([line, f"Host: 127.0.0.1:{port}", *more, "", ""])


def _problem(answer: str) -> dict[str, Any]:
    head, _, body = answer.partition("\r\n\r\n")
    assert f"content-type: {MEDIA_TYPE}" in head.lower()
    found: dict[str, Any] = json.loads(body)
    return found


async def test_a_head_that_does_not_come_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 0.2)
    async with served(app_of(settings_in(tmp_path))) as (port, server):
        clients = [
            await Client.of(port, text)
            for text in ("", "GET /v1/seen HTTP/1.1\r\nHost: 127", "POST")
        ]
        assert [await client.end() for client in clients] == ["", "", ""]
        assert len(server.server_state.connections) == 0


async def test_a_head_that_trickles_in_after_an_answer_is_not_waited_for_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(app_of(settings_in(tmp_path))) as (port, _):
        client = await Client.of(port)
        monkeypatch.setattr(connections, "HEAD_S", 0.2)  # of the second head: the first may be late
        client.writer.write(_head(port, "GET /v1/seen HTTP/1.1").encode())
        await client.reader.readuntil(b'"local"')
        client.writer.write(b"GET /v1/se")
        assert await client.end() == ""


async def test_the_rest_of_a_body_that_was_refused_is_read_for_a_while_and_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "DRAIN_S", 0.2)
    app = app_of(settings_in(tmp_path, limits=Limits(body_bytes=1024)))
    async with served(app) as (port, _):
        post = _head(port, "POST /v1/done HTTP/1.1", "Content-Length: 100000")
        whole = await Client.of(port, post + "x" * 100_000 + _head(port, "GET /v1/seen HTTP/1.1"))
        assert (await whole.reader.readline()).startswith(b"HTTP/1.1 413")
        assert b"200 OK" in await whole.reader.readuntil(b"200 OK")  # it was read to its end
        whole.writer.close()
        part = await Client.of(port, post + "x" * 1_000)
        assert (await part.end()).startswith("HTTP/1.1 413")


async def test_an_answer_that_nobody_takes_is_cut_off_and_others_get_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SEND_S", 0.3)
    app, over = app_of(settings_in(tmp_path)), asyncio.Event()

    @app.get("/v1/large")
    async def large() -> StreamingResponse:
        async def chunks() -> AsyncIterator[bytes]:
            try:
                for _ in range(LARGE >> 16):
                    yield bytes(1 << 16)
            finally:
                over.set()

        return StreamingResponse(chunks())

    async with served(app) as (port, _):
        deaf = await Client.of(port, _head(port, "GET /v1/large HTTP/1.1"))
        ask = _head(port, "GET /v1/seen HTTP/1.1", "Connection: close")
        assert (await (await Client.of(port, ask)).end()).startswith("HTTP/1.1 200 OK")
        async with asyncio.timeout(SECONDS):
            await over.wait()
        deaf.writer.close()


async def test_who_comes_when_all_connections_are_taken_is_told_so_as_a_problem(
    tmp_path: Path,
) -> None:
    async with served(app_of(settings_in(tmp_path)), most=3) as (port, _):
        waiting = [await Client.of(port) for _ in range(3)]
        answer = await (await Client.of(port, _head(port, "GET /v1/seen HTTP/1.1"))).end()
        probe = await Client.of(port, _head(port, "GET /healthz HTTP/1.1"))
        assert (await probe.end()).startswith("HTTP/1.1 200 OK")
        for client in waiting:
            client.writer.close()
            await client.writer.wait_closed()
        ask = _head(port, "GET /v1/seen HTTP/1.1", "Connection: close")
        assert (await (await Client.of(port, ask)).end()).startswith("HTTP/1.1 200 OK")
    assert answer.startswith("HTTP/1.1 503 ")
    assert "retry-after: 5" in answer.lower()
    assert (_problem(answer)["type"], _problem(answer)["status"]) == ("/problems/unavailable", 503)


async def test_connections_far_beyond_the_limit_are_closed_unheard(tmp_path: Path) -> None:
    async with served(app_of(settings_in(tmp_path)), most=3) as (port, server):
        waiting = [await Client.of(port) for _ in range(3 + connections.SPARE)]
        assert await (await Client.of(port, _head(port, "GET /healthz HTTP/1.1"))).end() == ""
        assert len(server.server_state.connections) == 3 + connections.SPARE
        for client in waiting:
            client.writer.close()


@pytest.mark.parametrize(
    "bytes_",
    ["BAD\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "\x16\x03\x01\x02\n\n"],
)
async def test_what_is_no_http_is_a_problem(tmp_path: Path, bytes_: str) -> None:
    async with served(app_of(settings_in(tmp_path))) as (port, _):
        answer = await (await Client.of(port, bytes_)).end()
    assert answer.startswith("HTTP/1.1 400 ")
    assert _problem(answer)["detail"] == connections.NO_HTTP


async def test_a_request_with_two_lengths_is_refused_and_nothing_after_it_is_heard(
    tmp_path: Path,
) -> None:
    async with served(app_of(settings_in(tmp_path))) as (port, _):
        both = ("Content-Length: 4", "Transfer-Encoding: chunked")
        hidden = _head(port, "GET /v1/seen HTTP/1.1")
        text = _head(port, "POST /v1/done HTTP/1.1", *both) + "0\r\n\r\n" + hidden
        answer = await (await Client.of(port, text)).end()
    assert answer.count("HTTP/1.1 ") == 1
    assert "both Content-Length and Transfer-Encoding" in _problem(answer)["detail"]


async def test_a_body_that_goes_wrong_under_an_answer_ends_the_connection_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = app_of(settings_in(tmp_path))

    @app.get("/v1/endless")
    async def endless() -> StreamingResponse:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"begun"
            await asyncio.Event().wait()

        return StreamingResponse(chunks())

    async with served(app) as (port, _):
        get = _head(port, "GET /v1/endless HTTP/1.1", "Transfer-Encoding: chunked")
        client = await Client.of(port, get)
        await client.reader.readuntil(b"begun")
        client.writer.write(b"zz\r\n")
        assert await client.end() == "\r\n"
    assert [one.message for one in caplog.records if one.levelname == "ERROR"] == []


def test_descriptors_are_raised_for_the_connections_or_fewer_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = {"now": (1_024, 1_048_576)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: limits.update(now=new))
    assert (connections.allowed(), limits["now"]) == (2_000, (2_320, 1_048_576))
    limits["now"] = (1_024, 1_024)
    assert (connections.allowed(), limits["now"]) == (704, (1_024, 1_024))
    limits["now"] = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    assert connections.allowed() == 2_000
