"""What tests of shrinking run instead of the simulator: a world whose failure is written down.

A toy run fails if the enqueues, injections and tape entries that it needs are all there, on enough
workers and with enough room. It asks for the tape entries that it is told to ask for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from chaos.explore.rerun import Candidate, RerunResult, Sight, Wanted
from chaos.plan import Plan
from chaos.script import FixedScript, Injection, TimedEnqueue
from chaos.world import Enqueue

WANTED = Wanted("no-internal-errors", "KeyError", "worker.py:374 process")
FOUND_US = 2_000_000


def plan(**changes: object) -> Plan:
    """A plan with two faults, three workers and room for eight jobs each."""
    given = {
        "plan": "toy",
        "workload": {"kind": "same_key"},
        "workers": {"count": 3, "concurrency": 8},
        "faults": [
            {"fault": "sweep", "every": "300ms", "wait": "20ms"},
            {"fault": "abort", "every": "1s"},
        ],
        "duration": "60s",
        "promises": ["no-internal-errors"],
    }
    return Plan.model_validate_json(json.dumps(given | changes))


def enqueue(at_us: int, key: str, bodies: int = 3) -> TimedEnqueue:
    """One enqueue; its bodies are stubborn ones."""
    body = {"profile": "stubborn", "takes_us": 1_000_000, "winds_down_us": 300_000}
    kwargs = {"bodies": [dict(body) for _ in range(bodies)]}
    return TimedEnqueue(at_us, Enqueue(function="saq_chaos_body", key=key, kwargs=kwargs))


def candidate(
    enqueues: tuple[TimedEnqueue, ...],
    injections: tuple[Injection, ...] = (),
    tape: Mapping[str, int] | None = None,
) -> Candidate:
    """A run of `plan` with this script and tape."""
    return Candidate(plan(), 7, FixedScript(enqueues, injections), tape or {})


@dataclass
class Toy:
    """A run that fails if all that it needs is there. `asked` holds every candidate it was given.

    Attributes:
        keys: keys of which an enqueue is needed, each as often as it stands here.
        faults: places of faults of which an injection is needed, likewise.
        tape: entries that must not have their default.
        asks: entries that a run asks for beside them.
        workers, concurrency, duration_us: the least that it needs.
    """

    keys: tuple[str, ...] = ("key-1",)
    faults: tuple[str, ...] = ("sweep",)
    tape: tuple[str, ...] = ()
    asks: tuple[str, ...] | None = None
    workers: int = 1
    concurrency: int = 2
    duration_us: int = 0
    found_us: int = FOUND_US
    asked: list[Candidate] = field(default_factory=list)

    def __call__(self, candidate: Candidate) -> RerunResult:
        self.asked.append(candidate)
        used = {
            name: value
            for name, value in candidate.tape.items()
            if self.asks is None or name in self.asks or name in self.tape
        }
        sights = (self._sight(),) if self.fails(candidate) else ()
        return RerunResult(replace(candidate, tape=used).key()[:16], used, sights)

    def fails(self, candidate: Candidate) -> bool:
        """Whether the finding is in it."""
        script = candidate.script
        keys = [one.command.key for one in script.timed_enqueues]
        names: list[str] = [
            candidate.plan.faults[one.fault].fault for one in script.timed_injections
        ]
        return (
            all(keys.count(key) >= self.keys.count(key) for key in self.keys)
            and all(names.count(name) >= self.faults.count(name) for name in self.faults)
            and all(name in candidate.tape for name in self.tape)
            and candidate.plan.workers.count >= self.workers
            and candidate.plan.workers.concurrency >= self.concurrency
            and candidate.plan.duration_us >= self.duration_us
        )

    def _sight(self) -> Sight:
        return Sight(
            promise=WANTED.promise, kind=WANTED.kind, line=WANTED.line, job="key-1",
            at_us=self.found_us, events=(3, 4),
        )  # fmt: skip
