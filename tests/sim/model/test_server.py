"""The server itself: handshakes, refusals, restarts, and what it does not know."""

from __future__ import annotations

import pytest
from redis.exceptions import BusyLoadingError, OutOfMemoryError, ReadOnlyError

from chaos.errors import NotModelled, UsageError
from chaos.sim.redis_model import RedisModel
from tests.sim.model.driver import Client, Driver


def test_what_redis_py_sends_on_connecting(client: Client) -> None:
    assert client.do("CLIENT SETINFO LIB-NAME redis-py") == b"OK"
    assert client.do("CLIENT SETINFO LIB-VER 7.4.1") == b"OK"
    assert client.do("CLIENT SETNAME worker") == b"OK"
    assert client.do("CLIENT GETNAME") == b"worker"
    assert client.do("SELECT 0") == b"OK"
    assert client.do("SELECT 16") == "!DB index is out of range"
    assert client.do("PING") == b"PONG"


def test_info_says_the_version_that_saq_asks_for() -> None:
    assert b"\r\nredis_version:7.2.4\r\n" in Driver().client().do("INFO")
    assert b"\r\nredis_version:6.0.1\r\n" in Driver(version="6.0.1").client().do("INFO server")
    assert Driver().client().do("INFO odd") == b""


def test_databases_are_apart(client: Client) -> None:
    client.do("SET k v")
    client.do("SELECT 1")
    assert client.do("GET k") is None


def test_an_unknown_command_names_itself_and_is_answered_as_the_server_does(
    driver: Driver,
) -> None:
    client = driver.client()
    with pytest.raises(NotModelled, match="the simulated Redis has no HSET"):
        client.send("HSET h a 1")
    assert client.take() == ["!unknown command 'HSET', with args beginning with: 'h' 'a' '1' "]
    with pytest.raises(NotModelled, match="CLIENT KILL"):
        client.send("CLIENT KILL 1")


def test_a_model_that_is_not_strict_answers_only() -> None:
    client = Driver(strict=False).client()
    assert client.do("HSET h a 1") == (
        "!unknown command 'HSET', with args beginning with: 'h' 'a' '1' "
    )
    assert client.do("CLIENT odd") == "!unknown subcommand 'odd'. Try CLIENT HELP."


def test_errors_are_the_exceptions_of_redis_py(driver: Driver) -> None:
    client = driver.client()
    for switch, kind in (
        ("out_of_memory", OutOfMemoryError),
        ("read_only", ReadOnlyError),
        ("loading", BusyLoadingError),
    ):
        setattr(driver.model.refusals, switch, True)
        client.send("SET k v")
        assert type(client.read.pop()) is kind
        setattr(driver.model.refusals, switch, False)
    assert client.do("SET k v") == b"OK"


def test_without_memory_only_what_needs_some_is_refused(driver: Driver) -> None:
    client = driver.client()
    client.do("RPUSH l a b c")
    client.do("MULTI")
    client.do("RPUSH l d")
    driver.model.refusals.out_of_memory = True
    oom = "!command not allowed when used memory > 'maxmemory'."
    assert client.do("EXEC") == f"!Transaction discarded because of: OOM {oom[1:]}"
    assert client.do("RPUSH l d") == oom
    assert client.do("LPOP l") == b"a"
    assert client.do("DEL l") == 1
    assert client.do("EVAL", "return redis.call('SET', 'k', 'v')", "0") == (
        f"{oom} script: on @user_script:1."
    )


def test_a_replica_reads_but_does_not_write(driver: Driver) -> None:
    client = driver.client()
    client.do("SET k v")
    driver.model.refusals.read_only = True
    assert client.do("GET k") == b"v"
    assert client.do("DEL k") == "!You can't write against a read only replica."
    assert client.do("EVAL", "return redis.call('GET', 'k')", "0") == b"v"
    assert client.do("EVAL", "return redis.call('DEL', 'k')", "0") == (
        "!You can't write against a read only replica. script: on @user_script:1."
    )


def test_while_loading_only_the_connection_is_served(driver: Driver) -> None:
    client = driver.client()
    driver.model.refusals.loading = True
    client.send("GET k")
    assert str(client.read.pop()) == "Redis is loading the dataset in memory"
    assert client.do("CLIENT SETINFO LIB-NAME redis-py") == b"OK"
    assert b"loading:1" in client.do("INFO persistence")


# --- restart --------------------------------------------------------------------------------------


def prepared(driver: Driver) -> Client:
    client = driver.client()
    client.do("SET k v EX 100")
    client.do("RPUSH l a")
    client.do("SCRIPT", "LOAD", "return 1")
    return client


def test_a_restart_keeps_the_data_and_nothing_else(driver: Driver) -> None:
    old, blocked = prepared(driver), driver.client()
    blocked.send("BLPOP other 1")
    driver.model.restart("kept")
    assert driver.model.next_deadline_us() is None
    with pytest.raises(KeyError):
        old.send("GET k")
    old.leave()
    new = driver.client()
    assert (new.do("GET k"), new.do("TTL k")) == (b"v", 100)
    assert new.do("SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db") == [0]
    new.do("RPUSH other x")
    assert blocked.take() == []
    assert new.number > old.number


def test_a_restart_can_lose_the_data(driver: Driver) -> None:
    prepared(driver)
    driver.model.restart("lost")
    assert driver.client().do("DBSIZE") == 0


def test_a_restart_can_lose_what_was_written_since_the_last_second() -> None:
    driver = Driver(fsync_every_us=1_000_000)
    client = driver.client()
    driver.now_us = 900_000
    for command in ("RPUSH l a b", "SET k old EX 100", "ZADD z 1 m", "SET gone x"):
        client.do(command)
    driver.now_us = 1_100_000
    client.do("EVAL", "redis.call('LPOP', 'l') redis.call('ZADD', 'z', 2, 'n')", "0")
    client.do("MULTI")
    client.do("SET k new")
    client.do("SET fresh x")
    client.do("EXEC")
    client.do("FLUSHALL")
    driver.model.restart("last_writes_lost")
    client = driver.client()
    assert client.do("LRANGE l 0 -1") == [b"a", b"b"]
    assert (client.do("GET k"), client.do("TTL k")) == (b"old", 100)
    assert client.do("ZRANGE z 0 -1") == [b"m"]
    assert client.do("EXISTS fresh gone") == 1


def test_what_is_on_disk_is_not_lost() -> None:
    driver = Driver(fsync_every_us=1_000_000)
    driver.now_us = 900_000
    driver.client().do("SET k v")
    driver.now_us = 1_000_000
    driver.model.restart("last_writes_lost")
    assert driver.client().do("GET k") == b"v"


def test_last_writes_are_only_lost_by_a_model_that_keeps_account_of_them(driver: Driver) -> None:
    with pytest.raises(UsageError, match="fsync_every_us"):
        driver.model.restart("last_writes_lost")


def test_numbers_of_connections_are_never_used_twice() -> None:
    model = RedisModel(lambda: 0)
    first = model.connect(lambda _: None)
    model.disconnect(first)
    model.disconnect(first)
    assert model.connect(lambda _: None) == first + 1
