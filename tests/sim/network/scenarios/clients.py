"""What redis-py does when its connections are disturbed: one body each, run on both arms.

Called with the URL of a real server; prints, by the name of the body, what each arm saw.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable
from typing import Any

import redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.sim.network.scenarios.arms import on_real, on_sim


async def seen(doing: Awaitable[Any]) -> Any:
    """The answer, or the error without its port."""
    try:
        answer = await doing
    except Exception as error:  # noqa: BLE001 - whatever it raises is what the test is about
        text = re.sub(r"\b\d{4,5}\b", "PORT", str(error))
        return f"{type(error).__name__}: {text}"
    return answer.decode() if isinstance(answer, bytes) else answer


async def lost_reply(arm: Any) -> Any:
    client = arm.client()
    await client.set("n", 0)
    arm.lose_reply("INCRBY")
    first = await seen(client.incr("n"))
    ran = await seen(arm.observer.get("n"))
    then = await seen(client.incr("n"))
    await client.aclose()
    return [first, ran, then]


async def lost_reply_with_retry(arm: Any) -> Any:
    client = arm.client(retry=Retry(NoBackoff(), 1))
    await client.set("n", 0)
    arm.lose_reply("INCRBY")
    answer = await seen(client.incr("n"))
    ran = await seen(arm.observer.get("n"))
    await client.aclose()
    return [answer, ran]


async def lost_reply_with_retry_on_error(arm: Any) -> Any:
    retry = Retry(NoBackoff(), 1)
    client = arm.client(retry=retry, retry_on_error=[RedisConnectionError])
    await client.set("n", 0)
    arm.lose_reply("INCRBY")
    answer = await seen(client.incr("n"))
    ran = await seen(arm.observer.get("n"))
    await client.aclose()
    return [answer, ran]


async def lost_reply_of_a_transaction(arm: Any) -> Any:
    client = arm.client()
    await client.set("n", 0)
    arm.lose_reply("EXEC")
    async with client.pipeline(transaction=True) as pipe:
        pipe.incr("n")
        pipe.incr("n")
        answer = await seen(pipe.execute())
    ran = await seen(arm.observer.get("n"))
    await client.aclose()
    return [answer, ran]


async def cut_while_reading(arm: Any) -> Any:
    client = arm.client()
    reading = asyncio.create_task(seen(client.blpop(["list"], timeout=0)))
    await arm.blocked(1)
    await arm.cut()
    error = await reading
    await arm.blocked(0)
    await arm.observer.rpush("list", "job")
    await asyncio.sleep(0.1)
    left = await seen(arm.observer.llen("list"))
    then = await seen(client.set("k", 1))
    await client.aclose()
    return [error, left, then]


async def cut_while_idle(arm: Any) -> Any:
    client = arm.client()
    await client.set("k", "v")
    await arm.cut()
    answers = [await seen(client.get("k")), await seen(client.get("k"))]
    await client.aclose()
    return answers


async def closed_while_idle(arm: Any) -> Any:
    client = arm.client()
    await client.set("k", "v")
    await arm.close_from_server()
    answers = [await seen(client.get("k")), await seen(client.get("k"))]
    await client.aclose()
    return answers


async def closed_while_reading(arm: Any) -> Any:
    client = arm.client()
    reading = asyncio.create_task(seen(client.blpop(["list"], timeout=0)))
    await arm.blocked(1)
    await arm.close_from_server()
    answer = await reading
    await client.aclose()
    return answer


async def refused(arm: Any) -> Any:
    client = arm.client()
    await arm.refuse()
    error = await seen(client.get("k"))
    await arm.listen()
    answer = await seen(client.set("k", 1))
    await client.aclose()
    return [error, answer]


async def cancelled_blmove(arm: Any) -> Any:
    """Its connection is dropped, so a later push stays in the list."""
    client = arm.client()
    moving = asyncio.create_task(client.blmove("from", "to", 0, "LEFT", "RIGHT"))
    await arm.blocked(1)
    moving.cancel()
    outcome = await asyncio.gather(moving, return_exceptions=True)
    await arm.blocked(0)
    await arm.observer.rpush("from", "job")
    places = await _places(arm)
    taken = await seen(client.blmove("from", "to", 1, "LEFT", "RIGHT"))
    await client.aclose()
    return [type(outcome[0]).__name__, places, taken]


async def cancelled_blmove_that_the_server_has_not_heard_of(arm: Any) -> Any:
    """A push meanwhile is handed to the dead connection: the job has moved, and nobody has it."""
    client = arm.client()
    moving = asyncio.create_task(client.blmove("from", "to", 0, "LEFT", "RIGHT"))
    await arm.blocked(1)
    arm.partition()
    moving.cancel()
    await asyncio.gather(moving, return_exceptions=True)
    await arm.observer.rpush("from", "job")
    await asyncio.sleep(0.1)
    places = await _places(arm)
    arm.join()
    await asyncio.sleep(0.1)
    then = [await _places(arm), await seen(client.llen("from"))]
    await client.aclose()
    return [places, *then]


async def _places(arm: Any) -> list[int]:
    return [await arm.observer.llen("from"), await arm.observer.llen("to")]


async def timeout_while_reading(arm: Any) -> Any:
    client = arm.client(socket_timeout=arm.silence_s)
    await client.set("a", "of a")
    await client.set("b", "of b")
    arm.partition()
    error = await seen(client.get("a"))
    arm.join()
    await asyncio.sleep(0.1)
    then = await seen(client.get("b"))
    await client.aclose()
    return [error, then]


async def cancelled_read_that_keeps_its_connection(arm: Any) -> Any:
    """Its reply is still read, by whoever reads next."""
    client = arm.client()
    await client.set("a", "of a")
    await client.set("b", "of b")
    connection = client.connection_pool.make_connection()
    await connection.connect()
    arm.partition()
    await connection.send_command("GET", "a")
    reading = asyncio.create_task(connection.read_response(disconnect_on_error=False))
    await asyncio.sleep(0.05)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    arm.join()
    await connection.send_command("GET", "b")
    answers = [await seen(connection.read_response()) for _ in range(2)]
    await connection.disconnect()
    await client.aclose()
    return answers


async def cancelled_command(arm: Any) -> Any:
    """Its connection is dropped, so no later command reads its reply."""
    client = arm.client()
    await client.set("a", "of a")
    await client.set("b", "of b")
    arm.partition()
    asking = asyncio.create_task(client.get("a"))
    await asyncio.sleep(0.05)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    arm.join()
    answer = await seen(client.get("b"))
    await client.aclose()
    return answer


async def disconnected_while_reading(arm: Any) -> Any:
    client = arm.client()
    connection = client.connection_pool.make_connection()
    await connection.connect()
    await connection.send_command("BLPOP", "list", 0)
    reading = asyncio.create_task(seen(connection.read_response()))
    await asyncio.sleep(0.05)
    await connection.disconnect()
    answer = await reading
    await client.aclose()
    return [answer, connection.is_connected]


async def two_readers(arm: Any) -> Any:
    client = arm.client()
    connection = client.connection_pool.make_connection()
    await connection.connect()
    first = asyncio.create_task(seen(connection.read_response()))
    await asyncio.sleep(0.05)
    second = await seen(connection.read_response(disconnect_on_error=False))
    await connection.disconnect()
    await client.aclose()
    return [second.partition(":")[0], await first]


async def pubsub_after_a_cut(arm: Any) -> Any:
    """It connects again and subscribes to what it had; how often it raises is the version's."""
    client = arm.client()
    pubsub = client.pubsub()
    await pubsub.subscribe("news")
    await pubsub.psubscribe("n*s")
    said = [await _message(arm, pubsub) for _ in range(2)]
    await arm.cut()
    for _ in range(6):
        said.append(await _message(arm, pubsub))
        if said[-1] == "nothing":
            break
    await arm.observer.publish("news", "hello")
    said += [await _message(arm, pubsub) for _ in range(3)]
    await pubsub.aclose()
    await client.aclose()
    return said


async def _message(arm: Any, pubsub: Any) -> Any:
    try:
        message = await pubsub.get_message(timeout=arm.silence_s)
    except Exception as error:  # noqa: BLE001 - whatever it raises is what the test is about
        return type(error).__name__
    return "nothing" if message is None else [message["type"], str(message["data"])]


async def transaction_without_memory(arm: Any) -> Any:
    """A refused command breaks the transaction, and nothing of it runs."""
    client = arm.client()
    await client.set("k", 1)
    await arm.fill_memory()
    alone = await seen(client.set("k", 2))
    async with client.pipeline(transaction=True) as pipe:
        pipe.delete("k")
        pipe.set("k", 2)
        together = await seen(pipe.execute())
    read = await seen(client.get("k"))
    await arm.free_memory()
    after = await seen(client.set("k", 3))
    await client.aclose()
    return [alone, together, read, after]


async def script_flush(arm: Any) -> Any:
    client = arm.client()
    script = client.register_script("return redis.call('INCR', KEYS[1])")
    answers = [await seen(script(keys=["n"]))]
    await arm.observer.script_flush()
    answers.append(await seen(script(keys=["n"])))
    await client.aclose()
    return answers


async def health_check_after_a_cut(arm: Any) -> Any:
    client = arm.client(health_check_interval=1)
    await client.set("k", "v")
    await asyncio.sleep(1.2)
    await arm.cut()
    answers = [await seen(client.get("k")), await seen(client.get("k"))]
    await client.aclose()
    return answers


BODIES = (
    lost_reply,
    lost_reply_with_retry,
    lost_reply_with_retry_on_error,
    lost_reply_of_a_transaction,
    cut_while_reading,
    cut_while_idle,
    closed_while_idle,
    closed_while_reading,
    refused,
    cancelled_blmove,
    cancelled_blmove_that_the_server_has_not_heard_of,
    timeout_while_reading,
    cancelled_read_that_keeps_its_connection,
    cancelled_command,
    disconnected_while_reading,
    two_readers,
    pubsub_after_a_cut,
    transaction_without_memory,
    script_flush,
    health_check_after_a_cut,
)


def main(url: str) -> None:
    results = {body.__name__: {"real": on_real(url, body), "sim": on_sim(body)} for body in BODIES}
    sys.stdout.write(json.dumps({"redis_py": redis.__version__, "bodies": results}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
