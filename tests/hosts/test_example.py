"""The example app runs as its readme says, and its plan fits it."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import msgspec
import redis

from chaos import event as e
from chaos import plan_file
from chaos.plan import App
from chaos.seed import Seed
from chaos.workloads.app import AppWorkload
from tests.conftest import RunningServer
from tests.hosts.processes import Hosts

FOLDER = Path(__file__).parents[2] / "examples" / "chat_sender"
NOTHING = {"concurrency": None, "timers": None, "grace_s": None, "deadline_s": None}


def test_each_call_of_its_plan_is_sent_by_the_app(
    hosts: Hosts, redis_server: RunningServer
) -> None:
    plan = plan_file.load(FOLDER / "plan.yaml")
    assert isinstance(plan.workload, App)
    app = {"app": plan.workload.app, "app_path": str(FOLDER), **NOTHING}
    worker, producer = hosts.worker(**app), hosts.producer(**app)
    assert worker.of(e.HostBegan)[0].concurrency == 10
    for place, call in enumerate(plan.workload.calls, 1):
        only = plan.workload.model_copy(update={"calls": (call,)})
        _, command = next(iter(AppWorkload(only, jobs_max=1).commands(Seed(1), 60_000_000)))
        asked = msgspec.structs.asdict(command)
        kwargs = {**command.kwargs, "chat": "chat-1"}  # a phone that is on
        asked.update(key=f"call-{place}", kwargs=kwargs, scheduled_in_us=0)
        del asked["call"]
        assert producer.ask("enqueue", **asked) == ""
        worker.wait_for(e.ProcessEnded, place)
        with redis.Redis.from_url(redis_server.url) as client:
            text: Any = client.get(f"saq:job:chat:call-{place}")
        record = json.loads(text)
        assert (record["status"], record["result"]) == ("complete", len(kwargs["parts"]))
    assert worker.end(signal.SIGTERM) == 0
    assert worker.of(e.HostEnded)[0].complete == len(plan.workload.calls)


def test_a_cancelled_message_says_goodbye_and_is_told_to_operations(hosts: Hosts) -> None:
    app = {"app": "chat_sender.tasks:settings", "app_path": str(FOLDER), **NOTHING}
    worker, producer = hosts.worker(**app), hosts.producer(**app)
    kwargs = {"chat": "campaign-9", "parts": ["only today"]}
    options = {"timeout": 1, "retries": 1}
    call = {"function": "send_message", "key": "x", "kwargs": kwargs, "options": options}
    assert producer.ask("enqueue", **call) == ""
    (ended,) = worker.wait_for(e.BodyEnded)
    assert ended.outcome == "cancelled"
    worker.wait_for(e.ProcessEnded)
    assert worker.end(signal.SIGTERM) == 0
    assert "message x not sent: TimeoutError" in worker.log
