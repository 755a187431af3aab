"""What an executor runs: a block of seeds on one variant, in a simulating process that is kept.

    Executor.submit(run_block, Block) ─► [thread or process] ─► Child (kept for the next block)
                                                              ─► BlockDone

Both functions are module-level and take and give plain values, so any `concurrent.futures.Executor`
can carry them: threads here (the work is in the child process, not in the thread), processes, or a
Dask cluster's workers elsewhere. A worker on another machine prepares the variant's environment if
it is not there. Each thread keeps one child per environment; the child ends with that thread.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from chaos import variants
from chaos.environments import Environment
from chaos.errors import HostFailed
from chaos.explore.process import Child
from chaos.explore.protocol import Limits, Ready, RunSeeds, Subject, Summary
from chaos.variants import Variant


@dataclass(frozen=True, slots=True)
class Place:
    """Where a variant runs, on this machine or on one that prepares it again."""

    variant: Variant
    environment: Environment
    app: str | None = None
    python: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Some seeds of one variant.

    Attributes:
        first: the number of the first seed in its exploration.
        seeds: the seeds from there on.
        durations_us: how long each goes on; empty: as long as the plan says.
        swarm: let each seed draw the plan's own parameters too.
        until_failure: stop after the first seed that breaks a promise.
    """

    place: Place
    subject: Subject
    first: int
    seeds: tuple[int, ...]
    durations_us: tuple[int, ...] = ()
    swarm: bool = False
    until_failure: bool = False
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class BlockDone:
    """The seeds of a block that ran, in order, and how long the block took."""

    summaries: tuple[Summary, ...]
    spent_us: int


def warm(place: Place) -> Ready:
    """Have a simulating process ready in this worker, so that a search does not wait for it."""
    return _child(place).start()


def run_block(block: Block) -> BlockDone:
    """Run a block.

    Raises:
        HostFailed: the simulating process died; the message says at which seed.
    """
    began_ns = time.monotonic_ns()
    job = RunSeeds(
        subject=block.subject,
        seeds=block.seeds,
        durations_us=block.durations_us,
        swarm=block.swarm,
        until_failure=block.until_failure,
        limits=block.limits,
    )
    done: list[Summary] = []
    try:
        done += (answer.summary for answer in _child(block.place).seeds(job))
    except HostFailed as error:
        label = block.place.variant.label
        raise HostFailed(f"{label}, seed {block.seeds[len(done)]}: {error}") from error
    return BlockDone(tuple(done), (time.monotonic_ns() - began_ns) // 1_000)


def kill_children() -> None:
    """Kill every simulating process of this process; whoever waits for one gets an error."""
    with _lock:
        for child in _children:
            child.kill()


def close_children() -> None:
    """Forget every simulating process of this process, once no thread uses one any more."""
    with _lock:
        children, _children[:] = list(_children), []
    for child in children:
        child.close()
    _own.__dict__.clear()


_own = threading.local()
_lock = threading.Lock()
_children: list[Child] = []


def _child(place: Place) -> Child:
    """This thread's child for a variant; the variant's environment is prepared if it is missing."""
    kept: dict[str, Child] = _own.__dict__.setdefault("children", {})
    name = place.variant.text
    if name not in kept:
        kept[name] = Child(_environment(place))
        with _lock:
            _children.append(kept[name])
    return kept[name]


def _environment(place: Place) -> Environment:
    if place.environment.python.exists():
        return place.environment
    return variants.prepare(
        place.variant, lambda _line: None, app=place.app, python=place.python, sim=True
    )
