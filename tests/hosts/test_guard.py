"""The connection guard: nothing that is built on redis-py leaves, whatever the way.

Each way is tried in a process of its own that has installed the guard, on several versions of
redis-py; the other server counts the connections it was given.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

from chaos.environments import Environment
from tests.conftest import RunningServer
from tests.hosts.processes import MAIN

ATTEMPTS = '''
import asyncio, importlib.util, json, sys

main, allowed, other, port = sys.argv[1:4] + [int(sys.argv[4])]
spec = importlib.util.spec_from_file_location("entry", main)
entry = importlib.util.module_from_spec(spec)
spec.loader.exec_module(entry)
entry.load_package()

import redis, redis.sentinel, redis.asyncio.sentinel, redis.cluster, redis.asyncio.cluster
import redis.asyncio as aio


def subclass(base, method, module):
    """A connection class that opens its socket by itself, in the method named."""
    if module is aio:
        async def connect(self):
            self._reader, self._writer = await asyncio.open_connection(self.host, self.port)
    else:
        def connect(self):
            import socket
            return socket.create_connection((self.host, self.port))
    return type("Own", (base,), {method: connect})


EARLY = [subclass(module.Connection, "_connect", module) for module in (redis, aio)]
from saq_chaos_worker import guard
guard.install(allowed)
LATE = [subclass(module.Connection, "_connect", module) for module in (redis, aio)]
WHOLE = [subclass(module.Connection, "connect", module) for module in (redis, aio)]


def pool(module, kind, url, **options):
    return module.Redis(connection_pool=getattr(module, kind).from_url(url, **options))


def sentinel(module):
    """A sentinel that is reachable by no address of the run."""
    return module.sentinel.Sentinel([("127.0.0.1", port)])


class Found(redis.sentinel.SentinelConnectionPool):
    """A pool whose sentinel has named the other server already."""

    def get_master_address(self):
        return ("127.0.0.1", port)


class FoundAsync(aio.sentinel.SentinelConnectionPool):
    async def get_master_address(self):
        return ("127.0.0.1", port)


def ssl(module):
    return module.Redis.from_url(other.replace("redis:", "rediss:"))


def ways(module, at):
    """Name and a callable that connects elsewhere."""
    client = lambda **options: module.Redis.from_url(other, **options)
    yield "ping", lambda: client().ping()
    yield "host and port", lambda: module.Redis(host="localhost", port=port).ping()
    yield "pipeline", lambda: client().pipeline().get("a").execute()
    yield "single connection", lambda: client(single_connection_client=True).ping()
    yield "blocking pool", lambda: pool(module, "BlockingConnectionPool", other).ping()
    yield "tls", lambda: ssl(module).ping()
    yield "unix socket", lambda: module.Redis(unix_socket_path="/nowhere.sock").ping()
    yield "another database", lambda: module.Redis.from_url(allowed[:-1] + "7").ping()
    for name, classes in (("early", EARLY), ("late", LATE), ("whole", WHOLE)):
        own = classes[at]
        yield f"{name} subclass", lambda own=own: pool(
            module, "ConnectionPool", other, connection_class=own
        ).ping()
    yield "sentinel", lambda: sentinel(module).master_for("main").ping()
    found = (Found, FoundAsync)[at]
    yield "master named by a sentinel", lambda: module.Redis(
        connection_pool=found("main", sentinel(module))
    ).ping()


def plain_ways():
    yield from ways(redis, 0)
    yield "pub/sub", lambda: redis.Redis.from_url(other).pubsub().subscribe("a")
    yield "cluster", lambda: redis.RedisCluster(host="127.0.0.1", port=port)


def async_ways():
    yield from ways(aio, 1)
    yield "pub/sub", lambda: aio.Redis.from_url(other).pubsub().subscribe("a")
    yield "cluster", lambda: aio.RedisCluster(host="127.0.0.1", port=port).initialize()


def tell(kind, name, error):
    if error is None:
        results[f"{kind}: {name}"] = ["connected"]
    else:
        results[f"{kind}: {name}"] = [
            isinstance(error, (redis.RedisError, redis.exceptions.RedisClusterException)),
            f"{error} {error.__cause__}",
        ]


async def try_async():
    for name, way in async_ways():
        try:
            await asyncio.wait_for(way(), 60)
        except Exception as error:
            tell("async", name, error)
        else:
            tell("async", name, None)


results = {}
for name, way in plain_ways():
    try:
        way()
    except Exception as error:
        tell("sync", name, error)
    else:
        tell("sync", name, None)
asyncio.run(try_async())


async def allowed_async():
    async with aio.Redis.from_url(allowed.replace("127.0.0.1", "localhost")) as client:
        return await client.ping()

results["allowed"] = [
    redis.Redis.from_url(allowed).ping(), redis.Redis.from_url(allowed).pubsub().subscribe("a"),
    asyncio.run(allowed_async()),
]
print(json.dumps(results))
'''
WAYS = [
    "ping",
    "host and port",
    "pipeline",
    "single connection",
    "blocking pool",
    "tls",
    "unix socket",
    "another database",
    "early subclass",
    "late subclass",
    "whole subclass",
    "sentinel",
    "master named by a sentinel",
    "pub/sub",
    "cluster",
]


def connections_received(server: RunningServer) -> int:
    """How many connections a server was ever given, this one included."""
    with redis.Redis.from_url(server.url) as client:
        info: Any = client.info("stats")
    return int(info["total_connections_received"])


def attempt(
    folder: Path, environment: Environment, allowed: str, other: RunningServer
) -> tuple[dict[str, list[Any]], str]:
    """What each way came to in a guarded process, and what it printed on stderr."""
    script = folder / "attempts.py"
    script.write_text(ATTEMPTS)
    url = other.url.replace("redis://", "redis://:hunter2@")
    done = subprocess.run(
        [str(environment.python), str(script), str(MAIN), allowed, url, str(other.port)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env={**os.environ, **environment.env, "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stderr
    results: dict[str, list[Any]] = json.loads(done.stdout)
    return results, done.stderr


@pytest.mark.parametrize("variant", ["stock@0.22.4", "stock@0.26.3", "stock@0.26.4"])
def test_nothing_built_on_redis_py_connects_elsewhere(
    variant: str,
    tmp_path: Path,
    environment: Callable[[str], Environment],
    redis_server: RunningServer,
    other_redis_server: RunningServer,
) -> None:
    before = connections_received(other_redis_server)
    results, log = attempt(tmp_path, environment(variant), redis_server.url, other_redis_server)
    assert connections_received(other_redis_server) == before + 1

    assert results.pop("allowed") == [True, None, True]
    assert sorted(results) == sorted(f"{kind}: {way}" for kind in ("sync", "async") for way in WAYS)
    other, allowed = f"127.0.0.1:{other_redis_server.port}/0", f"127.0.0.1:{redis_server.port}/0"
    places = {"unix socket": "unix:/nowhere.sock/0", "another database": f"{allowed[:-1]}7"}
    for name, outcome in results.items():
        place = places.get(name.partition(": ")[2], other)
        assert outcome[0] is True, (name, outcome)
        if "AddressRefused" not in outcome[1]:  # Sentinel names the errors of its nodes by type
            assert f"refused a connection to the Redis at {place}" in outcome[1], name
            assert f"this run may only use {allowed}" in outcome[1], name
    assert "hunter2" not in json.dumps(results) + log
    assert log.count(f"saq-chaos: refused a connection to the Redis at {other}") == 1
