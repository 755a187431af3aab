"""What runs in the simulated processes: the same code as in the live ones, on a simulated Redis.

    worker    chaos.worker.host.run_worker: saq's Worker under the probe, until SIGTERM
    producer  chaos.worker.producer.Producer, told by a call instead of a line on stdin

An application's modules are imported anew for each host, as each process of its own would do.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from saq.queue.redis import RedisQueue

from chaos.plan import Plan
from chaos.saq_settings import saq_settings
from chaos.sim.host import SimHost
from chaos.worker import app, bodies, host
from chaos.worker.config import Config, HostError
from chaos.worker.events import Kind
from chaos.worker.producer import COMMANDS_MAX, FINISH_S_MAX, Producer

QUEUE = "saqchaos"
_KEPT = (
    "decode_responses", "health_check_interval", "protocol", "retry", "retry_on_error",
    "socket_connect_timeout", "socket_timeout",
)  # fmt: skip
SALT = "simulated"

Client = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Program:
    """What every host of a run is told.

    Attributes:
        plan: the recipe.
        patch: which worker class runs.
        client: makes the redis-py client of a host, by its name.
        app: `module:settings` of a user's application, or none.
    """

    plan: Plan
    patch: str
    client: Client
    app: str | None = None

    def config(self, role: str, name: str) -> Config:
        """The config of one process, as its file would say it."""
        return Config(
            role=role,
            host=name,
            events="",
            redis_url="",
            salt=SALT,
            queue=QUEUE,
            patch=self.patch,
            app=self.app,
            workload=self.plan.workload.kind,
            **saq_settings(self.plan.workers, own=self.app is not None),
        )

    def settings(self, name: str) -> dict[str, Any]:
        """saq's settings for one process."""
        client = self.client(name)
        if self.app is None:
            return {"queue": RedisQueue(client, name=QUEUE), "functions": bodies.FUNCTIONS}
        settings = _fresh_settings(self.app)
        if settings.get("queue") is None:
            settings["queue"] = RedisQueue(client)
        else:
            _reconnect(settings["queue"], client)
        return settings


def _fresh_settings(name: str) -> dict[str, Any]:
    """The app's settings, imported as if nothing of it had been imported before."""
    before = dict(sys.modules)
    try:
        return app.load_settings(name)
    finally:
        for module in [one for one in sys.modules if one not in before]:
            if _is_users(module):
                del sys.modules[module]


def _is_users(module: str) -> bool:
    """Whether a module belongs to the application: it lies in no folder of installed packages."""
    path = getattr(sys.modules[module], "__file__", None) or ""
    return bool(path) and "site-packages" not in path and not path.startswith(sys.base_prefix)


def _reconnect(queue: Any, client: Any) -> None:
    """Let the app's own client connect to the simulated Redis, with its own options."""
    pool = queue.redis.connection_pool
    ours = client.connection_pool
    kept = {key: value for key, value in pool.connection_kwargs.items() if key in _KEPT}
    pool.connection_class = ours.connection_class
    pool.connection_kwargs = {**ours.connection_kwargs, **kept}
    pool.reset()


async def run_worker(program: Program, sim: SimHost) -> None:
    """A worker process."""
    try:
        config = program.config("worker", sim.name)
        await host.run_worker(config, program.settings(sim.name), sim.sink)
    except HostError as error:
        sim.say(str(error))
        raise SystemExit(host.STARTUP_FAILED) from error


class ProducerProcess:
    """A producer process, and the way to tell it something."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._sim: SimHost | None = None
        self._producer: Producer | None = None
        self._room = asyncio.Semaphore(COMMANDS_MAX)
        self._ended = asyncio.Event()
        self._commands: dict[int, asyncio.Task[None]] = {}

    async def run(self, sim: SimHost) -> None:
        """Carry out commands until it is told to end; what is in flight gets a moment then."""
        config = self._program.config("producer", sim.name)
        settings = self._program.settings(sim.name)
        sim.sink.record_fields(Kind.HOST_BEGAN, **host.what_process(config))
        self._producer = await host.make_producer(config, settings, sim.sink)
        self._sim = sim
        try:
            await self._ended.wait()
            if self._commands:
                await asyncio.wait(list(self._commands.values()), timeout=FINISH_S_MAX)
        finally:
            await host.disconnect(settings["queue"])
        host.record_end(settings["queue"], sim.sink)

    def tell(self, command: dict[str, Any]) -> bool:
        """Give it a command, from outside; false if it does not listen yet, or any more."""
        sim = self._sim
        if sim is None or sim.gone:
            return False
        sim.loop.call_soon(self._begin, command, context=sim.context)
        return True

    def end(self) -> None:
        """No more commands come."""
        if self._sim is not None and not self._sim.gone:
            self._sim.loop.call_soon(self._ended.set, context=self._sim.context)

    def _begin(self, command: dict[str, Any]) -> None:
        task = asyncio.create_task(self._carry_out(command))
        call = command["call"]
        self._commands[call] = task
        task.add_done_callback(lambda _task: self._commands.pop(call))

    async def _carry_out(self, command: dict[str, Any]) -> None:
        assert self._producer is not None
        async with self._room:
            await self._producer.carry_out(command)
