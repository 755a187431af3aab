"""Event streams: ids without gaps, replay, resuming, the end, clients that do not read."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import httpx
import pytest

from service.api.streams import lines_of, written
from service.errors import TooMany
from service.models import Event, EventData
from tests.service.api import made_runs
from tests.service.conftest import StartServer


def ids(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"^id: (\d+)$", text, re.MULTILINE)]


def test_a_stream_tells_everything_from_the_first_event_to_the_last(
    asked: httpx.Client, run: str
) -> None:
    text = made_runs.follow(asked, run)
    latest = asked.get(f"/v1/runs/{run}").json()["events"]
    assert ids(text) == list(range(1, latest + 1))
    types = re.findall(r"^event: (\w+)$", text, re.MULTILINE)
    assert (types[0], types[-1]) == ("state", "ended")
    last = json.loads(re.findall(r"^data: (.*)$", text, re.MULTILINE)[-1])
    assert (last["run"], last["outcome"], last["exit_code"]) == (run, "unknown", 3)


def test_a_stream_goes_on_after_the_last_event_that_was_seen(asked: httpx.Client, run: str) -> None:
    whole = ids(made_runs.follow(asked, run))
    assert ids(made_runs.follow(asked, run, after=2)) == whole[2:]
    back = {"Last-Event-ID": "3"}
    with asked.stream("GET", f"/v1/runs/{run}/events?after=1", headers=back) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert ids("".join(answer.iter_text())) == whole[3:]


def test_who_has_seen_the_end_is_told_not_to_come_back(asked: httpx.Client, run: str) -> None:
    latest = asked.get(f"/v1/runs/{run}").json()["events"]
    answer = asked.get(f"/v1/runs/{run}/events", headers={"Last-Event-ID": str(latest)})
    assert (answer.status_code, answer.content) == (204, b"")


def test_an_id_that_is_no_number_is_refused(asked: httpx.Client, run: str) -> None:
    answer = asked.get(f"/v1/runs/{run}/events", headers={"Last-Event-ID": "latest"})
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid")


def test_an_event_on_the_wire_has_an_id_a_type_and_one_line_of_data() -> None:
    data = EventData(text="two\nlines", by="ann")
    event = Event(
        id=7, run="r1", type="note", at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), data=data
    )
    assert written(event).encode().decode() == (
        "id: 7\nevent: note\n"
        'data: {"run":"r1","at":"2026-01-02T03:04:05+00:00","by":"ann","text":"two\\nlines"}\n\n'
    )


async def test_a_refusal_is_an_answer_of_its_own_and_no_broken_stream() -> None:
    async def full() -> AsyncIterator[Event]:
        raise TooMany("500 streams are open")
        yield

    with pytest.raises(TooMany, match="500 streams"):
        await lines_of(full())


def test_subscribers_beyond_the_limit_are_refused_and_say_when_to_come_again(
    start_server: StartServer,
) -> None:
    server = start_server(SAQCHAOS_LIMITS__SUBSCRIBERS="1")
    with httpx.Client(base_url=server.url, timeout=60) as client:
        run = client.post("/v1/runs", json=made_runs.wanted(duration="50m")).json()["id"]
        with client.stream("GET", f"/v1/runs/{run}/events") as first:
            chunks = first.iter_raw()  # held: httpx closes the stream with its iterator
            next(chunks)
            second = client.get(f"/v1/runs/{run}/events")
            assert (second.status_code, second.json()["type"]) == (429, "/problems/too-many")
            assert int(second.headers["retry-after"]) > 0


def test_streams_end_when_the_service_ends_and_the_run_is_kept_as_interrupted(
    start_server: StartServer,
) -> None:
    server = start_server()
    with httpx.Client(base_url=server.url, timeout=60) as client:
        run = client.post("/v1/runs", json=made_runs.wanted(duration="50m")).json()["id"]
        with client.stream("GET", f"/v1/runs/{run}/events") as stream:
            chunks = stream.iter_text()
            seen = next(chunks)
            server.process.send_signal(signal.SIGTERM)
            seen += "".join(chunks)
    assert server.end() == 0
    assert ids(seen)[0] == 1
    again = start_server()
    found = httpx.get(f"{again.url}/v1/runs/{run}", timeout=60).json()
    assert (found["state"], found["outcome"]) == ("ended", "interrupted")
