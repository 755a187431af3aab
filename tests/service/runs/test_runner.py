"""The runner process by itself: its request on stdin, its messages on stdout, and its ends."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from service.runs import messages
from service.runs.messages import Answered, Ended, Said, Start
from service.runs.paths import without_paths
from service.runs.runner import repeat_of
from tests.service.runs.running import LIVE, SIM, nothing_is_left

Runner = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def runner() -> Iterator[Runner]:
    """Starts runners, with a limit to the size of their files if one is given."""
    started: list[subprocess.Popen[bytes]] = []

    def start(file_bytes: int | None = None) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "service.runs.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        if file_bytes is not None:
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        return process

    yield start
    for process in started:
        process.kill()
        process.wait(60)
        for stream in (process.stdin, process.stdout):
            if stream is not None and not stream.closed:
                stream.close()


def ask(process: subprocess.Popen[bytes], plan: str, folder: Path, **changes: Any) -> None:
    """Give it its request."""
    given = {"run": "the-run", "plan": plan, "runs_dir": str(folder), "world": "sim", **changes}
    write(process, messages.line(Start(**given)))


def write(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()


def out(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None
    return process.stdout


def last(process: subprocess.Popen[bytes]) -> Ended:
    """Its last message; every line before it must be a message as well."""
    said = [messages.read_message(line) for line in out(process)]
    assert isinstance(said[-1], Ended), said[-1:]
    assert not any(isinstance(one, Ended) for one in said[:-1])
    return said[-1]


@pytest.mark.usefixtures("simulated")
def test_it_makes_the_run_and_its_exit_code_is_that_of_the_run(
    runner: Runner, tmp_path: Path
) -> None:
    process = runner()
    ask(process, SIM, tmp_path)
    write(process, b"nonsense\n")
    write(process, messages.line(messages.Inject(number=5, fault={"fault": "sweep"})))
    said = [messages.read_message(line) for line in out(process)]
    end = said[-1]
    assert isinstance(end, Ended)
    assert (end.exit_code, end.ended, end.error) == (0, "finished", "")
    assert process.wait(60) == 0
    notes = [one.data["text"] for one in said if isinstance(one, Said) and one.type == "note"]
    assert any(note.startswith("not a command: ") for note in notes)
    (answer,) = [one for one in said if isinstance(one, Answered)]
    assert (answer.number, answer.variants) == (5, ())
    assert answer.error.startswith(("nothing can be injected", "sweep cannot be injected"))
    verdict = json.loads((tmp_path / "the-run" / "verdict.json").read_text("utf-8"))
    assert verdict["repeat"] == "saq-chaos soak plan.yaml --world sim"
    handed_out = ("verdict.json", "report.html", "junit.xml", "plan.yaml", "history.jsonl")
    naming = [
        name
        for name in handed_out
        if str(tmp_path) in (tmp_path / "the-run" / name).read_text("utf-8")
    ]
    assert naming == []


@pytest.mark.usefixtures("built")
def test_the_end_of_its_stdin_ends_the_run_as_an_interruption(
    runner: Runner, tmp_path: Path
) -> None:
    process = runner()
    ask(process, LIVE.replace("2s", "60s"), tmp_path, world="live", run="eof-run")
    for line in out(process):
        message = messages.read_message(line)
        if isinstance(message, Said) and message.data.get("phase") == "safety":
            break
    assert process.stdin is not None
    process.stdin.close()
    end = last(process)
    assert (end.exit_code, end.ended) == (130, "interrupted")
    assert end.verdict is not None
    nothing_is_left("eof-run")


@pytest.mark.usefixtures("simulated")
def test_a_file_that_cannot_grow_ends_the_run_as_an_error_with_the_reason(
    runner: Runner, tmp_path: Path
) -> None:
    process = runner(file_bytes=20_000)
    ask(process, SIM, tmp_path)
    end = last(process)
    assert (end.exit_code, end.ended) == (4, "failed")
    assert "File too large" in end.error
    assert process.wait(60) == 4


def test_what_is_no_request_is_said_with_exit_code_2(runner: Runner) -> None:
    process = runner()
    write(process, b"{}\n")
    end = last(process)
    assert (end.exit_code, end.ended) == (2, "failed")
    assert end.error == "no request: Object missing required field `run`"


def test_a_plan_that_is_wrong_is_said_with_exit_code_2(runner: Runner, tmp_path: Path) -> None:
    process = runner()
    ask(process, "plan: x", tmp_path)
    end = last(process)
    assert end.exit_code == 2
    assert "duration" in end.error


def test_a_run_is_repeated_with_what_the_service_hands_out_and_nothing_of_the_server() -> None:
    start = Start(
        run="r", plan="", runs_dir="/srv/data/runs", world="live", app="shop.main:settings",
        python="/srv/venv/bin/python", redis_url="redis://ann:secret@10.0.0.7/0",
    )  # fmt: skip
    assert repeat_of(start) == (
        'saq-chaos soak plan.yaml --redis-url "$SAQCHAOS_REDIS_URL" --allow-external'
    )


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("cannot read '/srv/data/runs/r/plan.yaml': gone", "cannot read '…/plan.yaml': gone"),
        ('File "/opt/venv/lib/python3.11/x.py", line 3', 'File "…/x.py", line 3'),
        ("built in /var/cache/saq-chaos/environments/", "built in …/"),
        ("http://127.0.0.1:8080/v1/runs stays, 5/s and 1/2/3 too", None),
        ("redis://10.0.0.7:6379/0 does not answer", None),
    ],
)
def test_of_a_servers_path_its_last_part_is_told(text: str, plain: str | None) -> None:
    assert without_paths(text) == (plain or text)
