"""The simulating process: its protocol holds whatever the code under test does, and it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from chaos import variants
from chaos.environments import Environment
from chaos.errors import HostFailed, UsageError
from chaos.explore.bench_sim import MINIMAL, plan_of
from chaos.explore.process import Child
from chaos.explore.protocol import Limits, RunOne, RunSeeds, Subject, plan_text
from chaos.history import History
from chaos.plan import Plan
from chaos.plan_file import Overrides, load

ROOT = Path(__file__).parents[2]
VARIANT = "stock@0.26.3"
SEEDS = (1, 2, 3)
SECONDS = 60.0


def subject(plan: Plan | None = None, patch: str = "stock", folder: Path | None = None) -> Subject:
    """The smallest plan on stock saq, or on a worker class of the test's own."""
    text = plan_text(plan or plan_of(MINIMAL))
    label = variants.parse(f"{patch}@0.26.3").label
    return Subject(plan=text, variant=label, patch=patch, folder=str(folder or ""))


@pytest.fixture(scope="module")
def place(sim_environment: Callable[[str], Environment]) -> Environment:
    return sim_environment(VARIANT)


def own_class(folder: Path, line: str) -> Subject:
    """A worker class that does something when a job is processed."""
    (folder / "own.py").write_text(
        "import os, sys\nfrom saq.worker import Worker\n\n"
        "class Own(Worker):\n"
        "    async def process(self):\n"
        f"        {line}\n"
        "        return await super().process()\n"
    )
    return subject(patch="own:Own", folder=folder)


def test_a_child_says_what_it_runs_on(place: Environment) -> None:
    with Child(place) as child:
        ready = child.start()
    assert (ready.saq, ready.redis_py) == (place.saq, place.redis_py)


def test_seeds_come_in_order_each_with_its_verdict(place: Environment) -> None:
    with Child(place) as child:
        done = [one.summary for one in child.seeds(RunSeeds(subject=subject(), seeds=SEEDS))]
    assert tuple(one.seed for one in done) == SEEDS
    assert {one.ended for one in done} == {"finished"}
    assert len({one.digest for one in done}) == len(SEEDS)
    names = [promise.promise for promise in done[0].verdict.promises]
    assert names == ["no-internal-errors", "no-orphaned-contexts", "no-standstill"]


def test_a_written_history_is_the_one_that_the_digest_is_of(
    place: Environment, tmp_path: Path
) -> None:
    path = tmp_path / "history.jsonl"
    with Child(place) as child:
        (one,) = child.seeds(RunSeeds(subject=subject(), seeds=(1,)))
        done = child.one(RunOne(subject=subject(), seed=1, history_to=str(path)))
    history = History.read(path)
    assert history.digest() == done.summary.digest == one.summary.digest
    assert done.summary.events == len(history)
    assert done.summary.interleavings == one.summary.interleavings


def test_calm_seeds_leave_nothing_to_a_tape_and_still_differ(place: Environment) -> None:
    calm = msgspec.structs.replace(subject(), calm=True)
    with Child(place) as child:
        seeds = [one.summary for one in child.seeds(RunSeeds(subject=calm, seeds=SEEDS))]
        drawn = child.one(RunOne(subject=calm, seed=1))
        empty = child.one(RunOne(subject=subject(), seed=1, tape={}))
        usual = child.one(RunOne(subject=subject(), seed=1))
    assert drawn.tape == {}
    assert seeds[0].digest == drawn.summary.digest == empty.summary.digest
    assert usual.summary.digest != drawn.summary.digest
    assert len({one.digest for one in seeds}) == len(SEEDS)


def test_a_tape_of_its_own_goes_before_calm(place: Environment) -> None:
    calm = msgspec.structs.replace(subject(), calm=True)
    with Child(place) as child:
        usual = child.one(RunOne(subject=subject(), seed=1))
        again = child.one(RunOne(subject=calm, seed=1, script=usual.script, tape=usual.tape))
    assert again.summary.digest == usual.summary.digest


def test_a_run_by_its_script_and_tape_is_the_run_by_its_seed(place: Environment) -> None:
    with Child(place) as child:
        drawn = child.one(RunOne(subject=subject(), seed=1))
        fixed = child.one(RunOne(subject=subject(), seed=1, script=drawn.script, tape=drawn.tape))
    assert drawn.tape
    assert fixed.summary.digest == drawn.summary.digest


def test_until_failure_stops_after_the_first_seed_that_breaks_a_promise(
    place: Environment,
) -> None:
    with Child(place) as child:
        seeds = tuple(range(60))
        every = [one.summary for one in child.seeds(RunSeeds(subject=subject(), seeds=seeds))]
        job = RunSeeds(subject=subject(), seeds=seeds, until_failure=True)
        until = [one.summary for one in child.seeds(job)]
    broken = [bool(one.broken()) for one in every]
    assert [one.seed for one in until] == list(seeds[: broken.index(True) + 1])


def test_a_limit_ends_a_run_as_unknown(place: Environment) -> None:
    with Child(place) as child:
        job = RunOne(subject=subject(), seed=1, limits=Limits(steps=50))
        summary = child.one(job).summary
    assert summary.ended == "limit"
    assert summary.reason.startswith("steps: ")
    assert summary.verdict.incomplete != ()


def test_what_user_code_prints_and_reads_does_not_reach_the_protocol(
    place: Environment, tmp_path: Path
) -> None:
    line = "print('{}'); os.write(1, b'{}\\n'); assert os.read(0, 10) == b''"
    with Child(place) as child:
        job = RunSeeds(subject=own_class(tmp_path, line), seeds=SEEDS)
        done = [one.summary.ended for one in child.seeds(job)]
    assert done == ["finished"] * 3


def test_a_child_that_dies_is_one_error_with_what_it_printed_and_the_next_job_runs(
    place: Environment, tmp_path: Path
) -> None:
    line = "sys.stderr.write('the last words\\n'); sys.stderr.flush(); os._exit(7)"
    with Child(place) as child:
        with pytest.raises(HostFailed) as error:
            list(child.seeds(RunSeeds(subject=own_class(tmp_path, line), seeds=SEEDS)))
        again = list(child.seeds(RunSeeds(subject=subject(), seeds=(1,))))
    assert str(error.value).startswith(
        f"the simulating process of {place.python} failed: it ended with exit code 7\n"
    )
    assert "  the last words" in str(error.value)
    assert len(again) == 1


def test_a_job_that_cannot_be_carried_out_is_an_error_and_the_next_one_runs(
    place: Environment,
) -> None:
    wrong = plan_of(MINIMAL).model_copy(update={"promises": ("no-such-promise",)})
    with Child(place) as child:
        with pytest.raises(UsageError, match="no promise is called 'no-such-promise'"):
            list(child.seeds(RunSeeds(subject=subject(wrong), seeds=(1,))))
        pid = child.start().pid
        assert len(list(child.seeds(RunSeeds(subject=subject(), seeds=(1,))))) == 1
        assert child.start().pid == pid


def test_user_code_in_the_simulator_cannot_signal_a_real_process(
    place: Environment, tmp_path: Path
) -> None:
    with Child(place) as child:
        job = RunOne(subject=own_class(tmp_path, "os.kill(os.getpid(), 10)"), seed=1)
        summary = child.one(job).summary
    assert summary.ended == "failed"
    assert "asked for a signal to a process, which cannot be simulated" in summary.reason


def test_a_signal_ends_a_recorded_run_in_good_order(place: Environment, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    plan = load("production", Overrides(variants=(VARIANT,), gate="strict"))
    with Child(place) as child, ThreadPoolExecutor(1) as executor:
        child.start()
        job = RunOne(subject=subject(plan), seed=1, history_to=str(path), decisions=False)
        running = executor.submit(child.one, job)
        deadline = time.monotonic() + SECONDS
        while not (path.exists() and path.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.01)
        child.end_run(signal.SIGUSR1)
        summary = running.result(timeout=SECONDS).summary
    assert summary.ended == "interrupted"
    assert History.read(path).digest() == summary.digest
    assert "the run was cut short: interrupted" in summary.verdict.incomplete


def test_a_child_does_not_outlive_its_parent(place: Environment) -> None:
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from chaos.environments import Environment\n"
        "from chaos.explore.process import Child\n"
        "child = Child(Environment(Path(sys.argv[1])))\n"
        "print(child.start().pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    argv = [sys.executable, "-c", code, str(place.python)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + SECONDS
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    """Whether there is such a process that is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z" and pid != os.getpid()


def test_a_process_that_is_not_ready_yet_does_not_die_of_being_told_to_end(
    sim_environment: Callable[[str], Environment],
) -> None:
    child = Child(sim_environment("stock@0.26.4"))
    teller = threading.Thread(target=told_again_and_again, args=(child,))
    teller.start()
    try:
        assert child.start().saq == "0.26.4"
    finally:
        teller.join()
        child.close()


def told_again_and_again(child: Child) -> None:
    """From before the process is there until it is ready."""
    end = time.monotonic() + 30
    while child.ready is None and time.monotonic() < end:
        child.end_run(signal.SIGUSR1)
        time.sleep(0.001)
