"""Replay: make the run of a failure file again, and say whether it is the same, to the byte.

    failure.json ─► the variant's environment ─► rerun ─► digest, equal or not
                                                    │
    failure.history.jsonl ──────────────────────────┴─► where the two part: the first event

Replayed on another variant the digest means nothing; then the question is whether the finding is
there: "does this repair cure this very schedule?"
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chaos import variants
from chaos.errors import HistoryError
from chaos.explore import failure as files
from chaos.explore.failure import Failure, Versions
from chaos.explore.process import Child
from chaos.explore.rerun import Candidate, ChildRerun, Sight
from chaos.history import History, to_json
from chaos.variants import Variant


@dataclass(frozen=True, slots=True)
class Parting:
    """The first event that is not the same: its number, and both as JSON (empty: no event)."""

    number: int
    then: str
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What a replay gave.

    Attributes:
        failure: what was replayed.
        variant: on which variant.
        digest: of the history that it gave.
        sight: the finding of the failure file (same promise and kind), if it is there again.
        differences: what is not as it was when it was found, one sentence each.
        parting: where the histories part, if they do and the stored one is there.
        history: the history that it gave.
    """

    failure: Failure
    variant: Variant
    digest: str
    sight: Sight | None
    differences: tuple[str, ...]
    parting: Parting | None
    history: History

    @property
    def same(self) -> bool:
        """Whether it was the same run, event for event."""
        return self.digest == self.failure.digest


def replay(
    path: Path,
    progress: Callable[[str], None],
    *,
    variant: str | None = None,
    python: Path | None = None,
) -> Replayed:
    """Make the run of a failure file again.

    Args:
        path: the failure file, or a run directory with one.
        progress: told one line for each step that takes time.
        variant: another variant than the one that failed.
        python: the interpreter of the application, or the one to build environments with.

    Raises:
        UsageError: the file cannot be read, or its variant cannot run here.
        WorldError: the environment cannot be built, or the simulating process died.
    """
    failure = files.read(path)
    build = variants.parse(variant or failure.variant)
    app = failure.app or None
    variants.check((build,), app=app, python=python, sim=True)
    environment = variants.prepare(build, progress, app=app, python=python, sim=True)
    code = str(variants.own_code_folder(build, app) or "")
    with tempfile.TemporaryDirectory(prefix="saqchaos-replay-") as scratch:
        history_file = Path(scratch) / "history.jsonl"
        with Child(environment) as child:
            rerun = ChildRerun(child, build, history_file, app=failure.app, folder=code)
            candidate = Candidate(failure.plan_of(), failure.seed, failure.script, failure.tape)
            result = rerun(candidate)
            versions = Versions.of(child.start())
    assert rerun.history is not None
    same = result.digest == failure.digest
    stored = None if same else stored_history(files.file_of(path))
    return Replayed(
        failure=failure,
        variant=build,
        digest=result.digest,
        sight=sight_of(failure, result.sights),
        differences=files.differences(failure.versions, versions),
        parting=parting(stored, rerun.history) if stored is not None else None,
        history=rerun.history,
    )


def sight_of(failure: Failure, sights: tuple[Sight, ...]) -> Sight | None:
    """The first sight of the same promise broken in the same way, on the same line if possible."""
    found = failure.finding
    same = [one for one in sights if (one.promise, one.kind) == (found.promise, found.kind)]
    return min(same, key=lambda one: (one.line != found.line, one.at_us), default=None)


def stored_history(path: Path) -> History | None:
    """The history beside a failure file, if there is a readable one."""
    try:
        return History.read(files.history_path(path))
    except HistoryError:
        return None


def parting(then: History, now: History) -> Parting | None:
    """The first event that is not the same in both; None if there is none."""
    for number in range(1, max(len(then), len(now)) + 1):
        said = [_event(history, number) for history in (then, now)]
        if said[0] != said[1]:
            return Parting(number, said[0], said[1])
    return None


def _event(history: History, number: int) -> str:
    return to_json(history[number - 1]).decode() if number <= len(history) else ""
