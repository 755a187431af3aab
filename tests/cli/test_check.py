"""`check`: a history by hand, a run directory, a crashed run, and every exit code of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chaos.cli.main import run
from chaos.worker.events import Kind, Op, Outcome
from chaos.worker.recorder import Recorder

WORKER = "stock@0.26.3/worker-1.1"
PRODUCER = "stock@0.26.3/producer-1.1"


def event(name: str, t_us: int, host: str = WORKER, **fields: Any) -> dict[str, Any]:
    return {"event": name, "t_us": t_us, "host": host, **fields}


def healthy() -> list[dict[str, Any]]:
    """One job: enqueued, dequeued, run, finished."""
    job: dict[str, Any] = {"job": "k1", "enqueue": 1000}
    attempt: dict[str, Any] = {**job, "attempt": f"{WORKER}#1"}
    body: dict[str, Any] = {"job": "k1", "attempt": f"{WORKER}#1"}
    return [
        event("host-began", 0, PRODUCER, role="producer"),
        event("host-began", 0, role="worker", saq="0.26.3", concurrency=2),
        event("call-invoked", 10, PRODUCER, op="enqueue", call=1, **job, detail="f\x1fd"),
        event("call-returned", 20, PRODUCER, op="enqueue", call=1, **job, detail="f\x1fd"),
        event("attempt-began", 30, **attempt, function="f", digest="d"),
        event("slot-set", 40, **body),
        event("body-began", 50, **body),
        event("body-ended", 60, **body),
        event("call-invoked", 70, op="finish", call=1, **attempt, status="complete"),
        event("call-returned", 80, op="finish", call=1, **attempt),
        event("slot-removed", 90, **body, by=f"{WORKER}#1"),
        event("process-ended", 95, **body),
        event("host-ended", 100, complete=1),
    ]


def broken() -> list[dict[str, Any]]:
    """The same, and then saq's own code raises a KeyError."""
    fields: dict[str, Any] = {"job": "k1", "attempt": f"{WORKER}#1"}
    error: dict[str, Any] = {
        "origin": "internal",
        "where": "process",
        "error": "KeyError",
        "message": "'k1'",
    }
    return [*healthy()[:-1], event("error-raised", 96, **error, **fields)]


def write(path: Path, events: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in events))
    return path


def plan(path: Path, *promises: str) -> Path:
    listed = ", ".join(promises)
    path.write_text(
        f"plan: mine\nduration: 1s\nworkload: {{kind: same_key}}\npromises: [{listed}]\n"
    )
    return path


def test_a_sound_history_by_hand_exits_0_by_a_plan_that_it_put_at_risk(tmp_path: Path) -> None:
    history = write(tmp_path / "h.jsonl", healthy())
    promises = plan(tmp_path / "p.yaml", "no-internal-errors", "bounded-attempts")
    assert run(["check", str(history), "--plan", str(promises)]) == 0


def test_a_broken_history_by_hand_exits_1_and_shows_the_event(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = write(tmp_path / "h.jsonl", broken())
    assert run(["check", str(history)]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("FAILED: the strict gate failed\nplan every-promise · 13 events\n")
    assert ["no-internal-errors", "INVALID", "1×"] in [line.split() for line in shown.splitlines()]
    assert (
        "      #13 at 0.000 s stock@0.26.3/worker-1.1 error-raised origin=internal where=process "
        "error=KeyError message='k1' job=k1 attempt=#1\n" in shown
    )
    assert f"repeat it:     saq-chaos check {history}\n" in shown


def test_a_history_that_met_no_danger_exits_3(tmp_path: Path) -> None:
    history = write(tmp_path / "h.jsonl", healthy())
    assert run(["check", str(history)]) == 3


def test_json_is_the_verdict_and_nothing_else_on_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = write(tmp_path / "h.jsonl", broken())
    assert run(["check", str(history), "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["gate"]["outcome"] == "INVALID"
    assert verdict["events"] == 13
    assert verdict["variants"][0]["variant"] == "stock@0.26.3"


def test_a_summary_is_appended_not_overwritten(tmp_path: Path) -> None:
    history = write(tmp_path / "h.jsonl", broken())
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    run(["check", str(history), "--summary", str(summary)])
    assert summary.read_text("utf-8").startswith("before\n### ❌ saq-chaos: FAILED")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}\n", "h.jsonl:1: no event"),
        ('{"event": "host-stopping", "host": "a/b"}\nnonsense\n', "h.jsonl:2: no event"),
        ('{"event": "host-stoping"}\n', "h.jsonl:1: no event"),
        ("", "the history names no variant"),
    ],
)
def test_an_unreadable_history_exits_2_and_names_the_line(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "h.jsonl").write_text(text)
    assert run(["check", str(tmp_path / "h.jsonl")]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_a_history_exits_2_and_says_what_was_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(tmp_path)]) == 2
    assert "holds no history: neither history.jsonl nor hosts/*.events" in capsys.readouterr().err


def test_a_baseline_that_is_not_in_the_history_exits_2_and_names_the_closest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = write(tmp_path / "h.jsonl", healthy())
    assert run(["check", str(history), "--baseline", "stock@0.26.4"]) == 2
    assert "did you mean stock@0.26.3?" in capsys.readouterr().err


def test_a_variant_is_judged_against_another_one_of_the_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = [json.loads(json.dumps(one).replace("stock@", "guarded@")) for one in healthy()]
    history = write(tmp_path / "h.jsonl", sorted(broken() + other, key=lambda one: one["t_us"]))
    promises = plan(tmp_path / "p.yaml", "no-internal-errors")
    command = ["check", str(history), "--plan", str(promises), "--baseline"]
    assert run([*command, "stock@0.26.3"]) == 0
    assert run([*command, "guarded@0.26.3"]) == 1
    assert "on guarded@0.26.3 it held" in capsys.readouterr().out


def test_a_crashed_run_is_judged_from_what_its_processes_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _crashed_run(tmp_path)
    assert run(["check", str(folder)]) == 0
    shown = capsys.readouterr()
    assert "has no history.jsonl: merged 7 recorded events" in shown.err
    assert "plan mine" in shown.out
    assert sorted(path.name for path in folder.iterdir()) == ["hosts", "plan.yaml"]


def test_write_leaves_the_reports_of_a_crashed_run(tmp_path: Path) -> None:
    folder = _crashed_run(tmp_path)
    assert run(["check", str(folder), "--write"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "history.jsonl",
        "hosts",
        "junit.xml",
        "plan.yaml",
        "report.html",
        "summary.md",
        "verdict.json",
    ]
    assert run(["check", str(folder / "history.jsonl")]) == 0


def test_write_without_a_run_directory_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = write(tmp_path / "h.jsonl", healthy())
    assert run(["check", str(history), "--write"]) == 2
    assert "--write needs a run directory" in capsys.readouterr().err


def _crashed_run(folder: Path) -> Path:
    """A run directory in which one worker recorded one attempt, and nothing was closed."""
    hosts = folder / "hosts" / "stock@0.26.3"
    hosts.mkdir(parents=True)
    plan(folder / "plan.yaml", "no-internal-errors")
    recorder = Recorder(str(hosts / "worker-1.1.events"))
    recorder.record_fields(Kind.HOST_BEGAN, role="worker", saq="0.26.3")
    recorder.record(Kind.ATTEMPT_BEGAN, "k1", 1, number=1000, text="f\x1fd")
    recorder.record(Kind.SLOT_SET, "k1", 1)
    recorder.record(Kind.BODY_BEGAN, "k1", 1)
    recorder.record(Kind.BODY_ENDED, "k1", 1, code=Outcome.OK)
    recorder.record(
        Kind.CALL_INVOKED, "k1", 1, call=1, number=1000, text="complete\x1f", code=Op.FINISH
    )
    recorder.record(Kind.PROCESS_ENDED, "k1", 1, code=Outcome.OK)
    return folder
