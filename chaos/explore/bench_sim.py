"""How fast the simulator is, with probe, history and checkers on, in one process on one core.

    minimal      1 worker, 1 key, 1 sweep: the smallest schedule in which the seed bug can happen
    crowd        3 workers, 8 jobs, a kill, and commands that take their time
    production   the plan of that name: virtual time over real time

Each is measured in one simulating process, after a warm-up, from the job's being sent to its last
answer. On a machine that does other things as well, the figures per CPU second are the fair ones.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from chaos import plan_file, variants
from chaos.clock import SECOND_US
from chaos.environments import Environment
from chaos.explore.process import Child
from chaos.explore.protocol import RunOne, RunSeeds, Subject, Summary, plan_text
from chaos.plan import Plan
from chaos.plan_file import Overrides
from chaos.variants import Variant

MINIMAL: dict[str, Any] = {
    "plan": "minimal",
    "duration": "60ms",
    "drain": "5s",
    "workers": {"count": 1, "concurrency": 2, "grace": "0s", "deadline": "100ms"},
    "workload": {
        "kind": "same_key",
        "keys": 1,
        "rate": "10/s",
        "job": {"timeout": "10s", "heartbeat": "20ms", "retries": 2},
        "bodies": [{"profile": "quick", "takes": "50ms", "spread": "20ms"}],
    },
    "faults": [{"fault": "sweep", "at": ["35ms"], "wait": "1ms"}],
    "promises": ["no-internal-errors", "no-orphaned-contexts"],
}
CROWD: dict[str, Any] = {
    "plan": "crowd",
    "duration": "800ms",
    "drain": "5s",
    "workers": {"count": 3, "concurrency": 4, "grace": "0s", "deadline": "100ms"},
    "workload": {
        "kind": "same_key",
        "keys": 0,
        "rate": "10/s",
        "job": {"timeout": "10s", "retries": 3},
        "bodies": [{"profile": "quick", "takes": "100ms", "spread": "100ms"}],
    },
    "faults": [
        {"fault": "kill", "at": ["300ms"], "replace_after": "100ms"},
        {"fault": "latency", "at": ["200ms"], "for": "300ms", "max": "10ms"},
    ],
    "promises": ["no-internal-errors", "no-orphaned-contexts", "no-lost-jobs"],
}
WARM_UP = 5

Progress = Callable[[str], None]


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """Many small runs. `broken`: those that broke a promise; `events`, `steps`: of one run."""

    runs: int
    seconds: float
    per_second: float
    per_cpu_second: float
    events: float
    steps: float
    broken: int


class Speed(msgspec.Struct, frozen=True, kw_only=True):
    """One long run: virtual time over real time, and over CPU time."""

    virtual_s: float
    seconds: float
    times_real: float
    times_cpu: float
    events: int
    steps: int
    key_errors: int


class SimResult(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of `saq-chaos bench sim`."""

    variant: str
    environment: str
    minimal: Rate
    crowd: Rate
    production: Speed


def run(
    variant: Variant, environment: Environment, *, runs: int, duration: str, progress: Progress
) -> SimResult:
    """Measure all three.

    Args:
        runs: small runs of each kind.
        duration: how much virtual time of `production`.
    """
    with Child(environment) as child:
        rates = []
        for recipe in (MINIMAL, CROWD):
            progress(f"{recipe['plan']}: {runs} runs")
            rates.append(measure_rate(child, subject(variant, plan_of(recipe)), runs))
        progress(f"production: {duration} of virtual time")
        overrides = Overrides(variants=(variant.text,), duration=duration)
        speed = measure_speed(child, subject(variant, plan_file.load("production", overrides)))
    return SimResult(
        variant=variant.text,
        environment=environment.description,
        minimal=rates[0],
        crowd=rates[1],
        production=speed,
    )


def plan_of(recipe: dict[str, Any]) -> Plan:
    """The plan of a recipe above."""
    return Plan.model_validate_json(json.dumps(recipe))


def subject(variant: Variant, plan: Plan) -> Subject:
    """What a child is told to run."""
    folder = str(variants.own_code_folder(variant, None) or "")
    return Subject(plan=plan_text(plan), variant=variant.label, patch=variant.patch, folder=folder)


def measure_rate(child: Child, of: Subject, runs: int) -> Rate:
    """Run as many seeds, one after the other."""
    list(child.seeds(RunSeeds(subject=of, seeds=tuple(range(WARM_UP)))))
    job = RunSeeds(subject=of, seeds=tuple(range(WARM_UP, WARM_UP + runs)))
    began_ns = time.monotonic_ns()
    summaries = [done.summary for done in child.seeds(job)]
    seconds = (time.monotonic_ns() - began_ns) / 1e9
    return Rate(
        runs=runs,
        seconds=seconds,
        per_second=runs / seconds,
        per_cpu_second=runs * SECOND_US / _cpu_us(*summaries),
        events=sum(one.events for one in summaries) / runs,
        steps=sum(one.steps for one in summaries) / runs,
        broken=sum(bool(one.broken()) for one in summaries),
    )


def measure_speed(child: Child, of: Subject) -> Speed:
    """Run one seed with its history written, as a soak does."""
    with tempfile.TemporaryDirectory(prefix="saqchaos-bench-") as folder:
        path = Path(folder) / "history.jsonl"
        job = RunOne(subject=of, seed=1, history_to=str(path), decisions=False)
        began_ns = time.monotonic_ns()
        summary = child.one(job).summary
        seconds = (time.monotonic_ns() - began_ns) / 1e9
    virtual_s = summary.virtual_us / SECOND_US
    return Speed(
        virtual_s=virtual_s,
        seconds=seconds,
        times_real=virtual_s / seconds,
        times_cpu=summary.virtual_us / _cpu_us(summary),
        events=summary.events,
        steps=summary.steps,
        key_errors=int(summary.verdict.counters.get("key_errors", 0)),
    )


def _cpu_us(*summaries: Summary) -> int:
    return max(1, sum(one.cpu_us for one in summaries))
