"""Opens one variant's live world, and makes sure that nothing of it is left behind.

    open_world ─► watchdog ─► Redis ─► producer, workers ─► all up ─► LiveWorld ─► … ─► all ended

With a Redis of our own the world can also stop and start the server; with an explicit URL it
cannot, for that server is somebody else's, and our keys there are deleted at the end. However the
world is left, by an error or a cancel too, every process of it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

from redis.exceptions import RedisError

from chaos.clock import MILLISECOND_US, SECOND_US
from chaos.errors import ServerFailed, UsageError
from chaos.live.binary import find_server
from chaos.live.fleet import LiveWorld
from chaos.live.hosts import Orders
from chaos.live.processes import Process, Processes
from chaos.live.server import ExternalServer, OwnServer
from chaos.live.setting import Journal, Setting
from chaos.live.tailing import Reader
from chaos.plan import SERVER_FAULTS, Plan
from chaos.variants import own_code_folder
from chaos.worker.events import Kind

__all__ = ["LiveWorld", "OwnServerWorld", "Setting", "check_redis", "open_world"]

QUEUE = "saqchaos"
SERVER_BACK_US = 120 * SECOND_US
_POLL_US = 50 * MILLISECOND_US


class OwnServerWorld(LiveWorld):
    """A live world whose Redis is ours: also Server of `chaos.world`, and Pause of the Redis."""

    def __init__(self, redis: OwnServer, *args: Any) -> None:
        super().__init__(*args)
        self._redis = redis
        self._redis_lock = asyncio.Lock()
        self._redis_wanted = True
        self._redis_back_us = 0

    def hosts(self, role: str) -> tuple[str, ...]:
        """Full names of the hosts of `role` that are up, in order."""
        if role == "redis":
            return (self._redis.host,) if self._redis.running else ()
        return super().hosts(role)

    async def stop_server(self, *, keep_data: bool) -> None:
        """Shut the server down, its data saved or thrown away. Nothing happens if it is down.

        Raises:
            ServerFailed: it was to save its data and did not in time.
        """
        async with self._redis_lock:
            self._redis_wanted = False
            if self._redis.running:
                word = "SHUTDOWN SAVE" if keep_data else "SHUTDOWN NOSAVE"
                self._record(Kind.HOST_SIGNALLED, target=self._redis.host, signal=word)
                await self._redis.stop(keep_data=keep_data)

    async def start_server(self) -> None:
        """Start it again on the same address; returns once it answers. No harm if it runs.

        Raises:
            ServerFailed: it does not come up; the message ends with what it printed.
        """
        async with self._redis_lock:
            self._redis_wanted = True
            if not self._redis.running:
                self.server_started(await self._redis.start())
            self._redis_back_us = self.clock.now_us()

    async def resume(self, host: str) -> None:
        """SIGCONT. No error if the host is gone or was not paused."""
        await super().resume(host)
        if host == self._redis.host:
            self._redis_back_us = self.clock.now_us()

    async def server_answers(self) -> None:
        """Return once the server runs and is not paused."""
        for _ in range(SERVER_BACK_US // _POLL_US):
            if not self._redis_is_away():
                return
            await self.clock.sleep_us(_POLL_US)

    def server_was_away(self, since_us: int) -> bool:
        """Whether a fault had taken the server away at any time since then."""
        return self._redis_is_away() or self._redis_back_us >= since_us

    def _redis_is_away(self) -> bool:
        process = self._redis.process
        return process is None or not process.running or process.paused

    def server_started(self, process: Process) -> None:
        """Record a server process, and watch it."""
        target = self._redis.host
        self._record(Kind.HOST_STARTED, target=target, role="redis", pid=process.pid)
        self._spawn(self._watch_server(process), self._watches)

    async def _watch_server(self, process: Process) -> None:
        code = await process.exited()
        expected = process.expected or not self._redis_wanted
        self._record(Kind.HOST_EXITED, target=process.host, code=code, expected=expected)
        if not expected and not self._closing:
            raise ServerFailed(
                f"{process.host} exited with code {code}, unasked; "
                f"it printed:\n{process.log_tail()}"
            )

    def _process(self, host: str) -> Process | None:
        return self._redis.process if host == self._redis.host else super()._process(host)


def check_redis(plan: Plan, url: str | None, *, allow_external: bool) -> None:
    """Find out, before anything starts, what no world of this request could open with.

    Raises:
        UsageError: the URL cannot be one of a Redis, was not allowed, or a fault would act on it.
        ServerFailed: there is no server binary to start.
    """
    if url is None:
        find_server()
        return
    ExternalServer(url, allow=allow_external, mark="")
    _refuse_server_faults(plan)


@asynccontextmanager
async def open_world(
    setting: Setting, journal: Journal, on_events: Reader
) -> AsyncIterator[LiveWorld]:
    """A variant's world, its Redis, producer and workers up.

    Args:
        setting: what to open.
        journal: where the controller's own events go.
        on_events: given the hosts' events, batch by batch, each batch ordered by stamp; also the
            last ones, when the world has ended. (The controller's own file is not tailed here.)

    Raises:
        UsageError: a Redis that is not ours was not allowed, or a fault would act on it.
        ServerFailed: the Redis does not come up, or cannot be reached.
        HostFailed: a worker or the producer does not come up.
    """
    external = _external(setting)
    for folder in (setting.run_dir, setting.run_dir / "hosts"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
    processes = Processes.open()
    worlds: list[LiveWorld] = []
    try:
        world = await _build(setting, processes, journal, on_events, external)
        worlds.append(world)
        await world.open()
        yield world
        world.raise_failure()
        await world.end()
    finally:
        await _to_the_end(_clean_up(worlds, processes, external, setting))


async def _build(
    setting: Setting,
    processes: Processes,
    journal: Journal,
    on_events: Reader,
    external: ExternalServer | None,
) -> LiveWorld:
    if external is not None:
        await external.start()
        orders = _orders(setting, external.url)
        return LiveWorld(setting, processes, journal, orders, on_events, external.version)
    host = f"{setting.variant.label}/redis"
    redis = OwnServer(processes, host, setting.files(host).path("log"))
    process = await redis.start()
    orders = _orders(setting, redis.url)
    world = OwnServerWorld(redis, setting, processes, journal, orders, on_events, redis.version)
    world.server_started(process)
    return world


def _orders(setting: Setting, url: str) -> Orders:
    return Orders(
        plan=setting.plan,
        variant=setting.variant,
        environment=setting.environment,
        redis_url=url,
        queue=QUEUE,
        salt=setting.salt,
        mark=setting.mark,
        app=setting.app,
        app_path=own_code_folder(setting.variant, setting.app),
    )


def _external(setting: Setting) -> ExternalServer | None:
    """The explicit Redis, if there is one and everything about it is allowed."""
    if setting.redis_url is None:
        return None
    server = ExternalServer(setting.redis_url, allow=setting.allow_external, mark=setting.mark)
    _refuse_server_faults(setting.plan)
    return server


def _refuse_server_faults(plan: Plan) -> None:
    refused = [spec.fault for spec in plan.faults if spec.fault in SERVER_FAULTS]
    if refused:
        raise UsageError(
            f"fault {refused[0]} acts on the Redis server itself, and the one at the given URL is "
            f"not ours: take {', '.join(dict.fromkeys(refused))} out of the plan, or leave "
            f"--redis-url out"
        )


async def _clean_up(
    worlds: list[LiveWorld],
    processes: Processes,
    external: ExternalServer | None,
    setting: Setting,
) -> None:
    """End what is left, in an order in which nothing new comes up."""
    for world in worlds:
        await world.close()
    await processes.close()
    for world in worlds:
        await world.last_events()
    if external is not None:
        for path in sorted((setting.run_dir / "hosts" / setting.variant.label).glob("*.json")):
            path.unlink()  # the password of somebody else's Redis stands in it
        with suppress(RedisError, OSError):
            await external.remove_our_keys()


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Await something to its end, even if we are cancelled meanwhile (the cancel comes after)."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
