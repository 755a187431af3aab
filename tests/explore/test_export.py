"""Exported tests: what stands in them, and that they fail where they should and pass elsewhere."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import redis

from chaos import variants
from chaos.cli.main import run
from chaos.environments import Environment
from chaos.explore import export as exporting
from chaos.explore.capture import Captured
from chaos.explore.export import Trial
from chaos.explore.failure import Failure
from chaos.explore.pytest_text import replaying_test, short_test
from chaos.explore.steps import (
    Aborted,
    Begins,
    Cancelled,
    Ends,
    Enqueued,
    Inexpressible,
    Requeued,
    Step,
    Swept,
)
from chaos.script import FixedScript
from tests.conftest import RunningServer
from tests.explore.samples import FAILURE
from tests.explore.toys import enqueue

SEED_BUG: tuple[Step, ...] = (
    Enqueued(), Begins(1), Swept(), Begins(2, pushed_out=1), Ends(1, removed=2), Ends(2),
)  # fmt: skip
WITH_A_CANCEL: tuple[Step, ...] = (
    Enqueued(), Begins(1), Aborted("swept", by_sweep=True), Cancelled(1), Requeued("swept"),
    Begins(2, pushed_out=1), Ends(1, "cancelled"), Ends(2),
)  # fmt: skip
ON_PYTEST = """
import sys
sys.path += sys.argv[2:]  # behind the environment's own packages
import pytest
import redis
raise SystemExit(pytest.main(["-q", "-p", "no:cacheprovider", sys.argv[1]]))
"""


def showing(promise: str, kind: str = "overwritten") -> Failure:
    """The stored failure with another finding."""
    finding = msgspec.structs.replace(FAILURE.finding, promise=promise, kind=kind, line="")
    return msgspec.structs.replace(FAILURE, finding=finding)


def steps_in(text: str) -> list[str]:
    """The numbered comments of a test, each as one line."""
    lines = [line.strip() for line in text.splitlines()]
    return [line[2:] for line in lines if line.startswith("# ") and line[2].isdigit()]


def on_pytest(python: Path, file: Path, redis_url: str) -> subprocess.CompletedProcess[str]:
    """Run a file with the real pytest of this process, on another environment's saq."""
    packages = [entry for entry in sys.path if entry.endswith("site-packages")]
    variables = {**os.environ, "REDIS_URL": redis_url, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [str(python), "-c", ON_PYTEST, str(file), *packages],
        capture_output=True, text=True, check=False, cwd=file.parent, timeout=60, env=variables,
    )  # fmt: skip


@pytest.fixture
def exported(own_copy: Path, tmp_path: Path, cache: None) -> Path:
    """The real KeyError as a short test, written by the command line."""
    path = tmp_path / "test_exported.py"
    assert run(["export", str(own_copy), "--pytest", str(path), "--quiet"]) == 0
    return path


# --- what stands in it ----------------------------------------------------------------------------


def test_a_short_test_tells_its_steps_in_order() -> None:
    assert steps_in(short_test(FAILURE, SEED_BUG)) == [
        "1. The job is enqueued.",
        "2. Attempt 1 registers its context, and begins.",
        "3. A sweep takes the job for stuck, aborts it and puts it back in the queue, while",
        "4. Attempt 2 registers its context, in the place of attempt 1's, and begins.",
        "5. Attempt 1 ends well; its clean-up removes attempt 2's context.",
        "6. Attempt 2 ends well.",
    ]


def test_a_short_test_says_where_it_comes_from() -> None:
    text = " ".join(short_test(FAILURE, SEED_BUG).split())
    assert "plan toy and seed 17, on stock@0.26.3 (saq 0.26.3, redis-py 6.4.0)" in text
    assert "KeyError at worker.py:374 process. Shrunk from 212 decisions to 3." in text


@pytest.mark.parametrize("steps", [SEED_BUG, WITH_A_CANCEL, (*SEED_BUG[:-1], Ends(2, "raised"))])
@pytest.mark.parametrize("promise", ["no-internal-errors", "no-orphaned-contexts", "one-at-a-time"])
def test_every_short_test_is_python_without_a_sleep(promise: str, steps: tuple[Step, ...]) -> None:
    text = short_test(showing(promise), steps)
    compile(text, "test_exported.py", "exec")
    assert "sleep(" not in text
    assert text.endswith("await queue.disconnect()\n")
    assert max(map(len, text.splitlines())) <= 100


def test_a_short_test_holds_only_what_its_steps_need() -> None:
    plain, cancel = short_test(FAILURE, SEED_BUG), short_test(FAILURE, WITH_A_CANCEL)
    assert ("CancelledError" in plain, "CancelledError" in cancel) == (False, True)
    assert ("async def sweep" in plain, "async def sweep" in cancel) == (True, False)
    assert "OwnError" not in plain + cancel
    assert "OwnError" in short_test(FAILURE, (*SEED_BUG[:-1], Ends(2, "raised")))


@pytest.mark.parametrize(
    ("variant", "line"),
    [
        ("stock@0.26.3", "from saq import Queue, Worker"),
        ("by-key@0.26.3", 'Worker = worker_class("by-key")'),
        ("my.jobs:Mine@0.26.3", "from my.jobs import Mine as Worker"),
    ],
)
def test_the_worker_is_that_of_the_variant(variant: str, line: str) -> None:
    failure = msgspec.structs.replace(FAILURE, variant=variant)
    assert line in short_test(failure, SEED_BUG).splitlines()


def test_what_a_short_test_cannot_check_is_refused_with_the_reason() -> None:
    with pytest.raises(Inexpressible, match="no short test can check no-lost-jobs"):
        short_test(showing("no-lost-jobs", "lost"), SEED_BUG)
    one = enqueue(0, "key-1")
    ahead = msgspec.structs.replace(one.command, scheduled_in_us=1_000_000)
    script = FixedScript((msgspec.structs.replace(one, command=ahead),))
    with pytest.raises(Inexpressible, match="the job is scheduled ahead"):
        short_test(msgspec.structs.replace(FAILURE, script=script), SEED_BUG)


def test_a_test_that_replays_names_its_file_and_why() -> None:
    text = replaying_test(FAILURE, "lost.json", "its attempts run on 2 workers")
    compile(text, "test_exported.py", "exec")
    assert 'FAILURE = Path(__file__).with_name("lost.json")' in text
    assert "its attempts run on 2 workers" in " ".join(text.split())


# --- what it does ---------------------------------------------------------------------------------


def test_the_exported_test_fails_on_the_bug_and_passes_on_its_repair(
    exported: Path, sim_environment: Callable[[str], Environment], redis_server: RunningServer
) -> None:
    bug = on_pytest(sim_environment("stock@0.26.3").python, exported, redis_server.url)
    assert (bug.returncode, "AssertionError: ['KeyError']" in bug.stdout) == (1, True), bug.stdout
    repair = on_pytest(sim_environment("stock@0.26.4").python, exported, redis_server.url)
    assert (repair.returncode, "1 passed" in repair.stdout) == (0, True), repair.stdout


def test_the_exported_test_is_skipped_without_a_redis(
    exported: Path, sim_environment: Callable[[str], Environment]
) -> None:
    done = on_pytest(sim_environment("stock@0.26.4").python, exported, "")
    assert (done.returncode, "1 skipped" in done.stdout) == (0, True), done.stdout


def test_the_exported_test_leaves_nothing_in_redis(
    exported: Path, sim_environment: Callable[[str], Environment], redis_server: RunningServer
) -> None:
    on_pytest(sim_environment("stock@0.26.4").python, exported, redis_server.url)

    with redis.Redis.from_url(redis_server.url) as client:
        left = [key for key in client.scan_iter("*") if not key.startswith(b"saq:abort:")]
    assert left == []


def test_the_exported_test_is_tried_on_other_builds(
    own_copy: Path, tmp_path: Path, cache: None, capsys: pytest.CaptureFixture[str]
) -> None:
    target = ["--pytest", str(tmp_path / "test_it.py"), "--json", "--quiet"]
    others = ["--try", "guarded@0.26.3", "--try", "by-id@0.26.3", "--try", "by-key@0.26.3"]
    assert run(["export", str(own_copy), *target, *others]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(one["variant"], one["outcome"]) for one in answer["trials"]] == [
        ("stock@0.26.3", "failed"),
        ("guarded@0.26.3", "passed"),
        ("by-id@0.26.3", "passed"),
        ("by-key@0.26.3", "failed"),
    ]


@pytest.mark.parametrize("variant", ["stock@0.26.3", "guarded@0.26.3"])
def test_a_cancel_between_abort_and_requeue_is_forced_too(
    sim_environment: Callable[[str], Environment], variant: str
) -> None:
    places = [(variants.parse(variant), sim_environment(variant))]
    text = short_test(showing("one-at-a-time"), WITH_A_CANCEL)
    assert asyncio.run(exporting._try_all(text, places)) == (
        Trial(variant, "failed", "AssertionError", "2"),
    )


def test_a_schedule_that_does_not_fail_when_forced_is_replayed_instead(
    own_copy: Path, tmp_path: Path, cache: None, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads(own_copy.read_text("utf-8"))
    data["finding"]["kind"] = "ZeroDivisionError"
    own_copy.write_text(json.dumps(data), "utf-8")
    path = tmp_path / "test_other.py"
    assert run(["export", str(own_copy), "--pytest", str(path)]) == 0
    assert "the schedule gave another result: failed (AssertionError" in capsys.readouterr().err
    assert 'with_name("test_other.json")' in path.read_text("utf-8")
    assert json.loads(path.with_suffix(".json").read_text("utf-8")) == data


def test_without_a_path_the_test_goes_to_stdout(
    own_copy: Path, cache: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(own_copy), "--pytest"]) == 0
    said = capsys.readouterr()
    compile(said.out, "test_exported.py", "exec")
    assert "tried on stock@0.26.3: failed (AssertionError: ['KeyError'])" in said.err


def test_json_and_the_test_do_not_both_go_to_stdout(
    own_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(own_copy), "--json", "--pytest"]) == 2
    assert "name a file, --pytest PATH" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("trial", "is_it"),
    [
        (Trial("v", "failed", "AssertionError", "['KeyError']"), True),
        (Trial("v", "failed", "KeyError", "'key-1'"), True),
        (Trial("v", "failed", "AssertionError", "['ValueError']"), False),
        (Trial("v", "failed", "TimeoutError", ""), False),
        (Trial("v", "passed"), False),
        (Trial("v", "skipped", "", "no Redis"), False),
    ],
)
def test_a_trial_counts_only_if_it_fails_as_the_failure_did(trial: Trial, is_it: bool) -> None:
    try:
        exporting._check(FAILURE, trial)
    except Inexpressible:
        assert not is_it
    else:
        assert is_it


def test_the_failure_of_this_session_has_a_short_test(key_error: Captured, exported: Path) -> None:
    assert key_error.failure.digest not in exported.read_text("utf-8")
    assert "saq_chaos" not in exported.read_text("utf-8")
