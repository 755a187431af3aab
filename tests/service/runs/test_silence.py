"""A runner that stands still: it is ended, said to have stood still, and the queue goes on."""

from __future__ import annotations

import os
import signal

import pytest

from service.runs import messages
from service.runs.carrying import _is_done
from tests.service.runs.running import API, Managing, ended, live, nothing_is_left, sim, until


@pytest.mark.usefixtures("built", "simulated")
async def test_a_runner_that_stands_still_is_ended_and_the_next_run_has_its_turn(
    manager: Managing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.runs.carrying.SILENT_SECONDS", 5.0)
    runs = await manager()
    frozen, waiting = runs.submit(live(), API), runs.submit(sim(), API)
    await until(runs, frozen.id, lambda event: event.type == "tick")
    current = runs._queue.current
    assert current is not None
    assert current._process is not None
    os.kill(current._process.pid, signal.SIGSTOP)
    whole = await ended(runs, frozen.id)
    assert (whole.outcome, whole.exit_code) == ("error", 4)
    assert whole.error is not None
    assert whole.error.startswith("its process was killed: the runner stood still for 5 s")
    nothing_is_left(frozen.id)
    assert (await ended(runs, waiting.id)).outcome == "passed"


@pytest.mark.parametrize(
    ("kind", "data", "done"),
    [
        ("phase", {"phase": "done"}, True),
        ("phase", {"phase": "drain"}, False),
        ("tick", {"variants": [{"phase": "done"}, {"phase": "done"}]}, True),
        ("tick", {"variants": [{"phase": "done"}, {"phase": "waiting"}]}, False),
        ("note", {"text": "done"}, False),
    ],
)
def test_a_run_may_be_silent_once_its_variants_are_done(
    kind: str, data: dict[str, object], done: bool
) -> None:
    assert _is_done(messages.Said(type=kind, data=data)) is done
