"""Export: a failure becomes a regression test that its reader can keep.

    failure.json ─► its history ─► steps that events can force ─► short test ─► tried: does it fail?
                                            │ none, or it does not fail              │ yes
                                            └──────► a test that replays the file ◄──┘ no

A short test counts only if it was tried: on the variant that failed it must fail, in the same way,
on a real Redis. What it is worth on a repaired build is told by trying it there too.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos import variants
from chaos.environments import Environment
from chaos.errors import HostFailed
from chaos.event import Event
from chaos.explore import failure as files
from chaos.explore.failure import Failure
from chaos.explore.pytest_text import replaying_test, short_test
from chaos.explore.replay import replay, stored_history
from chaos.explore.steps import Inexpressible, Step, steps_of
from chaos.history import History
from chaos.installer import clean_environment
from chaos.live.processes import Processes
from chaos.live.server import OwnServer
from chaos.reports.story_scene import breaking_point
from chaos.variants import Variant
from chaos.verdict import Finding

TRIAL = Path(__file__).parents[1] / "worker" / "trial.py"
MARK = "saq-chaos-trial:"
TRIAL_SECONDS = 30

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Trial:
    """The test on one variant: passed, failed or skipped, and what it raised."""

    variant: str
    outcome: str
    error: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A test.

    Attributes:
        text: the file.
        short: whether it needs saq alone; else it replays the failure file through saq-chaos.
        why: why it is no short one.
        trials: where a short one was tried, the failing variant first.
    """

    failure: Failure
    text: str
    short: bool
    why: str = ""
    trials: tuple[Trial, ...] = ()


def export(
    path: Path,
    progress: Progress,
    *,
    python: Path | None = None,
    also: Sequence[str] = (),
) -> Exported:
    """Make a test of a failure file.

    Args:
        path: the failure file, or a run directory with one.
        progress: told one line for each step that takes time.
        python: the interpreter to build environments with.
        also: more variants to try a short test on.

    Raises:
        UsageError: the file cannot be read, or a variant cannot run here.
        WorldError: an environment could not be built, or no Redis server was found.
    """
    failure = files.read(path)
    build = variants.parse(failure.variant)
    others = variants.parse_all(also)
    try:
        text = short_test(failure, _steps(failure, path, progress, python))
        trials = _tried(text, (build, *others), progress, python)
        _check(failure, trials[0])
    except Inexpressible as error:
        text = replaying_test(failure, files.file_of(path).name, str(error))
        return Exported(failure=failure, text=text, short=False, why=str(error))
    return Exported(failure=failure, text=text, short=True, trials=trials)


def _steps(
    failure: Failure, path: Path, progress: Progress, python: Path | None
) -> tuple[Step, ...]:
    """The steps of the failure, from the history beside it or from a replay."""
    history = stored_history(files.file_of(path))
    if history is None or history.digest() != failure.digest:
        history = replay(path, progress, python=python).history
    return steps_of(history, failure.finding.job, _break(failure, history))


def _break(failure: Failure, history: History) -> Event:
    found = failure.finding
    finding = Finding(kind=found.kind, message=found.message, job=found.job, events=found.events)
    evidence = [history[n - 1] for n in found.events if 0 < n <= len(history)]
    breaks = breaking_point(finding, evidence)
    if breaks is None or not found.job:
        raise Inexpressible("the finding points at no event of one job")
    return breaks


def _check(failure: Failure, trial: Trial) -> None:
    """On the variant that failed the test must fail, and by its assertion or saq's own error."""
    kind = failure.finding.kind
    is_it = trial.outcome == "failed" and (trial.error in ("AssertionError", kind))
    if failure.finding.promise == "no-internal-errors":
        is_it = is_it and kind in f"{trial.error} {trial.message}"
    if not is_it:
        said = f"{trial.outcome} ({trial.error}: {trial.message})".replace(" (: )", "")
        raise Inexpressible(f"forced by events alone, the schedule gave another result: {said}")


# --- trying it ------------------------------------------------------------------------------------


def _tried(
    text: str, builds: Sequence[Variant], progress: Progress, python: Path | None
) -> tuple[Trial, ...]:
    variants.check(builds, python=python, sim=True)
    places = [(one, variants.prepare(one, progress, python=python, sim=True)) for one in builds]
    return asyncio.run(_try_all(text, places))


async def _try_all(text: str, places: Sequence[tuple[Variant, Environment]]) -> tuple[Trial, ...]:
    """The test on each variant, on a Redis of our own."""
    folder = Path(tempfile.mkdtemp(prefix="saqchaos-export-"))
    processes = Processes.open()
    processes.forget_folder_at_end(folder)
    try:
        server = OwnServer(processes, "redis", folder / "redis.log")
        await server.start()
        file = folder / "test_exported.py"
        file.write_text(text, "utf-8")
        return tuple([await _try_on(variant, place, file, server.url) for variant, place in places])
    finally:
        await processes.close()
        shutil.rmtree(folder, ignore_errors=True)


async def _try_on(variant: Variant, environment: Environment, file: Path, url: str) -> Trial:
    given = {**environment.env, "REDIS_URL": url}
    if variant.own_class:
        given["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(Path.cwd()), given.get("PYTHONPATH")))
        )
    argv = [str(environment.python), str(TRIAL), str(file), variant.patch]
    try:
        done = await asyncio.to_thread(
            subprocess.run, argv, capture_output=True, text=True, check=False,
            timeout=TRIAL_SECONDS, env=clean_environment(given), stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Trial(variant.text, "failed", "Timeout", f"it did not end in {TRIAL_SECONDS} s")
    for line in reversed(done.stdout.splitlines()):
        if line.startswith(MARK):
            return Trial(variant.text, **json.loads(line.removeprefix(MARK)))
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    raise HostFailed(f"{variant.text}: the exported test could not be tried: {last}")
