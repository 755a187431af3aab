"""What the network itself does: order, names of draws, pauses, crashes, rules. No redis-py client.

Prints, by the name of the body, what was seen. The URL of a real server is not used here.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from chaos.links import (
    EVERYTHING,
    AnswersWithError,
    Away,
    CutOff,
    Latency,
    LostReply,
    Rule,
    Selection,
)
from chaos.seed import Seed
from chaos.sim.host import SimHost
from chaos.sim.kernel import Kernel
from chaos.sim.link import CLOSED, Link
from chaos.sim.network import Network
from chaos.sim.redis_model.model import RedisModel
from chaos.sim.tape import DrawnTape, FixedTape
from tests.sim.network.scenarios.arms import Sink

ONE = "stock@0.26.4/worker-1.1"
TWO = "stock@0.26.4/worker-2.1"


class Wires:
    """A network with two hosts; `at` is a list of what happened when."""

    def __init__(self, tape: Any = None) -> None:
        self.tape = FixedTape({}) if tape is None else tape
        self.kernel = Kernel(self.tape, steps_max=10**6, steps_at_once_max=10**4, until_us=10**9)
        self.model = RedisModel(self.kernel.now_us)
        self.network = Network(self.kernel, self.model, self.tape)
        self.two = SimHost(self.kernel, TWO, "worker", Sink())  # type: ignore[arg-type]

    async def link(self, host: str = ONE) -> Link:
        """A connection that is open."""
        link = self.network.open(host)
        await link.connect()
        return link

    def now(self) -> int:
        return self.kernel.time_us

    def run(self, body: Callable[[Wires], Awaitable[Any]]) -> Any:
        """Run a body on the first host; what it returns."""
        seen: list[Any] = []

        async def main(_: SimHost) -> None:
            seen.append(await body(self))

        host = SimHost(self.kernel, ONE, "worker", Sink())  # type: ignore[arg-type]
        host.start(main)
        self.kernel.run(until=host)
        if not seen:
            raise AssertionError("\n".join(host.said))
        self.network.close()
        self.kernel.dispose()
        return seen[0]


def text(reply: Any) -> Any:
    """A reply, or how the stream ended, as JSON holds it."""
    if reply is CLOSED:
        return "closed"
    if isinstance(reply, list):
        return [text(item) for item in reply]
    return reply.decode() if isinstance(reply, bytes) else reply


async def read(link: Link) -> Any:
    """The next reply; the name of the error."""
    try:
        return text(await link.read())
    except OSError as error:
        return type(error).__name__


async def ask(link: Link, *args: bytes) -> Any:
    """One command and its reply."""
    link.send([args])
    return await read(link)


async def hops(wires: Wires) -> Any:
    link = await wires.link()
    opened_us = wires.now()
    link.send([(b"PING",)])
    return [opened_us, await read(link), wires.now(), link.name]


async def order(wires: Wires) -> Any:
    """A quick message does not overtake a slow one."""
    link = await wires.link()
    for number in (b"1", b"2", b"3"):
        link.send([(b"RPUSH", b"list", number)])
    replies = [(await read(link), wires.now()) for _ in range(3)]
    return [replies, await ask(link, b"LRANGE", b"list", b"0", b"-1")]


async def together(wires: Wires) -> Any:
    """What is written in one piece runs without others in between, and is answered in one piece."""
    link = await wires.link()
    link.send([(b"SET", b"k", b"1"), (b"INCR", b"k"), (b"GET", b"k")])
    return [(await read(link), wires.now()) for _ in range(3)]


async def blocked_in_time(wires: Wires) -> Any:
    link = await wires.link()
    return [await ask(link, b"BLPOP", b"list", b"0.5"), wires.now()]


async def blocked_by_two(wires: Wires) -> Any:
    """A push is handed to whoever blocked first, and both hear of it."""
    first, second, third = await wires.link(), await wires.link(TWO), await wires.link()
    first.send([(b"BLPOP", b"list", b"0")])
    await asyncio.sleep(0.01)
    second.send([(b"BLPOP", b"list", b"0")])
    await asyncio.sleep(0.01)
    pushed = await ask(third, b"RPUSH", b"list", b"job")
    return [pushed, await read(first), await ask(third, b"LLEN", b"list")]


async def cut_under_way(wires: Wires) -> Any:
    """A request that is under way is lost; one that has run has run, and its reply is lost."""
    link = await wires.link()
    link.send([(b"INCR", b"before")])
    cut = wires.network.cut(EVERYTHING, Seed(1).stream())
    lost = [await read(link), await _value(wires, b"before")]
    link = await wires.link()
    link.send([(b"INCR", b"after")])
    await asyncio.sleep(0.0004)  # it has run, and the reply is under way
    wires.network.cut(Selection(hosts=(ONE,)), Seed(1).stream())
    return [cut, *lost, await read(link), await _value(wires, b"after")]


async def _value(wires: Wires, key: bytes) -> Any:
    link = await wires.link(TWO)
    value = await ask(link, b"GET", key)
    link.close()
    return value


async def server_hears_later(wires: Wires) -> Any:
    """Until the server hears of a cut, it gives to the dead connection."""
    link, other = await wires.link(), await wires.link(TWO)
    link.send([(b"BLMOVE", b"from", b"to", b"LEFT", b"RIGHT", b"0")])
    await asyncio.sleep(0.01)
    other.send([(b"RPUSH", b"from", b"job")])
    wires.network.cut(Selection(hosts=(ONE,)), Seed(1).stream())
    pushed = await read(other)
    return [pushed, await ask(other, b"LRANGE", b"to", b"0", b"-1"), await read(link)]


async def closed_before(wires: Wires) -> Any:
    """What a host sends after closing a connection comes behind the close: the dead get nothing."""
    link, own = await wires.link(), await wires.link()
    link.send([(b"BLMOVE", b"from", b"to", b"LEFT", b"RIGHT", b"0")])
    await asyncio.sleep(0.01)
    began_us = wires.now()
    link.close()
    pushed = await ask(own, b"RPUSH", b"from", b"job")
    took_us = wires.now() - began_us
    return [pushed, took_us, await ask(own, b"LRANGE", b"to", b"0", b"-1")]


async def crashed_host(wires: Wires) -> Any:
    """Its kernel closes its connections: what it sent still runs, and it blocks nobody."""
    link, other = await wires.link(TWO), await wires.link()
    link.send([(b"SET", b"k", b"sent")])
    link.send([(b"BLPOP", b"list", b"0")])
    wires.two.end(-9)
    wires.network.crash(TWO)
    await asyncio.sleep(0.01)
    pushed = await ask(other, b"RPUSH", b"list", b"job")
    left = await ask(other, b"LLEN", b"list")
    return [await ask(other, b"GET", b"k"), pushed, left, len(wires.network.links())]


async def paused_server(wires: Wires) -> Any:
    link = await wires.link()
    wires.network.pause_server()
    link.send([(b"INCR", b"k")])
    second = await wires.link(TWO)
    await asyncio.sleep(1)
    resumed_us = wires.now()
    wires.network.resume_server()
    answer = await read(link)
    return [answer, wires.now() - resumed_us, await ask(second, b"GET", b"k")]


async def stopped_server(wires: Wires) -> Any:
    """Replies that are under way arrive, then the end; then nobody listens, until it starts."""
    link = await wires.link()
    link.send([(b"INCR", b"k")])
    await asyncio.sleep(0.0004)
    wires.network.stop_server()
    replies = [await read(link), await read(link), link.at_eof()]
    refused = wires.network.open(ONE)
    error = await _connects(refused)
    wires.network.start_server()
    again = await wires.link()
    return [replies, error, await ask(again, b"GET", b"k")]


async def _connects(link: Link) -> str:
    try:
        await link.connect()
    except OSError as error:
        return type(error).__name__
    return "connected"


async def latency_rule(wires: Wires) -> Any:
    link = await wires.link()
    handle = wires.network.add_rule(Latency(5_000, 5_000))
    start_us = wires.now()
    await ask(link, b"PING")
    slow_us = wires.now() - start_us
    wires.network.remove_rule(handle)
    wires.network.remove_rule(handle)
    start_us = wires.now()
    await ask(link, b"PING")
    return [slow_us, wires.now() - start_us]


async def cut_rule(wires: Wires) -> Any:
    """Commands of one piece that come before it run, it and the rest do not."""
    link = await wires.link()
    wires.network.add_rule(CutOff(Selection(commands=("GET",))))
    link.send([(b"INCR", b"k"), (b"GET", b"k"), (b"INCR", b"k")])
    return [await read(link), await _ask_anew(wires, b"INCRBY", b"k", b"0")]


async def _ask_anew(wires: Wires, *args: bytes) -> Any:
    return await ask(await wires.link(TWO), *args)


async def lost_reply_rule(wires: Wires) -> Any:
    link, other = await wires.link(), await wires.link(TWO)
    handle = wires.network.add_rule(LostReply(Selection(hosts=(ONE,))))
    lost = await ask(link, b"INCR", b"k")
    kept = await ask(other, b"INCR", b"k")
    subscriber = await wires.link()
    wires.network.remove_rule(handle)
    await ask(subscriber, b"SUBSCRIBE", b"news")
    wires.network.add_rule(LostReply())
    other.send([(b"PUBLISH", b"news", b"hello")])
    return [lost, kept, await read(subscriber), await read(other)]


async def error_rule(wires: Wires) -> Any:
    link = await wires.link()
    rule: Rule = AnswersWithError("READONLY")
    handle = wires.network.add_rule(rule)
    link.send([(b"SET", b"k", b"1"), (b"GET", b"k")])
    replies = [str(await link.read()), await read(link)]
    link.send([(b"MULTI",), (b"SET", b"k", b"1"), (b"EXEC",)])
    replies += [str(text(await link.read())) for _ in range(3)]
    wires.network.remove_rule(handle)
    return [*replies, await ask(link, b"SET", b"k", b"1")]


async def silent_rule(wires: Wires) -> Any:
    """A partition holds everything, the end of a connection too, and gives it all back in order."""
    link = await wires.link()
    link.send([(b"INCR", b"k")])
    await asyncio.sleep(0.0002)  # under way already: it arrives, and its reply is held
    handle = wires.network.add_rule(Away(silent=True))
    link.send([(b"INCR", b"k")])
    dialled = asyncio.create_task(_connects(wires.network.open(ONE)))
    await asyncio.sleep(1)
    waiting = dialled.done()
    wires.network.remove_rule(handle)
    return [waiting, await read(link), await read(link), await dialled, wires.now() < 1_010_000]


async def drawn(wires: Wires) -> Any:
    """Two connections and a lossy network, from a seed."""
    wires.network.add_rule(LostReply(Selection(share=0.2)))
    wires.network.add_rule(Latency(0, 2_000, Selection(share=0.5)))
    seen: list[Any] = []
    for number in range(20):
        link = await wires.link(ONE if number % 2 else TWO)
        seen.append((await ask(link, b"INCR", b"k"), wires.now()))
        link.close()
    return seen


def repeated() -> Any:
    """The same seed twice, another seed, and the first one's tape written out."""
    tape = DrawnTape(7)
    first = Wires(tape).run(drawn)
    return {
        "same": first == Wires(DrawnTape(7)).run(drawn),
        "other": first == Wires(DrawnTape(8)).run(drawn),
        "fixed": first == Wires(FixedTape(tape.entries)).run(drawn),
        "lost": sum(answer == "ConnectionResetError" for answer, _ in first),
        "names": sorted({name.rpartition("|")[2] for name in tape.entries}),
    }


def slow(names: dict[str, int]) -> FixedTape:
    """A tape with these latencies."""
    return FixedTape(names)


def main() -> None:
    first = "worker-1.1/c1"
    slow_hops = slow({f"{first}|2|request": 7_000, f"{first}|2|reply": 9_000})
    bodies: dict[str, Any] = {
        "hops": Wires().run(hops),
        "hops_slow": Wires(slow_hops).run(hops),
        "order": Wires(slow({f"{first}|2|request": 7_000})).run(order),
        "together": Wires().run(together),
        "blocked_in_time": Wires().run(blocked_in_time),
        "blocked_by_two": Wires().run(blocked_by_two),
        "cut_under_way": Wires().run(cut_under_way),
        "server_hears_later": Wires(slow({f"{first}|cut|server": 5_000})).run(server_hears_later),
        "server_hears_first": Wires(slow({"worker-2.1/c1|2|request": 5_000})).run(
            server_hears_later
        ),
        "closed_before": Wires(slow({f"{first}|3|request": 5_000})).run(closed_before),
        "crashed_host": Wires().run(crashed_host),
        "paused_server": Wires().run(paused_server),
        "stopped_server": Wires().run(stopped_server),
        "latency_rule": Wires().run(latency_rule),
        "cut_rule": Wires().run(cut_rule),
        "lost_reply_rule": Wires().run(lost_reply_rule),
        "error_rule": Wires().run(error_rule),
        "silent_rule": Wires().run(silent_rule),
        "repeated": repeated(),
    }
    sys.stdout.write(json.dumps(bodies) + "\n")


if __name__ == "__main__":
    main()
