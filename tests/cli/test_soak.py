"""Real soaks through the installed script: short, on a real server, with real workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chaos.environments import Environment
from chaos.history import History
from chaos.reports import verdict_json

SCRIPT = Path(sys.executable).parent / "saq-chaos"
VARIANT = "stock@0.26.4"
PLAN = """
plan: short
duration: {duration}
drain: 10s
variants: [{variant}]
workers: {{count: 2, concurrency: 4}}
workload: {{kind: same_key, keys: 0, rate: 20/s}}
faults:
  - {{fault: rolling_restart, at: [1s]}}
promises: [no-internal-errors, no-phantom-runs]
exposures: {{attempts: {attempts}}}
"""
# The whole program, but the signal arrives exactly when judging begins.
INTERRUPTED_JUDGE = """
import os, sys
from chaos import judge
from chaos.cli.main import main
def begins(*_): os.kill(os.getpid(), int(number))
judge.judge = begins
number, sys.argv = sys.argv[1], ["saq-chaos", "soak", "./short.yaml"]
main()
"""

pytestmark = pytest.mark.usefixtures("built")


@pytest.fixture(scope="session")
def built(environment: Callable[[str], Environment]) -> Environment:
    """The environment of the variant, so that no soak here has to build it."""
    return environment(VARIANT)


@pytest.fixture
def soaking(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `saq-chaos soak` in an empty folder; what still runs at the end is ended."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, duration: str = "3s", attempts: int = 10) -> Any:
        text = PLAN.format(duration=duration, variant=VARIANT, attempts=attempts)
        (tmp_path / "short.yaml").write_text(text)
        process = subprocess.Popen(
            [SCRIPT, "soak", "./short.yaml", *arguments],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            umask=0,  # whatever the user's says, a run is nobody else's to read
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)


def latest(folder: Path) -> Path:
    return (folder / "runs" / "latest").resolve()


def wait_for_line(process: subprocess.Popen[str], text: str) -> None:
    """Read stderr up to the line with `text` in it; fail with what was said instead."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if text in line:
            return
    pytest.fail(f"{text!r} was never said:\n{''.join(said)}")


def test_a_soak_ends_with_a_verdict_on_stdout_and_its_whole_directory(
    soaking: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = soaking("--json")
    out, err = process.communicate(timeout=100)
    assert (process.returncode, f"{VARIANT}: safety" in err) == (0, True), err
    verdict = json.loads(out)
    run = latest(tmp_path)
    assert verdict["run"] == run.name
    assert verdict["repeat"] == f"saq-chaos soak runs/{run.name}/plan.yaml"
    assert verdict_json.render(verdict_json.read(run / "verdict.json")) == out
    assert verdict["history_digest"] == History.read(run / "history.jsonl").digest()
    assert (run.stat().st_mode & 0o777) == 0o700
    readable = [path for path in sorted(run.rglob("*")) if path.stat().st_mode & 0o077]
    assert readable == []
    assert sorted(path.name for path in run.iterdir()) == [
        "history.jsonl",
        "hosts",
        "junit.xml",
        "metrics.prom",
        "plan.yaml",
        "report.html",
        "summary.md",
        "verdict.json",
    ]
    _judged_again_it_is_the_same(run)
    _rebuilt_from_the_recorders_it_is_the_same(run, verdict)


def _judged_again_it_is_the_same(run: Path) -> None:
    done = subprocess.run(
        [SCRIPT, "check", run, "--json"], capture_output=True, text=True, check=True
    )
    stored, again = verdict_json.read(run / "verdict.json"), json.loads(done.stdout)
    assert again["history_digest"] == stored.history_digest
    assert [one["outcome"] for one in again["variants"]] == [
        str(one.outcome) for one in stored.variants
    ]


def _rebuilt_from_the_recorders_it_is_the_same(run: Path, verdict: dict[str, Any]) -> None:
    (run / "history.jsonl").unlink()
    done = subprocess.run(
        [SCRIPT, "check", run, "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["events"] == verdict["events"]


def test_a_run_that_met_too_little_danger_exits_3_and_says_so(
    soaking: Callable[..., subprocess.Popen[str]],
) -> None:
    process = soaking("--quiet", duration="2s", attempts=100_000)
    out, err = process.communicate(timeout=100)
    assert (process.returncode, err) == (3, "")
    assert out.startswith("UNKNOWN: the strict gate cannot say\n")
    assert "too few, the plan wants 100000" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_heals_keeps_a_partial_report_and_exits_130(
    number: signal.Signals, soaking: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = soaking(duration="60s")
    wait_for_line(process, f"{VARIANT}: safety")
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out.startswith("INTERRUPTED: what was seen so far is judged; ")
    run = latest(tmp_path)
    assert verdict_json.read(run / "verdict.json").ended == "interrupted"
    assert "INTERRUPTED" in (run / "report.html").read_text("utf-8")
    _nothing_is_left(run)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_it_is_judged_exits_130_and_says_how_to_judge_it(
    number: signal.Signals, built: Environment, tmp_path: Path
) -> None:
    (tmp_path / "short.yaml").write_text(
        PLAN.format(duration="2s", variant=VARIANT, attempts=10), "utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_JUDGE, str(int(number))],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (130, "")
    run = latest(tmp_path)
    assert done.stderr.splitlines()[-3:] == [
        f"not judged yet; to do that: saq-chaos check runs/{run.name} --write",
        "",
        "saq-chaos: interrupted",
    ]


def test_a_controller_that_is_killed_leaves_no_process_and_a_run_that_check_can_judge(
    soaking: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = soaking(duration="60s")
    wait_for_line(process, f"{VARIANT}: safety")
    process.kill()
    process.communicate(timeout=60)
    run = latest(tmp_path)
    _nothing_is_left(run)
    done = subprocess.run(
        [SCRIPT, "check", run, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    assert "has no history.jsonl: merged" in done.stderr
    assert json.loads(done.stdout)["ended"] == "unfinished"


def test_a_taken_metrics_port_is_one_message_and_exit_4(
    soaking: Callable[..., subprocess.Popen[str]], redis_server: Any, tmp_path: Path
) -> None:
    process = soaking("--metrics-port", str(redis_server.port))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (4, "")
    assert str(redis_server.port) in err
    assert "Traceback" not in err
    assert not (tmp_path / "runs").exists()


def test_an_unreachable_redis_is_one_message_without_its_password_and_exit_4(
    soaking: Callable[..., subprocess.Popen[str]],
) -> None:
    url = "redis://:hunter2@127.0.0.1:1/0"
    process = soaking("--redis-url", url, "--allow-external", "--quiet")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert "127.0.0.1:1" in err
    assert "Traceback" not in err
    assert "hunter2" not in out + err


def test_a_missing_server_binary_is_one_message_and_exit_4(
    soaking: Callable[..., subprocess.Popen[str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("SAQCHAOS_REDIS_SERVER", str(tmp_path / "none"))
    process = soaking("--quiet")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert out == ""
    assert err == (
        f"saq-chaos: SAQCHAOS_REDIS_SERVER={tmp_path / 'none'} is no executable file: "
        "point it to a redis-server or valkey-server binary, or unset it\n"
    )
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("url", ["nonsense", "redis://127.0.0.1:99999/0", "redis://[::1/0"])
def test_what_is_no_redis_url_is_one_message_and_exit_2(
    soaking: Callable[..., subprocess.Popen[str]], tmp_path: Path, url: str
) -> None:
    process = soaking("--redis-url", url, "--allow-external", "--quiet")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2, err
    assert out == ""
    assert err.startswith("saq-chaos: the Redis URL ")
    assert err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def _nothing_is_left(run: Path, seconds: float = 30.0) -> None:
    """No process that names this run on its command line, within `seconds`."""
    deadline = time.monotonic() + seconds
    left = _processes_of(run)
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = _processes_of(run)
    assert left == []


def _processes_of(run: Path) -> list[str]:
    found = []
    for entry in sorted(Path("/proc").iterdir()):
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().decode("utf-8", "replace")
            except OSError:
                continue
            if run.name in line:
                found.append(f"{entry.name}: {line}")
    return found
