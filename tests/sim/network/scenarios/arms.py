"""Two arms for one body: redis-py on a real server behind a proxy, and redis-py in the simulator.

    body(arm) ──┬── RealArm:  client ── TCP ── Proxy ── TCP ── server
                └── SimArm:   client ── Link ── Network ── RedisModel

An arm makes clients and does something to their connections; the observer's connection is never
touched. Whatever a body sees must be the same on both arms, in each version of redis-py.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import redis.asyncio

from chaos.links import EVERYTHING, AnswersWithError, Away, Fate, LostReply, Outcome, Selection
from chaos.seed import Seed
from chaos.sim.connection import make_client
from chaos.sim.host import SimHost
from chaos.sim.kernel import Kernel
from chaos.sim.network import Network
from chaos.sim.redis_model.model import RedisModel
from chaos.sim.tape import FixedTape

CLIENT = "v/worker-1.1"
OBSERVER = "v/producer-1.1"
OURS = Selection(hosts=(CLIENT,))
Body = Callable[[Any], Awaitable[Any]]
PATIENCE_S = 30


# --- a real server --------------------------------------------------------------------------------


class Proxy:
    """Forwards bytes, and does to connections what a test asks for."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self.flowing = asyncio.Event()
        self.lose_reply_of = b""
        self._server_port = port
        self._pairs: list[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None
        self.flowing.set()

    async def listen(self) -> None:
        """Listen, on the same port as before."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def refuse(self) -> None:
        """Listen no more; connections stay."""
        assert self._server is not None
        self._server.close()

    def reset_all(self) -> None:
        """Reset every connection."""
        for client, server in self._pairs:
            _reset(client)
            server.close()
        self._pairs.clear()

    async def close(self) -> None:
        """End everything."""
        self.refuse()
        self.reset_all()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._server_port)
        self._pairs.append((writer, back))
        asked = asyncio.Event()
        self._tasks += [
            asyncio.create_task(self._forward(reader, back, writer, asked, is_reply=False)),
            asyncio.create_task(self._forward(there, writer, writer, asked, is_reply=True)),
        ]

    async def _forward(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        client: asyncio.StreamWriter,
        asked: asyncio.Event,
        *,
        is_reply: bool,
    ) -> None:
        try:
            while data := await source.read(1 << 16):
                await self.flowing.wait()
                if not is_reply and self.lose_reply_of and self.lose_reply_of in data:
                    self.lose_reply_of = b""
                    asked.set()
                if is_reply and asked.is_set():
                    _reset(client)
                    return
                sink.write(data)
            await self.flowing.wait()
            sink.close()
        except OSError:
            sink.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    if not writer.transport.is_closing():
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()


class RealArm:
    """redis-py over TCP. What has not come after `silence_s` is taken not to come."""

    silence_s = 1.0

    def __init__(self, url: str) -> None:
        self.observer = redis.asyncio.from_url(url)
        self._proxy = Proxy(int(url.rpartition(":")[2].partition("/")[0]))

    def client(self, **options: Any) -> Any:
        return redis.asyncio.from_url(f"redis://127.0.0.1:{self._proxy.port}/0", **options)

    def lose_reply(self, command: str) -> None:
        """Lose the next reply to this command: its connection is reset instead."""
        self._proxy.lose_reply_of = command.encode()

    async def cut(self) -> None:
        """Reset the clients' connections, and let that arrive."""
        self._proxy.reset_all()
        await asyncio.sleep(0.1)

    async def close_from_server(self) -> None:
        """The server closes the clients' connections in good order."""
        await self.observer.client_kill_filter(_type="normal", skipme=True)
        async with asyncio.timeout(PATIENCE_S):
            while len(await self.observer.client_list()) > 1:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)  # the proxy, which is in this loop, passes it on

    async def blocked(self, count: int) -> None:
        """Until the server has heard that so many of its clients wait, or wait no more."""
        async with asyncio.timeout(PATIENCE_S):
            while (await self.observer.info("clients"))["blocked_clients"] != count:
                await asyncio.sleep(0.01)

    def partition(self) -> None:
        """Nothing comes through, either way."""
        self._proxy.flowing.clear()

    def join(self) -> None:
        """Everything comes through again."""
        self._proxy.flowing.set()

    async def refuse(self) -> None:
        """Nobody listens any more."""
        self._proxy.refuse()

    async def listen(self) -> None:
        """Somebody listens again."""
        await self._proxy.listen()

    async def fill_memory(self) -> None:
        await self.observer.config_set("maxmemory", "1")

    async def free_memory(self) -> None:
        await self.observer.config_set("maxmemory", "0")

    async def run(self, body: Body) -> Any:
        await self._proxy.listen()
        await self.observer.flushall()
        try:
            return await body(self)
        finally:
            await self._proxy.close()
            await self.observer.aclose()


def on_real(url: str, body: Body) -> Any:
    """What a body sees on the real server."""

    async def main() -> Any:
        return await RealArm(url).run(body)

    return asyncio.run(main())


# --- the simulator --------------------------------------------------------------------------------


class Once(LostReply):
    """Loses one reply."""

    def on_reply(self, passing: Any, dice: Any) -> Fate:
        fate = LostReply.on_reply(self, passing, dice)
        if fate.outcome is Outcome.CUT:
            object.__setattr__(self, "which", Selection(hosts=("nobody",)))
        return fate


class Sink:
    """Records nothing."""

    muted = False


class SimArm:
    """redis-py over the simulated network."""

    silence_s = 0.2

    def __init__(self) -> None:
        tape = FixedTape({})
        self.kernel = Kernel(tape, steps_max=10**6, steps_at_once_max=10**4, until_us=10**9)
        self.model = RedisModel(self.kernel.now_us)
        self.network = Network(self.kernel, self.model, tape)
        self.observer = make_client(self.network, OBSERVER)
        self._rules: list[int] = []

    def client(self, **options: Any) -> Any:
        return make_client(self.network, CLIENT, **options)

    def lose_reply(self, command: str) -> None:
        self.network.add_rule(Once(Selection(hosts=(CLIENT,), commands=(command,))))

    async def cut(self) -> None:
        self.network.cut(OURS, Seed(1).stream())
        await asyncio.sleep(0.1)

    async def close_from_server(self) -> None:
        self.network.stop_server()
        self.model.restart("kept")
        self.network.start_server()
        await asyncio.sleep(0.1)

    async def blocked(self, count: int) -> None:
        await asyncio.sleep(0.1)

    def partition(self) -> None:
        self._put(Away(silent=True, which=OURS))

    def join(self) -> None:
        self._take_away()

    async def refuse(self) -> None:
        self._put(Away(which=Selection(hosts=(CLIENT,), commands=("(connect)",))))

    async def listen(self) -> None:
        self._take_away()

    async def fill_memory(self) -> None:
        self._put(AnswersWithError("OOM", EVERYTHING))

    async def free_memory(self) -> None:
        self._take_away()

    def run(self, body: Body) -> Any:
        seen: list[Any] = []

        async def main(_: SimHost) -> None:
            seen.append(await body(self))
            await self.observer.aclose()

        host = SimHost(self.kernel, CLIENT, "worker", Sink())  # type: ignore[arg-type]
        host.start(main)
        self.kernel.run(until=host)
        if not seen:
            raise AssertionError("\n".join(host.said))
        return seen[0]

    def _put(self, rule: Any) -> None:
        self._rules.append(self.network.add_rule(rule))

    def _take_away(self) -> None:
        while self._rules:
            self.network.remove_rule(self._rules.pop())


def on_sim(body: Body) -> Any:
    """What a body sees in the simulator."""
    return SimArm().run(body)
