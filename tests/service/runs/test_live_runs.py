"""Live runs of the service: told to inject and to stop, killed, hung; nothing of them is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from chaos.event import FaultHealed, FaultInjected
from chaos.history import History
from chaos.metrics import Snapshot
from service.errors import Conflict, Invalid, NotAllowed
from service.models import FaultRequest, RunRequest
from service.ports import Caller
from service.settings import Limits
from tests.service.runs.running import (
    ANN,
    API,
    Managing,
    ended,
    followed,
    live,
    nothing_is_left,
    processes_of,
    sim,
    until,
)

pytestmark = pytest.mark.usefixtures("built")


def begun(event: Any) -> bool:
    """Whether a variant has entered SAFETY."""
    return bool(event.data.phase == "safety")


def runner_of(run: str) -> int:
    """The pid of the process that leads a run: the parent of all that name it."""
    lines = Path("/proc").glob("[0-9]*/cmdline")
    for path in sorted(lines):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"service.runs.runner" in words and str(os.getpid()).encode() not in words:
            parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid():
                return int(path.parent.name)
    pytest.fail(f"no runner of {run}; there are: {processes_of(run)}")


class Metrics:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def begin(self, run: str, plan: str, world: str, variants: tuple[str, ...]) -> None:
        self.told.append(("begin", (plan, world, variants)))

    def update(self, run: str, taken: Snapshot) -> None:
        self.told.append(("update", len(taken.families)))

    def end(self, run: str) -> None:
        self.told.append(("end", run))


async def test_a_fault_from_outside_is_injected_healed_recorded_and_told(
    manager: Managing,
) -> None:
    metrics = Metrics()
    runs = await manager(metrics=metrics)
    run = runs.submit(live(duration="8s"), API)
    await until(runs, run.id, begun)
    wanted = FaultRequest(fault={"fault": "kill", "replace_after": "100ms"})
    accepted = await runs.inject(run.id, wanted, ANN)
    assert (accepted.fault, accepted.variants) == ("kill", ["stock@0.26.3"])
    told = [event.data for event in await followed(runs, run.id) if event.type == "fault"]
    assert [(one.fault, one.number, one.change, one.by) for one in told] == [
        ("kill", 1, "injected", "ann"),
        ("kill", 1, "healed", "ann"),
    ]
    whole = runs.get(run.id)
    assert whole.outcome == "passed", (whole.error, whole.gate_answer)
    history = History.read(runs.folder(run.id) / "history.jsonl")
    assert [one.by for one in history if isinstance(one, FaultInjected)] == ["ann"]
    assert [one.error for one in history if isinstance(one, FaultHealed)] == [""]
    assert whole.verdict is not None
    assert whole.verdict[0].counters["kills"] == 1.0
    assert metrics.told[0] == ("begin", ("live", "live", ("stock@0.26.3",)))
    assert [what for what, _ in metrics.told].count("update") >= 2
    assert metrics.told[-1] == ("end", run.id)
    nothing_is_left(run.id)


REFUSED: tuple[tuple[dict[str, Any], list[str] | None, type[Exception], str], ...] = (
    ({"fault": "nonsense"}, None, Invalid, "'nonsense' is no fault: accepted are sweep, "),
    ({"fault": "sweep", "every": "1s"}, None, Invalid, "every says nothing: leave it out"),
    ({"fault": "pause"}, None, Invalid, "`for` is missing: how long it stands still"),
    ({"fault": "sweep"}, ["stock@9"], Invalid, "no variant of this run"),
    ({"fault": "pause", "for": "9h"}, None, NotAllowed, "a fault of 9h"),
    ({"fault": "cut"}, None, Conflict, "the live world cannot do cut"),
    ({"fault": "redis_restart", "data": "lost"}, None, Conflict, "loses jobs on purpose"),
)


async def test_a_fault_that_cannot_be_is_refused_with_the_reason(manager: Managing) -> None:
    runs = await manager()
    run = runs.submit(live(duration="60s"), API)
    await until(runs, run.id, begun)
    for fault, variants, error, text in REFUSED:
        with pytest.raises(error, match=text):
            await runs.inject(run.id, FaultRequest(fault=fault, variants=variants), ANN)


@pytest.mark.usefixtures("simulated")
async def test_nothing_is_injected_into_a_run_that_waits_has_ended_or_is_simulated(
    manager: Managing,
) -> None:
    runs = await manager()
    going, waiting = runs.submit(live(duration="30s"), API), runs.submit(sim(), API)
    wanted = FaultRequest(fault={"fault": "sweep"})
    with pytest.raises(Conflict, match="does not go on now: it is queued"):
        await runs.inject(waiting.id, wanted, ANN)
    await until(runs, going.id, begun)
    await runs.stop(going.id, ANN)
    with pytest.raises(Conflict, match="or is ending"):
        await runs.inject(going.id, wanted, ANN)
    await ended(runs, going.id)
    with pytest.raises(Conflict, match="does not go on now: it is ended"):
        await runs.inject(going.id, wanted, ANN)


async def test_a_run_that_is_stopped_heals_and_its_part_is_judged(manager: Managing) -> None:
    runs = await manager()
    run = runs.submit(live(duration="60s"), API)
    await until(runs, run.id, begun)
    wanted = FaultRequest(fault={"fault": "pause", "for": "50s"})
    await runs.inject(run.id, wanted, ANN)
    stopped = await runs.stop(run.id, Caller("ben", "operator"))
    assert stopped.state == "running"
    whole = await ended(runs, run.id)
    assert (whole.outcome, whole.exit_code) == ("stopped", 130), whole.error
    assert whole.verdict is not None
    events = await followed(runs, run.id)
    assert [event.data.change for event in events if event.type == "fault"] == [
        "injected",
        "healed",
    ]
    assert events[-1].data.text == "ben stopped it"
    assert json.loads((runs.folder(run.id) / "verdict.json").read_text())["ended"] == "interrupted"
    nothing_is_left(run.id)


async def test_a_runner_that_is_killed_is_an_error_its_part_is_judged_and_nothing_is_left(
    manager: Managing,
) -> None:
    runs = await manager()
    run = runs.submit(live(duration="60s"), API)
    await until(runs, run.id, lambda event: bool(event.data.variants) and _attempts(event) > 3)
    os.kill(runner_of(run.id), signal.SIGKILL)
    whole = await ended(runs, run.id)
    assert (whole.outcome, whole.exit_code) == ("error", 4)
    assert whole.error == "its process ended without a word (killed by signal 9)"
    nothing_is_left(run.id)
    async with asyncio.timeout(60):
        while runs.get(run.id).verdict is None:
            await asyncio.sleep(0.05)
    judged = runs.get(run.id)
    assert (judged.outcome, judged.state) == ("error", "ended")
    assert judged.verdict is not None
    assert judged.verdict[0].counters["attempts"] > 3
    assert (runs.folder(run.id) / "report.html").is_file()


def _attempts(event: Any) -> float:
    return float(event.data.variants[0].counters.get("attempts", 0))


async def test_a_run_that_takes_too_long_is_stopped_and_one_that_hangs_is_killed(
    manager: Managing,
) -> None:
    runs = await manager(limits=Limits(run_s=12), stop_s=1.0)
    run = runs.submit(live(duration="2s"), API)
    await until(runs, run.id, begun)
    os.kill(runner_of(run.id), signal.SIGSTOP)
    whole = await ended(runs, run.id)
    assert (whole.outcome, whole.exit_code) == ("error", 4)
    assert whole.error == "its process was killed: it did not end when it was told to stop"
    states = [event.data.text for event in await followed(runs, run.id) if event.type == "state"]
    assert states[-1] == "it took longer than 12 s (SAQCHAOS_LIMITS__RUN_S)"
    nothing_is_left(run.id)


async def test_a_service_that_is_closed_ends_its_run_in_good_order(manager: Managing) -> None:
    runs = await manager()
    run = runs.submit(live(duration="60s"), API)
    await until(runs, run.id, begun)
    await runs.close()
    nothing_is_left(run.id, seconds=0.5)
    later = await manager()
    whole = later.get(run.id)
    assert (whole.state, whole.outcome, whole.exit_code) == ("ended", "interrupted", 130)
    assert whole.verdict is not None


async def test_a_run_on_a_listed_redis_keeps_its_password_out_of_every_file(
    manager: Managing, redis_server: Any
) -> None:
    with socket.create_connection(("127.0.0.1", redis_server.port)) as connection:
        connection.sendall(b"CONFIG SET requirepass hunter2\r\n")
        assert connection.recv(64) == b"+OK\r\n"
    url = f"redis://:hunter2@127.0.0.1:{redis_server.port}/0"
    runs = await manager(redis={"staging": {"url": url}})
    run = runs.submit(RunRequest(plan="live", redis="staging"), API)
    whole = await ended(runs, run.id)
    assert whole.outcome == "passed", (whole.error, whole.gate_answer)
    folders = [runs.folder(run.id), runs.folder(run.id).parents[1]]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert [path.name for path in files if b"hunter2" in path.read_bytes()] == []
