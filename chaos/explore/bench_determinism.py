"""Whether a run is repeatable: the same plan and seed, in many processes, give one history.

    for each Python: replay k of n in a process of its own, PYTHONHASHSEED = k ─► one digest
                     other seeds                                              ─► other digests

Whatever else may leak into a run (hash order, addresses, the wall clock, what ran before) differs
between processes; so equal digests over many of them are what "the same" means here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from chaos import environments, variants
from chaos.environments import Environment
from chaos.errors import EnvironmentFailed
from chaos.explore.process import Child
from chaos.explore.protocol import RunSeeds, Subject, plan_of
from chaos.variants import Variant

# A bit of everything in two seconds: whatever may leak into a run has its chance.
EVERYTHING: dict[str, Any] = {
    "plan": "everything",
    "duration": "2s",
    "drain": "20s",
    "workers": {"count": 2, "concurrency": 12, "grace": "100ms", "deadline": "200ms"},
    "workload": {
        "kind": "same_key",
        "keys": 12,
        "rate": "20/s",
        "job": {"timeout": "5s", "heartbeat": "300ms", "retries": 4},
        "bodies": [
            {"profile": "quick", "weight": 3, "takes": "500ms", "spread": "1s"},
            {"profile": "stubborn", "takes": "1s", "winds_down": "300ms"},
            {"profile": "raising", "takes": "50ms"},
            {"profile": "thread", "takes": "400ms"},
        ],
        "scheduled_share": 0.1,
    },
    "faults": [
        {"fault": "sweep", "every": "350ms", "jitter": "50ms", "wait": "20ms"},
        {"fault": "abort", "every": "300ms", "count": 2},
        {"fault": "rolling_restart", "at": ["900ms"]},
        {"fault": "kill", "at": ["500ms"], "replace_after": "100ms"},
        {"fault": "latency", "at": ["200ms"], "for": "400ms", "max": "30ms"},
        {"fault": "redis_away", "at": ["1500ms"], "for": "200ms"},
    ],
    "promises": ["no-internal-errors"],
}
MINORS = ("3.11", "3.12", "3.13", "3.14")
OTHER_SEEDS = 20
HASH_SEED_MAX = 4_294_967_295

Progress = Callable[[str], None]


class Replays(msgspec.Struct, frozen=True, kw_only=True):
    """What one Python gave.

    Attributes:
        digests: how often each history came, the most frequent first: one if it is repeatable.
        other_seeds: how many other seeds were run, `other_digests` how many histories they gave.
    """

    python: str
    replays: int
    digests: dict[str, int]
    other_seeds: int
    other_digests: int

    @property
    def repeatable(self) -> bool:
        """One digest for one seed, and others for others."""
        return len(self.digests) == 1 and self.other_digests == self.other_seeds


class DeterminismResult(msgspec.Struct, frozen=True, kw_only=True):
    """All Pythons. `absent`: minor versions that are not on this machine."""

    variant: str
    plan: str
    seed: int
    pythons: tuple[Replays, ...]
    absent: tuple[str, ...] = ()

    @property
    def repeatable(self) -> bool:
        """On every Python that is here, and there is one."""
        return bool(self.pythons) and all(one.repeatable for one in self.pythons)


def pythons(named: Sequence[Path] = ()) -> dict[str, Path]:
    """The interpreters to try by minor version: those named, else every supported one that runs."""
    candidates = list(named) or [path for minor in MINORS for path in _places(minor)]
    found: dict[str, Path] = {}
    for path in candidates:
        try:
            interpreter = environments.interpreter(path)
        except EnvironmentFailed:
            if named:
                raise
            continue
        found.setdefault(".".join(interpreter.version.split(".")[:2]), path)
    return found


def _places(minor: str) -> Iterator[Path]:
    """Where a Python of this minor version may be: on PATH, or among those of pyenv."""
    on_path = shutil.which(f"python{minor}")
    if on_path:
        yield Path(on_path)
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(root.glob(f"versions/{minor}.*/bin/python"))


def run(
    variant: Variant,
    subject: Subject,
    seed: int,
    *,
    replays: int,
    named: Sequence[Path] = (),
    jobs: int,
    progress: Progress,
    **extra: str,
) -> DeterminismResult:
    """Replay one seed on every Python.

    Args:
        subject: the plan on the variant.
        replays: how often on each Python, each time in a new process.
        named: interpreters to try; none: those that are found.
        jobs: how many processes at a time.
        extra: more variables for the processes' environments.
    """
    results: list[Replays] = []
    there = pythons(named)
    for minor, path in there.items():
        environment = variants.prepare(variant, progress, python=path, sim=True)
        progress(f"Python {minor}: {replays} replays")
        results.append(_replay(environment, subject, seed, replays, jobs, extra))
    return DeterminismResult(
        variant=variant.text,
        plan=plan_of(subject.plan).plan,
        seed=seed,
        pythons=tuple(results),
        absent=tuple(minor for minor in MINORS if minor not in there) if not named else (),
    )


def _replay(
    environment: Environment,
    subject: Subject,
    seed: int,
    replays: int,
    jobs: int,
    extra: dict[str, str],
) -> Replays:
    def one(number: int) -> str:
        return digests_of(environment, subject, (seed,), number % HASH_SEED_MAX, extra)[0]

    with ThreadPoolExecutor(jobs, thread_name_prefix="replays") as executor:
        found = list(executor.map(one, range(replays)))
    counts = {digest: found.count(digest) for digest in dict.fromkeys(found)}
    others = tuple(range(seed + 1, seed + 1 + OTHER_SEEDS))
    other = digests_of(environment, subject, others, 0, extra)
    with Child(environment) as child:
        python = child.start().python
    return Replays(
        python=python,
        replays=replays,
        digests=dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
        other_seeds=OTHER_SEEDS,
        other_digests=len({*other, *found}) - len(counts),
    )


def digests_of(
    environment: Environment,
    subject: Subject,
    seeds: tuple[int, ...],
    hash_seed: int,
    extra: dict[str, str],
) -> list[str]:
    """The digests of these seeds, run in a process of their own."""
    with Child(environment, hash_seed=hash_seed, **extra) as child:
        return [done.summary.digest for done in child.seeds(RunSeeds(subject=subject, seeds=seeds))]
