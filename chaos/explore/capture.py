"""From a failing seed to its failure file: run it again, shrink it, write down what is left.

    seed ─► drawn run ─► script and tape written out ─► shrink ─► failure.json
                                                                  failure.history.jsonl

Both files lie in the folder of the exploration that found the seed. The history is that of the
shrunk run, so that a replay can say where another one parts from it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from chaos import variants
from chaos.errors import UsageError
from chaos.explore import failure as files
from chaos.explore.cuts import for_finding
from chaos.explore.failure import Failure, FoundHere, Shrinking, Versions
from chaos.explore.process import Child
from chaos.explore.rerun import ChildRerun, RerunResult, Sight, Wanted
from chaos.explore.shrink import RERUNS, Progress, Shrunk, shrink
from chaos.history import History
from chaos.plan import Plan
from chaos.variants import Variant


@dataclass(frozen=True, slots=True)
class Captured:
    """A failure file that was written, and the history of the run in it."""

    failure: Failure
    history: History
    path: Path
    minimal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What is to be caught.

    Attributes:
        variant: the build that failed.
        plan: the plan as that seed ran it (`chaos.explore.swarm.plan_for`).
        seed: the failing seed.
        promise, kind: the finding to keep. Its first sight in the run decides the line of saq.
        app: `module:settings` of a user's application, or none.
        calm: whether the seed was run calmly (`chaos.explore.protocol.Subject`).
        reruns: how many reruns shrinking may take.
    """

    variant: Variant
    plan: Plan
    seed: int
    promise: str
    kind: str
    app: str | None = None
    calm: bool = False
    reruns: int = RERUNS


def capture(
    wanted: Capture, child: Child, folder: Path, progress: Progress = lambda _: None
) -> Captured:
    """Shrink a failing seed and write its failure file into `folder`.

    Raises:
        UsageError: the seed does not show that finding.
        NotRepeatable: it does not do the same each time.
    """
    app = wanted.app or ""
    code = str(variants.own_code_folder(wanted.variant, wanted.app) or "")
    with tempfile.TemporaryDirectory(prefix="saqchaos-shrink-") as scratch:
        history_file = Path(scratch) / "history.jsonl"
        rerun = ChildRerun(
            child, wanted.variant, history_file, app=app, folder=code, calm=wanted.calm
        )
        plan = for_finding(wanted.plan, wanted.promise, wanted.variant.text)
        drawn, result = rerun.drawn(plan, wanted.seed)
        sight = _sought(wanted, result)
        limit = wanted.reruns - 1  # the drawn run was one
        shrunk = shrink(
            drawn, Wanted.of(sight), rerun, known=result, limit=limit, progress=progress
        )
        assert rerun.history is not None
        failure = written_out(wanted, shrunk, Versions.of(child.start()))
        path = folder / files.FILE
        files.write(failure, path)
        rerun.history.write(files.history_path(path))
        return Captured(failure, rerun.history, path, shrunk.minimal)


def _sought(wanted: Capture, result: RerunResult) -> Sight:
    """The first sight of what is wanted."""
    same = [
        one for one in result.sights if (one.promise, one.kind) == (wanted.promise, wanted.kind)
    ]
    if not same:
        raise UsageError(
            f"seed {wanted.seed} on {wanted.variant.text} does not break {wanted.promise} with "
            f"{wanted.kind}: it shows {_said(result)}"
        )
    return min(same, key=lambda one: (one.at_us, one.events))


def _said(result: RerunResult) -> str:
    kinds = dict.fromkeys(f"{one.promise} {one.kind}" for one in result.sights)
    return ", ".join(kinds) or "nothing"


def written_out(wanted: Capture, shrunk: Shrunk, versions: Versions) -> Failure:
    """The failure file of a shrunk run."""
    left, sight = shrunk.candidate, shrunk.sight
    return Failure(
        format=files.FORMAT,
        versions=versions,
        variant=wanted.variant.text,
        finding=FoundHere(
            promise=sight.promise,
            kind=sight.kind,
            message=sight.message,
            line=sight.line,
            job=sight.job,
            at_us=sight.at_us,
            events=sight.events,
        ),
        decisions=Shrinking(before=shrunk.before, after=shrunk.after, reruns=shrunk.reruns + 1),
        digest=shrunk.result.digest,
        seed=left.seed,
        plan=files.as_data(left.plan),
        script=left.script,
        tape=dict(left.tape),
        app=wanted.app or "",
    )
