"""A user's own saq application under test: load its settings, move its queue to the run's Redis.

    module:settings ──load──► settings dict ──take_over──► the same queue object, another connection

The queue object stays the app's: its class, dump, load, callbacks, and the options of its client
(timeouts, retries, pool size). What is replaced, in place, is where it connects to and whatever was
derived from that or from its name. With a mark, the queue's name and every job key begin with it,
so that nothing of a run can be taken for the app's own on a Redis that both use.

It does not look into the functions: what they connect to is the app's affair, except other Redis
servers, which `guard.py` refuses.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from redis.asyncio.connection import ConnectionPool, parse_url
from redis.asyncio.sentinel import SentinelConnectionPool
from redis.commands.core import AsyncScript
from saq.job import get_default_job_key
from saq.queue.redis import RedisQueue

from .config import HostError, describe_with_place

_ADDRESS_OPTIONS = (
    "connection_class",
    "connection_pool",
    "credential_provider",
    "db",
    "host",
    "password",
    "path",
    "port",
    "username",
)
_TCP_OPTIONS = ("socket_keepalive", "socket_keepalive_options", "socket_type")


def add_to_path(folder: str) -> None:
    """Put an app's folder first on `sys.path`."""
    if not Path(folder).is_dir():
        raise HostError(f"app_path {folder!r} is no folder")
    sys.path.insert(0, str(Path(folder).resolve()))


def load_settings(app: str) -> dict[str, Any]:
    """A copy of the settings dict that `module:settings` names; a callable is called for it.

    Raises:
        HostError: it cannot be imported, or is no settings dict.
    """
    module_name, _, name = app.partition(":")
    if not module_name or not name:
        raise HostError(f"{app!r} names no app: write module:settings, like myapp.tasks:settings")
    try:
        value: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise HostError(f"cannot import the app {app}: {describe_with_place(error)}") from error
    for part in name.split("."):
        if not hasattr(value, part):
            raise HostError(f"the app {app} was imported, but there is no {part!r} in it")
        value = getattr(value, part)
    return _settings_of(app, value)


def _settings_of(app: str, value: Any) -> dict[str, Any]:
    if callable(value):
        try:
            value = value()
        except (Exception, SystemExit) as error:
            raise HostError(
                f"the app's settings {app}() failed: {describe_with_place(error)}"
            ) from error
    if inspect.iscoroutine(value):
        value.close()
        raise HostError(f"the app's settings {app} are async: saq wants a dict or a plain function")
    if not isinstance(value, dict):
        raise HostError(
            f"the app's settings {app} are {type(value).__name__}, not a dict of saq settings"
        )
    if not value.get("functions") and not value.get("cron_jobs"):
        raise HostError(f"the app's settings {app} hold no functions")
    return dict(value)


def function_names(settings: dict[str, Any]) -> tuple[str, ...]:
    """The names under which saq's Worker will know the functions, in order."""
    functions = [*settings.get("functions", ())]
    functions += [job.function for job in settings.get("cron_jobs") or ()]
    names = (item[0] if isinstance(item, tuple) else item.__qualname__ for item in functions)
    return tuple(sorted(dict.fromkeys(names)))


def take_over(queue: Any, url: str, mark: str) -> None:
    """Move a queue to the Redis at `url`, and rename it to `<mark>:<name>` if there is a mark.

    Raises:
        HostError: the queue does not run on a plain Redis.
    """
    if not isinstance(queue, RedisQueue):
        raise HostError(
            f"the app's queue is a {type(queue).__name__}: only saq's RedisQueue can be soaked"
        )
    _reconnect(queue.redis, url)
    _rename(queue, mark)
    _forget_connection(queue)


def _reconnect(client: Any, url: str) -> None:
    """Point a client's pool elsewhere in place: whoever else holds the client follows."""
    pool = getattr(client, "connection_pool", None)
    if not isinstance(pool, ConnectionPool):
        raise HostError(
            f"the app's queue has a {type(client).__name__} client: only redis.asyncio.Redis with a"
            " connection pool can be moved to the run's server"
        )
    options: dict[str, Any] = dict(parse_url(url))
    dropped = _ADDRESS_OPTIONS + (_TCP_OPTIONS if "path" in options else ())
    kept = {
        name: value
        for name, value in pool.connection_kwargs.items()
        if name not in dropped and not name.startswith("ssl")
    }
    fresh = ConnectionPool(max_connections=pool.max_connections, **{**kept, **options})
    if isinstance(pool, SentinelConnectionPool):
        client.connection_pool = fresh
    else:
        pool.connection_class = fresh.connection_class
        pool.connection_kwargs = fresh.connection_kwargs
        pool.reset()  # type: ignore[no-untyped-call]


def _rename(queue: Any, mark: str) -> None:
    """Rename the queue, and with it every attribute that begins with its old keys."""
    if not mark or queue.name.startswith(f"{mark}:"):
        return
    old_names, old_ids = queue.namespace(""), queue.job_id("")
    queue.name = marked(queue.name, mark)
    moves = ((old_names, queue.namespace("")), (old_ids, queue.job_id("")))
    for holder in (queue, queue._pubsub):
        for name, value in sorted(vars(holder).items()):
            if isinstance(value, str) and name != "name":
                setattr(holder, name, _moved(value, moves))


def _moved(value: str, moves: Iterable[tuple[str, str]]) -> str:
    for old, new in moves:
        if value.startswith(old):
            return new + value[len(old) :]
        if value == old.rstrip(":"):  # the multiplexer's prefix ends without the colon
            return new.rstrip(":")
    return value


def _forget_connection(queue: Any) -> None:
    """Drop what the queue learnt from its old server: scripts, version, subscription."""
    for name, value in sorted(vars(queue).items()):
        if isinstance(value, AsyncScript):
            setattr(queue, name, None)
    queue._version = None
    queue._pubsub.pubsub = queue.redis.pubsub()


def marked(name: str, mark: str) -> str:
    """`<mark>:<name>`, once."""
    return f"{mark}:{name}" if mark and not name.startswith(f"{mark}:") else name


def mark_keys(queue: Any, mark: str) -> None:
    """Give every job key that goes through this queue object the mark, the app's own calls too.

    saq's abort marker is `saq:abort:<key>` without a queue name, so a marked queue is not enough.
    Looking a job up by its unmarked key keeps working. Call it after the probe is installed, which
    then sees the marked keys.
    """
    if not mark:
        return
    enqueue, find, find_all = queue.enqueue, queue.job, queue.jobs

    @functools.wraps(enqueue)
    async def enqueue_marked(job_or_function: Any, **kwargs: Any) -> Any:
        if isinstance(job_or_function, str):
            key = kwargs.get("key")
            kwargs["key"] = marked(get_default_job_key() if key is None else key, mark)
        else:
            kwargs["key"] = marked(kwargs.get("key", job_or_function.key), mark)
        return await enqueue(job_or_function, **kwargs)

    @functools.wraps(find)
    async def find_marked(job_key: str) -> Any:
        return await find(marked(job_key, mark))

    @functools.wraps(find_all)
    async def find_all_marked(job_keys: Iterable[str]) -> Any:
        return await find_all(marked(key, mark) for key in job_keys)

    queue.enqueue, queue.job, queue.jobs = enqueue_marked, find_marked, find_all_marked
