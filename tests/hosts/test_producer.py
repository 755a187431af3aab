"""The producer: each command does its one thing, is answered, and nothing ends the process."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis

from chaos import event as e
from tests.conftest import RunningServer, serving
from tests.hosts.processes import QUICK, SECONDS_MAX, Host, Hosts, write_app

BODIES = {"bodies": [QUICK]}
ALL_VERSIONS = pytest.mark.parametrize(
    "hosts", ["stock@0.22.4", "stock@0.26.3", "stock@0.26.4"], indirect=True
)


@pytest.fixture
def client(redis_server: RunningServer) -> Iterator[redis.Redis]:
    """A client of the run's server, for what a producer must have done there."""
    with redis.Redis.from_url(redis_server.url, decode_responses=True) as client:
        yield client


def record(client: redis.Redis, key: str) -> dict[str, Any]:
    """A job's record as it stands in Redis."""
    text: Any = client.get(f"saq:job:soak:{key}")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def enqueue(producer: Host, key: str | None, **fields: Any) -> str:
    return producer.ask("enqueue", function="saq_chaos_body", key=key, kwargs=BODIES, **fields)


def states(producer: Host, keys: list[str]) -> dict[str, e.JobState]:
    """What an inspection records."""
    before = len(producer.of(e.JobState))
    assert producer.ask("inspect", keys=keys) == ""
    found = producer.of(e.JobState)[before:]
    assert len({state.job for state in found}) == len(found), "a job was reported twice"
    return {state.job: state for state in found}


# --- enqueue --------------------------------------------------------------------------------------


@ALL_VERSIONS
def test_an_enqueue_puts_the_job_there_with_its_options(hosts: Hosts, client: redis.Redis) -> None:
    producer = hosts.producer()
    options = {"timeout": 2.5, "heartbeat": 1.0, "retries": 4, "ttl": 60.0, "retry_delay": 0.25}
    assert enqueue(producer, "one", options=options) == ""
    stored = record(client, "one")
    assert {name: stored[name] for name in options} == options
    assert [type(stored[name]) for name in ("heartbeat", "ttl")] == [int, int]
    assert stored["kwargs"] == BODIES
    assert client.lrange("saq:soak:queued", 0, -1) == ["saq:job:soak:one"]
    assert client.zscore("saq:soak:incomplete", "saq:job:soak:one") == 0


def test_a_key_that_is_still_queued_is_refused_by_saq_and_that_is_no_error(hosts: Hosts) -> None:
    producer = hosts.producer()
    assert [enqueue(producer, "one"), enqueue(producer, "one")] == ["", ""]
    calls = [(call.outcome, call.job) for call in producer.of(e.CallReturned)]
    assert calls == [("ok", "one"), ("empty", "one")]


def test_a_job_without_a_key_gets_saqs_own(hosts: Hosts, client: redis.Redis) -> None:
    producer = hosts.producer()
    assert [enqueue(producer, None), enqueue(producer, None)] == ["", ""]
    assert client.llen("saq:soak:queued") == 2


def test_a_scheduled_job_is_never_due_before_its_time(hosts: Hosts, client: redis.Redis) -> None:
    producer = hosts.producer()
    for number in range(20):
        before = time.time()
        assert enqueue(producer, f"k{number}", scheduled_in_us=1_500_000) == ""
        score: Any = client.zscore("saq:soak:incomplete", f"saq:job:soak:k{number}")
        assert before + 1.5 <= score < time.time() + 2.5
    assert client.llen("saq:soak:queued") == 0


def test_job_arguments_may_be_named_like_saqs_own(hosts: Hosts, client: redis.Redis) -> None:
    producer = hosts.producer()
    kwargs = {"key": "a", "timeout": 1, "queue": "b"}
    assert producer.ask("enqueue", function="saq_chaos_body", key="one", kwargs=kwargs) == ""
    assert record(client, "one")["kwargs"] == kwargs


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"function": "sing"},
            "ValueError: no function 'sing': there are saq_chaos_body, saq_chao",
        ),
        ({"options": {"colour": 1}}, "ValueError: saq's Job has no colour: it has function, timeo"),
        ({"options": {"ttl": 0.5}}, "ValueError: ttl 0.5 s: Redis takes whole seconds"),
        ({"key": 5}, "TypeError: key 5 is no text"),
    ],
)
def test_what_saq_would_misunderstand_is_refused(
    hosts: Hosts, client: redis.Redis, fields: dict[str, Any], message: str
) -> None:
    producer = hosts.producer()
    command = {"function": "saq_chaos_body", "key": "one", "kwargs": BODIES, **fields}
    assert producer.ask("enqueue", **command).startswith(message)
    assert client.dbsize() == 0


# --- sweep, abort, depth --------------------------------------------------------------------------


@ALL_VERSIONS
def test_a_sweep_clears_the_lock_and_sweeps_now(hosts: Hosts, client: redis.Redis) -> None:
    producer = hosts.producer()
    client.set("saq:soak:sweep", 1, ex=3_600)
    client.rpush("saq:soak:active", "saq:job:soak:vanished")
    assert producer.ask("sweep", wait_us=100_000) == ""
    assert client.lrange("saq:soak:active", 0, -1) == []
    assert 0 <= client.ttl("saq:soak:sweep") <= 1 or not client.exists("saq:soak:sweep")
    assert [call.outcome for call in producer.of(e.CallReturned) if call.op == "sweep"] == ["ok"]


def test_a_sweep_waits_as_long_as_it_is_told_even_if_that_is_nothing(
    hosts: Hosts, client: redis.Redis
) -> None:
    producer = hosts.producer()
    assert enqueue(producer, "one", options={"timeout": 1, "retries": 3}) == ""
    stuck = {**record(client, "one"), "status": "active", "started": 1, "attempts": 1}
    client.set("saq:job:soak:one", json.dumps(stuck))
    client.lmove("saq:soak:queued", "saq:soak:active")
    assert producer.ask("sweep", wait_us=0) == ""
    assert client.lrange("saq:soak:queued", 0, -1) == ["saq:job:soak:one"]
    assert record(client, "one")["error"] == "swept"


@ALL_VERSIONS
def test_an_abort_takes_a_queued_job_away(hosts: Hosts, client: redis.Redis) -> None:
    producer = hosts.producer()
    assert enqueue(producer, "one") == ""
    assert producer.ask("abort", key="one") == ""
    stored = record(client, "one")
    assert (stored["status"], stored["error"]) == ("aborted", "chaos abort")
    assert client.llen("saq:soak:queued") == 0
    assert [call.job for call in producer.of(e.CallReturned) if call.op == "abort"] == ["one"]


def test_an_abort_of_a_job_that_is_not_there_is_no_error(hosts: Hosts) -> None:
    producer = hosts.producer()
    assert producer.ask("abort", key="nobody") == ""
    assert [call for call in producer.of(e.CallInvoked) if call.op == "abort"] == []


def test_the_depth_counts_each_list(hosts: Hosts, client: redis.Redis) -> None:
    producer = hosts.producer()
    for key in ("one", "two", "three"):
        assert enqueue(producer, key) == ""
    client.lmove("saq:soak:queued", "saq:soak:active")
    assert producer.ask("depth") == ""
    (depth,) = producer.of(e.QueueDepth)
    assert (depth.queued, depth.active, depth.incomplete) == (2, 1, 3)


# --- inspect --------------------------------------------------------------------------------------


@ALL_VERSIONS
def test_an_inspection_tells_each_key_asked_and_whatever_the_lists_hold(
    hosts: Hosts, client: redis.Redis
) -> None:
    producer = hosts.producer()
    for key in ("one", "two", "late"):
        ahead = 60_000_000 if key == "late" else 0
        assert enqueue(producer, key, scheduled_in_us=ahead) == ""
    client.lpush("saq:soak:queued", "saq:job:soak:two", "saq:job:soak:two")
    client.rpush("saq:soak:active", "saq:job:soak:one", "saq:job:soak:ghost")
    done = {**record(client, "one"), "key": "done", "status": "complete", "queued": 77}
    client.set("saq:job:soak:done", json.dumps(done), ex=50)

    seen = states(producer, ["done", "absent", "two"])
    assert list(seen)[:3] == ["done", "absent", "two"]
    assert sorted(seen) == ["absent", "done", "ghost", "late", "one", "two"]
    lists = {key: (state.queued, state.active, state.score) for key, state in seen.items()}
    late: Any = client.zscore("saq:soak:incomplete", "saq:job:soak:late")
    assert lists == {
        "done": (0, 0, None),
        "absent": (0, 0, None),
        "two": (3, 0, 0.0),
        "one": (1, 1, 0.0),
        "ghost": (0, 1, None),
        "late": (0, 0, late),
    }
    assert {key: state.status for key, state in seen.items()} == {
        "done": "complete", "absent": "", "two": "queued", "one": "queued", "ghost": "",
        "late": "queued",
    }  # fmt: skip
    assert seen["done"].enqueue == 77
    assert seen["one"].enqueue == record(client, "one")["queued"]
    assert 40_000_000 < seen["done"].ttl_us <= 50_000_000
    assert (seen["one"].ttl_us, seen["absent"].ttl_us) == (-1, -2)


def test_an_inspection_of_thousands_of_jobs_tells_every_one(
    hosts: Hosts, client: redis.Redis
) -> None:
    producer = hosts.producer()
    assert enqueue(producer, "model") == ""
    model = record(client, "model")
    names = [f"job-{number}" for number in range(5_000)]
    with client.pipeline() as pipe:
        for number, name in enumerate(names):
            text = json.dumps({**model, "key": name, "queued": number + 1})
            pipe.set(f"saq:job:soak:{name}", text)
            pipe.rpush("saq:soak:queued", f"saq:job:soak:{name}")
        pipe.execute()
    seen = states(producer, names[:2_500])
    assert list(seen) == [*names[:2_500], "model", *names[2_500:]]
    assert [seen[name].enqueue for name in names] == list(range(1, 5_001))


def test_a_record_that_nobody_can_read_is_told_and_answered_as_an_error(
    hosts: Hosts, client: redis.Redis
) -> None:
    producer = hosts.producer()
    assert enqueue(producer, "good") == ""
    client.set("saq:job:soak:bad", "{")
    assert producer.ask("inspect", keys=["bad"]) == "ValueError: 1 unreadable records, first bad"
    assert [(state.job, state.status) for state in producer.of(e.JobState)] == [
        ("good", "queued"),
        ("bad", "unreadable"),  # looked at twice
    ]


def test_an_inspection_reads_records_as_the_app_writes_them(
    hosts: Hosts, client: redis.Redis
) -> None:
    folder = write_app(
        hosts.folder / "apps",
        pickled=(
            "import pickle\n"
            "from saq import Queue\n"
            "async def f(ctx): ...\n"
            "queue = Queue.from_url('redis://localhost', name='soak',"
            " dump=pickle.dumps, load=pickle.loads)\n"
            "settings = {'functions': [f], 'queue': queue}\n"
        ),
    )
    producer = hosts.producer(app="pickled:settings", app_path=folder)
    assert producer.ask("enqueue", function="f", key="one") == ""
    assert states(producer, ["one"])["one"].status == "queued"


# --- what must not end it -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "ValueError: no command: b'[]\\n' is no object with a `do` and a `call`"),
        ('{"do": "depth"}', 'ValueError: no command: b\'{"do": "depth"}\\n\' is no object with'),
    ],
)
def test_a_line_that_is_no_command_is_answered_as_call_0(
    hosts: Hosts, line: str, message: str
) -> None:
    producer = hosts.producer()
    producer.write("")
    producer.write(line)
    assert producer.answer(0).startswith(message)
    assert producer.ask("depth") == ""


def test_an_unknown_command_is_answered_with_those_that_exist(hosts: Hosts) -> None:
    producer = hosts.producer()
    assert producer.ask("dance") == (
        "ValueError: no command 'dance': there are enqueue, sweep, abort, depth and inspect"
    )
    assert producer.ask("abort") == "KeyError: 'key'"


@ALL_VERSIONS
def test_a_server_that_restarts_costs_answers_but_not_the_process(
    hosts: Hosts, tmp_path: Path
) -> None:
    with ExitStack() as first:
        server = first.enter_context(serving(tmp_path / "first"))
        producer = hosts.producer(redis_url=server.url)
        assert enqueue(producer, "one") == ""
        first.close()
        assert "Error" in enqueue(producer, "two")
        assert "Error" in producer.ask("inspect", keys=["one"])
    with serving(tmp_path / "second", server.port):
        assert enqueue(producer, "three") == ""
        assert [state.status for state in states(producer, ["one", "three"]).values()] == [
            "",
            "queued",
        ]
        assert producer.end() == 0
    assert len(producer.of(e.HostEnded)) == 1


def test_more_commands_than_can_be_in_flight_are_all_answered(
    hosts: Hosts, redis_server: RunningServer
) -> None:
    producer = hosts.producer()
    assert enqueue(producer, "first") == ""
    os.kill(redis_server.pid, signal.SIGSTOP)
    try:
        calls = [producer.tell("depth") for _ in range(600)]
    finally:
        os.kill(redis_server.pid, signal.SIGCONT)
    answers = producer.wait_for(e.Answered, 601)
    assert sorted(event.call for event in answers) == [1, *calls]
    assert {event.error for event in answers} == {""}


def test_the_end_of_its_input_lets_it_finish_what_is_in_flight(
    hosts: Hosts, redis_server: RunningServer
) -> None:
    producer = hosts.producer()
    calls = [producer.tell("depth") for _ in range(100)]
    assert producer.end() == 0
    assert sorted(event.call for event in producer.of(e.Answered)) == calls
    assert {event.error for event in producer.of(e.Answered)} == {""}


def wait_for_unread(port: int) -> None:
    """Until the kernel holds bytes for this server that it has not read: a command in flight."""
    local = f":{port:04X}"
    deadline = time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()]
        # local address, remote address, state, bytes to send:bytes received and not read
        if any(row[1].endswith(local) and int(row[4].split(":")[1], 16) for row in rows[1:]
               if row[3] == "01"):  # fmt: skip
            return
        time.sleep(0.01)
    raise AssertionError(f"nothing was sent to port {port}")


def test_sigterm_ends_it_even_while_the_server_is_frozen(
    hosts: Hosts, redis_server: RunningServer
) -> None:
    producer = hosts.producer()
    assert enqueue(producer, "one") == ""
    os.kill(redis_server.pid, signal.SIGSTOP)
    try:
        call = producer.tell("depth")
        producer.tell("depth")
        wait_for_unread(redis_server.port)
        assert producer.end(signal.SIGTERM) == 0
    finally:
        os.kill(redis_server.pid, signal.SIGCONT)
    assert producer.answer(call) == "not finished: the producer ended"
    assert producer.seen[-1] == producer.of(e.HostEnded)[0]


def test_a_job_that_moves_while_it_is_inspected_never_looks_lost_or_left_behind(
    hosts: Hosts, client: redis.Redis
) -> None:
    worker, producer = hosts.worker(concurrency=10), hosts.producer()
    keys = [f"key-{number}" for number in range(20)]
    calls = []
    for number in range(600):
        key = keys[number % 20]
        producer.tell("enqueue", function="saq_chaos_body", key=key, kwargs=BODIES)
        if number % 3 == 0:
            calls.append(producer.tell("inspect", keys=keys))
    assert {producer.answer(call) for call in calls} == {""}
    wrong = [
        state
        for state in producer.of(e.JobState)
        if (state.status in {"", "complete"}) == bool(state.queued or state.active)
    ]
    assert len(producer.of(e.JobState)) >= 200 * 20
    assert wrong == []
    assert worker.of(e.ProcessEnded)
