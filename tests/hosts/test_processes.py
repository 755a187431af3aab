"""Worker and producer processes as they are started: by path, in a variant's interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from chaos import event as e
from tests.hosts.processes import QUICK, SECONDS_MAX, Hosts, write_app


def gone(pid: int) -> bool:
    """Whether a process has ended (or only waits to be collected)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not gone(pid):
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.01)


# --- a run in small -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hosts", "saq", "grace_us", "deadline_us"),
    [
        ("stock@0.22.4", "0.22.4", 0, 1_000_000),
        ("stock@0.26.3", "0.26.3", 1_000_000, 500_000),
        ("stock@0.26.4", "0.26.4", 1_000_000, 500_000),
    ],
    indirect=["hosts"],
)
def test_a_worker_says_what_it_is_runs_jobs_and_ends_as_saq_does(
    hosts: Hosts, saq: str, grace_us: int, deadline_us: int
) -> None:
    worker, producer = hosts.worker(), hosts.producer()
    thread = {"profile": "thread", "takes_us": 1_000}
    raising = {"profile": "raising", "takes_us": 0, "error": "KeyError"}
    for key, function, body in (
        ("one", "saq_chaos_body", QUICK),
        ("two", "saq_chaos_body_sync", thread),
        ("three", "saq_chaos_body", raising),
    ):
        error = producer.ask("enqueue", function=function, key=key, kwargs={"bodies": [body]})
        assert error == ""
    worker.wait_for(e.ProcessEnded, 3)

    assert worker.end(signal.SIGTERM) == 0
    assert producer.end() == 0
    began = worker.of(e.HostBegan)[0]
    assert worker.seen[0] is began
    assert (began.role, began.pid, began.saq) == ("worker", worker.process.pid, saq)
    assert (began.patch, began.concurrency, began.abort_us) == ("stock", 4, 100_000)
    assert (began.grace_us, began.deadline_us) == (grace_us, deadline_us)
    assert began.worker_id
    assert began.redis_py
    ended = {event.job: (event.outcome, event.error) for event in worker.of(e.BodyEnded)}
    assert ended == {"one": ("ok", ""), "two": ("ok", ""), "three": ("raised", "KeyError")}
    last = worker.of(e.HostEnded)[0]
    assert worker.seen[-1] is last
    assert (last.complete, last.failed, last.retried, last.aborted) == (2, 1, 0, 0)
    assert producer.of(e.HostBegan)[0].role == "producer"
    assert producer.seen[-1] == producer.of(e.HostEnded)[0]


def test_the_config_stays_private_and_is_left_where_it_was(hosts: Hosts) -> None:
    worker = hosts.worker()
    worker.end(signal.SIGTERM)
    assert (hosts.folder / "worker-1.1.json").stat().st_mode & 0o777 == 0o600
    assert (hosts.folder / "worker-1.1.events").stat().st_mode & 0o777 == 0o600


def test_a_worker_whose_server_is_gone_still_ends_by_itself(
    hosts: Hosts, redis_server: Any
) -> None:
    worker = hosts.worker()
    os.kill(redis_server.pid, signal.SIGSTOP)
    try:
        assert worker.end(signal.SIGTERM) == 0
    finally:
        os.kill(redis_server.pid, signal.SIGCONT)
    assert len(worker.of(e.HostEnded)) == 1


def test_a_patched_class_of_the_users_own_runs(hosts: Hosts) -> None:
    folder = write_app(
        hosts.folder / "own",
        mine="import saq\nclass Mine(saq.Worker):\n    pass\n",
    )
    worker = hosts.worker(patch="mine:Mine", app_path=folder)
    assert worker.of(e.HostBegan)[0].patch == "mine:Mine"
    assert worker.end(signal.SIGTERM) == 0


# --- what cannot start ----------------------------------------------------------------------------

BROKEN_APPS = {
    "broken": "import json\nraise ValueError('no REDIS_URL\\nset redis://user:secret@host/0')\n",
    "leaving": "import sys\nsys.exit(3)\n",
    "good": (
        "async def f(ctx): ...\n"
        "settings = {'functions': [f]}\n"
        "typo = {'functions': [f], 'concurency': 3, 'timer': {}}\n"
        "text = 'settings'\n"
        "nothing = {'functions': []}\n"
        "async def later(): return settings\n"
        "def failing(): raise RuntimeError('not today')\n"
        "def two(): return [settings, settings]\n"
        "class Other: pass\n"
        "other_queue = {'functions': [f], 'queue': Other()}\n"
        "refused = {'functions': [f], 'burst': True}\n"
    ),
    "cluster": (
        "from redis.asyncio import RedisCluster\n"
        "from saq.queue.redis import RedisQueue\n"
        "class Client:\n    def pubsub(self): ...\n"
        "async def f(ctx): ...\n"
        "settings = {'functions': [f], 'queue': RedisQueue(Client())}\n"
    ),
}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"role": "boss"}, "role 'boss' is neither worker nor producer"),
        ({"colour": 1}, "unexpected keyword argument 'colour'"),
        ({"redis_url": "http://:secret@x"}, "redis_url is no Redis URL: ValueError: "),
        (
            {"timers": {"sweep": 0.5}},
            "timer sweep of 0.5 s: saq uses it as the lifetime of a Redis",
        ),
        ({"timers": {"schedule": 0}}, "timer schedule of 0 s"),
        ({"patch": "by-colour"}, "patch 'by-colour' cannot be used: "),
        ({"patch": "nowhere:Worker"}, "patch 'nowhere:Worker' cannot be used: "),
        ({"app": "good:settings", "workload": "same_key"}, "an app needs workload 'app'"),
        ({"app_path": "/nowhere"}, "app_path '/nowhere' is no folder"),
        ({"app": "good"}, "'good' names no app: write module:settings"),
        (
            {"app": "broken:settings"},
            "ValueError: no REDIS_URL set redis://***@host/0 ({folder}/apps/broken.py:2)",
        ),
        ({"app": "absent:settings"}, "No module named 'absent'"),
        ({"app": "leaving:settings"}, "cannot import the app leaving:settings: SystemExit: 3"),
        ({"app": "good:setings"}, "the app good:setings was imported, but there is no 'setings'"),
        ({"app": "good:text"}, "the app's settings good:text are str, not a dict"),
        ({"app": "good:two"}, "the app's settings good:two are list, not a dict"),
        ({"app": "good:nothing"}, "the app's settings good:nothing hold no functions"),
        ({"app": "good:later"}, "the app's settings good:later are async"),
        ({"app": "good:failing"}, "settings good:failing() failed: RuntimeError: not today"),
        (
            {"app": "good:typo"},
            "the app's settings have concurency, timer, which saq 0.26.3 does not know",
        ),
        ({"app": "good:other_queue"}, "the app's queue is a Other: only saq's RedisQueue"),
        ({"app": "good:refused"}, "saq's Worker refused its settings: ValueError: dequeue_timeout"),
        (
            {"app": "cluster:settings"},
            "the app's queue has a Client client: only redis.asyncio.Redis",
        ),
    ],
)
def test_what_cannot_start_says_why_in_one_line(
    hosts: Hosts, fields: dict[str, Any], message: str
) -> None:
    folder = write_app(hosts.folder / "apps", **BROKEN_APPS)
    worker = hosts.start("worker-1.1", **{"app_path": folder, **fields})
    assert worker.process.wait(SECONDS_MAX) == 4
    lines = worker.log.splitlines()
    assert len(lines) == 1, worker.log
    assert lines[0].startswith("saq-chaos: ")
    assert message.replace("{folder}", str(hosts.folder)) in lines[0]
    assert "secret" not in worker.log
    assert worker.of(e.Event) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "No such file"), ("{", "Expecting property name"), ("[]", "not fit")],
)
def test_a_config_that_cannot_be_read_is_named(
    hosts: Hosts, text: str | None, message: str
) -> None:
    path = hosts.folder / "config.json"
    if text is not None:
        path.write_text(text)
    worker = hosts.start("worker-1.1", [str(path)])
    assert worker.process.wait(SECONDS_MAX) == 4
    assert str(path) in worker.log
    assert message in worker.log


def test_a_process_without_a_config_says_what_it_wants(hosts: Hosts) -> None:
    worker = hosts.start("worker-1.1", [])
    assert worker.process.wait(SECONDS_MAX) == 4
    assert worker.log == "saq-chaos: give the path of one config file\n"


def test_an_events_file_that_exists_is_never_overwritten(hosts: Hosts) -> None:
    (hosts.folder / "worker-1.1.events").write_bytes(b"kept")
    worker = hosts.start("worker-1.1")
    assert worker.process.wait(SECONDS_MAX) == 4
    assert "worker-1.1.events: File exists" in worker.log
    assert (hosts.folder / "worker-1.1.events").read_bytes() == b"kept"


def test_a_startup_hook_that_raises_ends_the_worker(hosts: Hosts) -> None:
    folder = write_app(
        hosts.folder / "apps",
        hooked=(
            "async def f(ctx): ...\n"
            "async def startup(ctx): raise RuntimeError('no licence')\n"
            "settings = {'functions': [f], 'startup': startup}\n"
        ),
    )
    worker = hosts.start("worker-1.1", app="hooked:settings", app_path=folder)
    assert worker.process.wait(SECONDS_MAX) == 4
    assert "saq-chaos: the worker did not start: RuntimeError: no licence" in worker.log
    assert worker.of(e.HostEnded) == []


# --- signals and the end of the parent ------------------------------------------------------------


def test_sigterm_while_the_app_is_imported_ends_the_process_at_once(hosts: Hosts) -> None:
    folder = write_app(
        hosts.folder / "apps",
        slow="import sys, time\nprint('importing', flush=True)\ntime.sleep(60)\n",
    )
    worker = hosts.start("worker-1.1", app="slow:settings", app_path=folder)
    deadline = time.monotonic() + SECONDS_MAX
    while "importing" not in worker.log:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert worker.end(signal.SIGTERM) == -signal.SIGTERM


def test_a_worker_does_not_outlive_its_parent(hosts: Hosts) -> None:
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    command = hosts.command(str(hosts.config("worker-1.1")))
    with subprocess.Popen(
        [sys.executable, "-c", script, *command], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        deadline = time.monotonic() + SECONDS_MAX
        while not (hosts.folder / "worker-1.1.events").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        parent.kill()
    wait_until_gone(pid)


def test_a_recorder_without_room_ends_the_process_instead_of_raising_into_saq(
    hosts: Hosts,
) -> None:
    folder = write_app(
        hosts.folder / "apps",
        limited=(
            "import resource\n"
            "async def saq_chaos_body(ctx, *, bodies): ...\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
            "settings = {'functions': [saq_chaos_body]}\n"
        ),
    )
    worker = hosts.start("worker-1.1", app="limited:settings", app_path=folder, concurrency=50)
    worker.wait_for(e.HostBegan)
    producer = hosts.producer(queue="default")
    bodies = {"bodies": [QUICK]}
    sent = 0
    while worker.process.poll() is None and sent < 20_000:
        producer.tell("enqueue", function="saq_chaos_body", key=f"k{sent}", kwargs=bodies)
        sent += 1
    assert worker.process.wait(3 * SECONDS_MAX) == 4
    assert "saq-chaos: cannot record any more: File too large" in worker.log
    assert worker.of(e.HostEnded) == []


@pytest.mark.parametrize("hosts", ["stock@0.22.4", "stock@0.26.4"], indirect=True)
@pytest.mark.parametrize("role", ["worker", "producer"])
def test_a_process_that_has_said_it_is_up_ends_in_good_order_however_early_it_is_told(
    hosts: Hosts, role: str
) -> None:
    host = hosts.start(f"{role}-1.1", role=role)
    while not host.of(e.HostBegan):  # no pause: the signal must come as early as it can
        assert host.process.poll() is None
    assert host.end(signal.SIGTERM) == 0
    assert host.seen[0] == host.of(e.HostBegan)[0]
    assert host.seen[-1] == host.of(e.HostEnded)[0]
