"""Which commands a server in trouble refuses, and in which words: the real server's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import ResponseError

from chaos.links.errors import ERRORS, NEEDS_MEMORY, WHILE_LOADING, WRITES, is_refused
from tests.conftest import RunningServer


@pytest.fixture
def client(redis_server: RunningServer) -> Iterator[Any]:
    with Redis.from_url(redis_server.url) as client:
        yield client


def test_the_lists_are_the_servers_own(client: Any) -> None:
    flags = {
        name.upper(): {str(flag) for flag in command["flags"]}
        for name, command in client.command().items()
    }
    ours = sorted((WHILE_LOADING | WRITES | NEEDS_MEMORY) - {"CLIENT"})
    wrong = [
        (name, flag)
        for name in ours
        for flag, listed in (
            ("loading", WHILE_LOADING), ("write", WRITES), ("denyoom", NEEDS_MEMORY),
        )
        if (flag in flags[name]) != (name in listed)
    ]  # fmt: skip
    assert wrong == []


def test_every_command_that_job_queues_use_is_known(client: Any) -> None:
    """A write that our list lacks would pass on a read-only server."""
    groups = ("@list", "@string", "@sortedset", "@hash", "@set", "@keyspace")
    flags = {
        name.upper(): {str(flag) for flag in command["flags"]}
        for name, command in client.command().items()
        if set(map(str, command["acl_categories"])) & set(groups)
    }
    assert len(flags) > 100
    newer = {"DELIFEQ", "HEXPIRE", "HEXPIREAT", "HGETDEL", "HGETEX", "HPERSIST", "HPEXPIRE",
             "HPEXPIREAT", "HSETEX", "MSETEX", "RESTORE-ASKING"}  # fmt: skip
    missing = {name for name in flags if "write" in flags[name]} - WRITES - newer
    assert missing == set()


def test_a_server_without_memory_says_these_words(client: Any) -> None:
    client.config_set("maxmemory", "1")
    for command in (("SET", "k", "v"), ("EVAL", "return redis.call('SET', 'k', 'v')", 0)):
        with pytest.raises(ResponseError) as error:
            client.execute_command(*command)
        assert str(error.value).startswith(ERRORS["OOM"].removeprefix("OOM ").rstrip("."))
        assert is_refused(str(command[0]), "OOM")
    assert client.get("k") is None
    assert not is_refused("GET", "OOM")


def test_a_replica_says_these_words(client: Any) -> None:
    client.replicaof("127.0.0.1", 1)
    with pytest.raises(ResponseError) as error:
        client.set("k", "v")
    assert str(error.value) == ERRORS["READONLY"].removeprefix("READONLY ")
    assert is_refused("SET", "READONLY")
    assert is_refused("DEL", "READONLY")
    assert not is_refused("DEL", "OOM")


def test_a_server_that_loads_answers_few() -> None:
    refused = [name for name in ("PING", "GET", "EVALSHA", "INFO", "HELLO", "MULTI", "CLIENT")
               if is_refused(name, "LOADING")]  # fmt: skip
    assert refused == ["PING", "GET", "EVALSHA"]
