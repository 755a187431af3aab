"""Joined records: a reader sees single events, whichever way they were written.

That the probe records the same with and without joining is `test_probe.py`'s; here it is the file.
"""

from __future__ import annotations

import collections
import shutil
from pathlib import Path

import msgspec
import pytest

from chaos import event as e
from chaos.tail import EventFile
from chaos.worker.events import Kind, Op, Outcome
from chaos.worker.joined import PATH
from chaos.worker.recorder import Recorder
from tests.worker.conftest import Scenarios

HOST = "stock@0.26.4/worker-1.1"
ATTEMPT = f"{HOST}#7"
STAMP = 1_796_000_000_000
LIFE = [
    "attempt-began",
    "call-invoked",
    "call-returned",
    "slot-set",
    "body-began",
    "body-ended",
    "call-invoked",
    "call-returned",
    "slot-removed",
    "process-ended",
]


def read(path: Path) -> list[e.Event]:
    """The events of a file, without their stamps."""
    return [msgspec.structs.replace(event, t_us=0) for event in EventFile(path, HOST, 0).read()]


def test_four_joined_records_read_as_the_ten_events_of_an_attempt(tmp_path: Path) -> None:
    joined = Recorder(str(tmp_path / "joined"))
    joined.record(Kind.JOB_STARTED, "k", 7, 20, STAMP, f"hold\x1fdigest\x1f{1 << 16 | 3}")
    joined.record(Kind.JOB_RUNNING, "k", 7, 20, STAMP)
    joined.record(Kind.JOB_FINISHING, "k", 7, 21, STAMP)
    joined.record(Kind.JOB_FINISHED, "k", 7, 21, STAMP)
    joined.close()

    plain = Recorder(str(tmp_path / "plain"))
    plain.record(Kind.ATTEMPT_BEGAN, "k", 7, 1 << 16 | 3, STAMP, "hold\x1fdigest")
    plain.record(Kind.CALL_INVOKED, "k", 7, 20, STAMP, "active", Op.UPDATE)
    plain.record(Kind.CALL_RETURNED, "k", 7, 20, STAMP, "", Op.UPDATE | Outcome.OK << 4)
    plain.record(Kind.SLOT_SET, "k", 7)
    plain.record(Kind.BODY_BEGAN, "k", 7)
    plain.record(Kind.BODY_ENDED, "k", 7, code=Outcome.OK)
    plain.record(Kind.CALL_INVOKED, "k", 7, 21, STAMP, "complete", Op.FINISH)
    plain.record(Kind.CALL_RETURNED, "k", 7, 21, STAMP, "", Op.FINISH | Outcome.OK << 4)
    plain.record(Kind.SLOT_REMOVED, "k", 7, number=7)
    plain.record(Kind.PROCESS_ENDED, "k", 7, code=Outcome.OK)
    plain.close()

    events = read(tmp_path / "joined")
    assert events == read(tmp_path / "plain")
    assert events[0] == e.AttemptBegan(
        host=HOST,
        job="k",
        attempt=ATTEMPT,
        enqueue=STAMP,
        tries=1,
        retries=3,
        function="hold",
        digest="digest",
    )
    assert events[-2] == e.SlotRemoved(host=HOST, job="k", attempt=ATTEMPT, by=ATTEMPT)


def test_every_step_of_the_path_is_written_by_the_record_that_reaches_out_next() -> None:
    assert [(Kind(step.kind).name, Kind(step.writes).name) for step in PATH if step.writes] == [
        ("CALL_INVOKED", "JOB_STARTED"),
        ("BODY_BEGAN", "JOB_RUNNING"),
        ("CALL_INVOKED", "JOB_FINISHING"),
        ("PROCESS_ENDED", "JOB_FINISHED"),
    ]
    assert [Kind(step.kind).name.lower().replace("_", "-") for step in PATH] == LIFE[1:]


@pytest.mark.parametrize("variant", ["stock@0.26.4", "guarded@0.26.3"])
def test_the_recorder_holds_what_the_probe_saw_joined_only_without_hooks(
    scenarios: Scenarios, variant: str
) -> None:
    paths = {name: Path(path) for name, path in scenarios("recorded", variant).items()}
    tags = {name: _tags(read(path)) for name, path in paths.items()}
    sizes = {name: path.stat().st_size for name, path in paths.items()}
    shutil.rmtree(paths["ordinary"].parent)

    assert tags["ordinary"]["#3"] == LIFE
    assert tags["ordinary"] == tags["with a hook"]
    assert sizes["ordinary"] < sizes["with a hook"]


def _tags(events: list[e.Event]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = collections.defaultdict(list)
    for event in events:
        attempt = getattr(event, "attempt", "")
        if attempt:
            found[attempt.removeprefix(HOST)].append(str(type(event).__struct_config__.tag))
    return dict(found)
