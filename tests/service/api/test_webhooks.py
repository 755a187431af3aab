"""Webhooks: signed, told again, told once, and never anywhere but to the settings' addresses."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from service.errors import NotFound, Unavailable
from service.models import Run, RunRequest
from service.ports import Trigger
from service.runs.manager import RunManager
from service.settings import Settings
from service.webhooks import signing
from service.webhooks.hooks import Webhooks
from service.webhooks.sender import BACKOFF_S, Sender
from service.webhooks.store import DeliveryStore

KEY = b"a secret of this test"
BEGAN = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


@dataclass
class Clock:
    """A clock that is set by hand."""

    now: datetime = BEGAN

    def __call__(self) -> datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class Receiver:
    """An address: answers in turn what it is told to, the last one for ever."""

    answers: list[int]
    requests: list[httpx.Request] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        status = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if status == 0:
            raise httpx.ConnectError("connection refused", request=request)
        return httpx.Response(status, headers={"Location": "https://elsewhere.example/"})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    hooks = {"ci": {"url": "https://ci.example/hook", "secret": KEY.decode()}}
    return Settings(data_dir=tmp_path, webhooks=hooks)


@pytest.fixture
def store(settings: Settings) -> DeliveryStore:
    return DeliveryStore(settings.data_dir)


@pytest.fixture
def receiver() -> Receiver:
    return Receiver([200])


@pytest.fixture
async def sender(
    store: DeliveryStore, settings: Settings, clock: Clock, receiver: Receiver
) -> AsyncIterator[Sender]:
    client = httpx.AsyncClient(transport=httpx.MockTransport(receiver))
    made = Sender(store, settings.webhooks, clock, client)
    yield made
    await made.close()
    store.close()


async def test_what_is_sent_is_signed_over_its_time_and_its_body(
    sender: Sender, store: DeliveryStore, receiver: Receiver
) -> None:
    store.watch("run-1", ["ci"])
    store.ended("run-1", b'{"event":"run.ended"}', BEGAN)
    assert await sender.send_due() == 1
    (request,) = receiver.requests
    assert (request.method, str(request.url)) == ("POST", "https://ci.example/hook")
    assert request.content == b'{"event":"run.ended"}'
    assert request.headers["x-saqchaos-event"] == "run.ended"
    signature = request.headers["x-saqchaos-signature"]
    now_s = int(BEGAN.timestamp())
    assert signing.verify(KEY, request.content, signature, now_s)
    (delivery,) = store.find(None, 10)
    assert (delivery.state, delivery.attempts, delivery.status) == ("delivered", 1, 200)
    assert request.headers["x-saqchaos-delivery"] == delivery.id


async def test_a_refusal_is_tried_again_later_and_later_and_then_has_failed(
    sender: Sender, store: DeliveryStore, receiver: Receiver, clock: Clock
) -> None:
    receiver.answers = [500]
    store.watch("run-1", ["ci"])
    store.ended("run-1", b"{}", BEGAN)
    for wait_s in BACKOFF_S:
        assert await sender.send_due() == 1
        clock.pass_s(wait_s - 1)
        assert await sender.send_due() == 0
        clock.pass_s(1)
    assert await sender.send_due() == 1
    (delivery,) = store.find(None, 10)
    assert (delivery.state, delivery.attempts) == ("failed", 7)
    assert delivery.error == "it answered 500"
    clock.pass_s(100_000)
    assert await sender.send_due() == 0
    assert len({request.headers["x-saqchaos-delivery"] for request in receiver.requests}) == 1


async def test_an_address_that_is_away_is_tried_again(
    sender: Sender, store: DeliveryStore, receiver: Receiver, clock: Clock
) -> None:
    receiver.answers = [0, 204]
    store.watch("run-1", ["ci"])
    store.ended("run-1", b"{}", BEGAN)
    await sender.send_due()
    (delivery,) = store.find("run-1", 10)
    assert (delivery.state, delivery.error) == ("pending", "ConnectError: connection refused")
    clock.pass_s(5)
    await sender.send_due()
    assert store.find("run-1", 10)[0].state == "delivered"


async def test_a_redirect_is_not_followed(
    sender: Sender, store: DeliveryStore, receiver: Receiver
) -> None:
    receiver.answers = [302]
    store.watch("run-1", ["ci"])
    store.ended("run-1", b"{}", BEGAN)
    await sender.send_due()
    assert [request.url.host for request in receiver.requests] == ["ci.example"]
    assert store.find(None, 1)[0].error == "it answered 302, a redirect: those are not followed"


async def test_a_webhook_that_the_settings_no_longer_have_has_failed(
    sender: Sender, store: DeliveryStore, receiver: Receiver
) -> None:
    store.watch("run-1", ["gone"])
    store.ended("run-1", b"{}", BEGAN)
    await sender.send_due()
    assert receiver.requests == []
    assert store.find(None, 1)[0].error == "the settings have no webhook 'gone' any more"


async def test_what_was_sent_and_cannot_be_noted_is_not_sent_again_and_again(
    sender: Sender, store: DeliveryStore, receiver: Receiver, clock: Clock
) -> None:
    store.watch("run-1", ["ci"])
    store.ended("run-1", b"{}", clock.now)
    store._db.rows("PRAGMA query_only=1")
    for _ in range(3):
        with pytest.raises(Unavailable, match="cannot be used"):
            await sender.send_due()
    assert len(receiver.requests) == 1
    store._db.rows("PRAGMA query_only=0")
    assert await sender.send_due() == 0
    (delivery,) = store.find("run-1", 10)
    assert (delivery.state, delivery.attempts, delivery.status) == ("delivered", 1, 200)


async def test_a_run_whose_webhook_cannot_be_noted_is_made_once_and_told_later(
    settings: Settings, receiver: Receiver
) -> None:
    runs = RunManager(settings)
    await runs.start()
    client = httpx.AsyncClient(transport=httpx.MockTransport(receiver))
    hooks = Webhooks(settings, runs, client=client)
    hooks._store._db.rows("PRAGMA query_only=1")
    hooks.watch("run-1", ["ci"])
    with pytest.raises(Unavailable):
        await hooks.look()
    hooks._store._db.rows("PRAGMA query_only=0")
    assert hooks._store.watched() == []
    hooks._runs = _Ended()  # type: ignore[assignment]
    assert await hooks.look() == 1
    assert len(receiver.requests) == 1
    await hooks.close()
    await runs.close()


class _Ended:
    """Knows every run, and that it has ended."""

    def get(self, run: str) -> Run:
        return _ended(run)


def _ended(run: str) -> Run:
    return Run(id=run, state="ended", outcome="passed", exit_code=0, plan="p", world="sim", seed=1,
               variants=["v"], gate="strict", labels={}, trigger="api", requested_by="ann",
               created_at=BEGAN)  # fmt: skip


def test_an_end_is_told_once(store: DeliveryStore) -> None:
    store.watch("run-1", ["ci", "ci"])
    store.watch("run-1", ["ci"])
    store.ended("run-1", b"{}", BEGAN)
    store.ended("run-1", b"{}", BEGAN)
    store.watch("run-1", ["ci"])  # a start that is repeated with its key, after the end
    store.ended("run-1", b"{}", BEGAN)
    assert [one.webhook for one in store.find(None, 10)] == ["ci"]
    assert store.watched() == []
    store.close()


def test_what_waits_outlives_the_process(settings: Settings) -> None:
    before = DeliveryStore(settings.data_dir)
    before.watch("run-1", ["ci"])
    before.watch("run-2", ["ci"])
    before.ended("run-2", b"{}", BEGAN)
    before.close()
    after = DeliveryStore(settings.data_dir)
    assert after.watched() == ["run-1"]
    assert [(one.run, body) for one, body in after.due(BEGAN, 10)] == [("run-2", b"{}")]
    after.close()


def test_deliveries_that_are_done_are_kept_up_to_a_number(
    store: DeliveryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.webhooks.store.KEPT", 2)
    for number in range(4):
        store.watch(f"run-{number}", ["ci"])
        store.ended(f"run-{number}", b"{}", BEGAN)
        (delivery,) = [one for one, _ in store.due(BEGAN, 10)]
        store.tried(delivery.id, "delivered", BEGAN, status=200, error=None, next_at=None)
    assert [one.run for one in store.find(None, 10)] == ["run-3", "run-2"]
    store.close()


@pytest.mark.parametrize(
    ("key", "body", "later_s", "genuine"),
    [
        (KEY, b"{}", 0, True),
        (KEY, b"{}", 300, True),
        (KEY, b"{}", 301, False),
        (KEY, b"{}", -301, False),
        (KEY, b"{ }", 0, False),
        (b"another key", b"{}", 0, False),
    ],
)
def test_a_receiver_sees_what_is_forged_and_what_is_old(
    key: bytes, body: bytes, later_s: int, genuine: bool
) -> None:
    signature = signing.sign(KEY, b"{}", 1_767_268_800)
    assert signing.verify(key, body, signature, 1_767_268_800 + later_s) is genuine


@pytest.mark.parametrize("signature", ["", "t=1", "v1=00", "t=x,v1=00", "t=" + "9" * 40 + ",v1=0"])
def test_a_signature_that_is_none_is_refused(signature: str) -> None:
    assert signing.verify(KEY, b"{}", signature, 1) is False


def test_the_body_is_the_run_as_the_api_shows_it() -> None:
    from service.webhooks.hooks import body_of

    run = _ended("r1")
    assert json.loads(body_of(run)) == {"event": "run.ended", "run": run.model_dump(mode="json")}


async def test_an_unknown_webhook_is_refused_and_nothing_is_started(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.post("/v1/runs", json={"plan": "smoke", "webhooks": ["mine"]})
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/not-allowed")
    assert (await client.get("/v1/runs")).json()["runs"] == []


async def test_a_run_that_is_gone_is_not_waited_for(client: httpx.AsyncClient) -> None:
    transport: object = client._transport
    app = transport.app  # type: ignore[attr-defined]
    with pytest.raises(NotFound):
        app.state.runs.get("run-9")
    app.state.webhooks.watch("run-9", ["ci"])
    await app.state.webhooks.look()
    assert app.state.webhooks.deliveries(None, 10) == []
    assert app.state.webhooks._store.watched() == []


async def test_a_run_whose_service_was_killed_before_it_was_waited_for_is_waited_for(
    settings: Settings,
) -> None:
    runs = RunManager(settings)
    await runs.start()
    try:
        wanted = RunRequest(plan="smoke", world="sim", webhooks=["ci"])
        run = runs.submit(wanted, Trigger("api", "ann"))
        webhooks = Webhooks(settings, runs, client=httpx.AsyncClient())
        assert webhooks._store.watched() == []
        webhooks.start()
        assert webhooks._store.watched() == [run.id]
        await webhooks.close()
    finally:
        await runs.close()
