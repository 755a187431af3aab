"""One short simulated run for each network fault: how it ended, what saq's users saw of it.

Prints, by the name of the run, what its history says. The URL of a real server is not used here.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import saq

from chaos.event import ErrorRaised, FaultHealed, FaultInjected, HostExited
from chaos.plan import Plan
from chaos.sim.run_one import SimRequest, SimResult, run_one

RUNS: dict[str, list[dict[str, Any]]] = {
    "quiet": [],
    "latency": [{"fault": "latency", "for": "1s", "min": "10ms", "max": "30ms"}],
    "lost_reply": [{"fault": "lost_reply", "for": "1s", "share": 0.2}],
    "cut": [{"fault": "cut", "for": "500ms", "share": 0.7, "whose": "workers"}],
    "refuse": [{"fault": "redis_away", "for": "500ms"}],
    "silent": [{"fault": "redis_away", "for": "1s", "how": "silent", "whose": "one_worker"}],
    "loading": [{"fault": "redis_error", "for": "500ms"}],
    "readonly": [{"fault": "redis_error", "for": "500ms", "error": "READONLY"}],
    "oom": [{"fault": "redis_error", "for": "500ms", "error": "OOM"}],
    "script_flush": [{"fault": "script_flush"}],
    "last_writes_lost": [{"fault": "redis_restart", "data": "last_writes_lost", "for": "300ms"}],
}


def plan(faults: list[dict[str, Any]]) -> Plan:
    """Five seconds of jobs, each fault every 1.5 seconds."""
    fields = {
        "plan": "test",
        "workload": {"kind": "same_key", "keys": 0, "rate": "10/s",
                     "bodies": [{"profile": "quick", "takes": "100ms"}]},
        "duration": "5s",
        "drain": "5s",
        "promises": ["one-at-a-time"],
        "workers": {"count": 2, "concurrency": 4, "timers": {"abort": "100ms"}},
        "faults": [{**fault, "every": "1500ms"} for fault in faults],
    }  # fmt: skip
    return Plan.model_validate_json(json.dumps(fields))


def run(faults: list[dict[str, Any]], **more: Any) -> SimResult:
    variant = f"stock@{saq.__version__}"
    return run_one(SimRequest(plan=plan(faults), variant=variant, patch="stock", seed=3, **more))


def told(faults: list[dict[str, Any]]) -> dict[str, Any]:
    """What a run's history says, and whether its tape alone gives it again."""
    result = run(faults)
    events = list(result.history)
    errors = [event for event in events if isinstance(event, ErrorRaised)]
    healed = [event for event in events if isinstance(event, FaultHealed)]
    return {
        "ended": result.ended,
        "injected": sum(isinstance(event, FaultInjected) for event in events),
        "healed": [event.error for event in healed],
        "errors": sorted({f"{event.origin} {event.error}" for event in errors}),
        "unasked": [e.target for e in events if isinstance(e, HostExited) and not e.expected],
        "again": run(faults, tape=result.tape).digest == result.digest,
        "digest": result.digest,
    }


def main() -> None:
    sys.stdout.write(json.dumps({name: told(faults) for name, faults in RUNS.items()}) + "\n")


if __name__ == "__main__":
    main()
