"""Pub/sub: the pushes, their shapes and their order."""

from __future__ import annotations

from tests.sim.model.driver import Client, Driver


def test_a_message_reaches_channel_and_pattern(driver: Driver) -> None:
    listening, speaking = driver.client(), driver.client()
    listening.send("SUBSCRIBE news")
    listening.send("PSUBSCRIBE n* x?")
    assert listening.take() == [
        [b"subscribe", b"news", 1], [b"psubscribe", b"n*", 2], [b"psubscribe", b"x?", 3],
    ]  # fmt: skip
    assert speaking.do("PUBLISH news hi") == 2
    assert listening.take() == [
        [b"message", b"news", b"hi"], [b"pmessage", b"n*", b"news", b"hi"],
    ]  # fmt: skip


def test_who_left_hears_nothing(driver: Driver) -> None:
    listening, speaking = driver.client(), driver.client()
    listening.send("SUBSCRIBE a b")
    listening.take()
    listening.send("UNSUBSCRIBE")
    assert listening.take() == [[b"unsubscribe", b"a", 1], [b"unsubscribe", b"b", 0]]
    listening.send("PUNSUBSCRIBE")
    assert listening.take() == [[b"punsubscribe", None, 0]]
    assert speaking.do("PUBLISH a hi") == 0
    listening.send("SUBSCRIBE a")
    listening.leave()
    assert speaking.do("PUBLISH a hi") == 0
    assert speaking.do("PUBSUB CHANNELS") == []


def test_a_subscribed_client_may_only_listen(client: Client) -> None:
    client.send("SUBSCRIBE a")
    client.take()
    assert client.do("GET k") == (
        "!Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
        "allowed in this context"
    )
    assert client.do("PING") == [b"pong", b""]
    assert client.do("RESET") == b"RESET"
    assert client.do("GET k") is None


def test_a_transaction_publishes_when_it_runs(driver: Driver) -> None:
    listening, speaking = driver.client(), driver.client()
    listening.send("SUBSCRIBE a")
    listening.take()
    speaking.do("MULTI")
    speaking.do("PUBLISH a hi")
    assert listening.take() == []
    assert speaking.do("EXEC") == [1]
    assert listening.take() == [[b"message", b"a", b"hi"]]


def test_what_a_transaction_tells_its_own_client_comes_after_its_replies(client: Client) -> None:
    client.do("MULTI")
    client.do("SUBSCRIBE a")
    client.do("PUBLISH a hi")
    client.send("EXEC")
    assert client.take() == [[[b"subscribe", b"a", 1], 1], [b"message", b"a", b"hi"]]


def test_pubsub_tells_who_listens(driver: Driver) -> None:
    listening, asking = driver.client(), driver.client()
    listening.send("SUBSCRIBE a b")
    listening.send("PSUBSCRIBE c*")
    assert asking.do("PUBSUB NUMSUB a x") == [b"a", 1, b"x", 0]
    assert asking.do("PUBSUB NUMPAT") == 1
    assert asking.do("PUBSUB CHANNELS b*") == [b"b"]
