"""Plans for whole runs, as JSON, and what a test asks of a run."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from chaos.history import History
from chaos.plan import Plan
from chaos.sim.run_one import SimRequest, SimResult, run_one

QUICK = {"profile": "quick", "takes": "400ms"}


def plan(
    faults: list[dict[str, Any]] | None = None,
    bodies: list[dict[str, Any]] | None = None,
    job: dict[str, Any] | None = None,
    workers: dict[str, Any] | None = None,
    **fields: Any,
) -> Plan:
    """One worker, one key, one job each second; what a test needs differs from that."""
    text = {
        "plan": "core",
        "workers": {
            "count": 1,
            "concurrency": 2,
            "timers": {"schedule": "1s", "worker_info": "10s", "sweep": "60s", "abort": "200ms"},
            "grace": "0s",
            "deadline": "500ms",
            **(workers or {}),
        },
        "workload": {
            "kind": "same_key",
            "keys": 1,
            "rate": "1/s",
            "bodies": bodies or [QUICK],
            "job": {"timeout": "5s", "heartbeat": "0s", "retries": 2, **(job or {})},
        },
        "faults": faults or [],
        "duration": "1s",
        "drain": "10s",
        "promises": ["no-internal-errors"],
        **fields,
    }
    return Plan.model_validate_json(json.dumps(text))


def seed_bug() -> Plan:
    """A sweep meets a job that beats too rarely: its second attempt takes the first one's slot."""
    sweep = {"fault": "sweep", "at": ["250ms"], "wait": "20ms"}
    return plan(faults=[sweep], job={"heartbeat": "100ms"})


def three_workers() -> Plan:
    """Three workers, eight jobs, a kill."""
    return plan(
        faults=[
            {"fault": "kill", "at": ["500ms"], "replace_after": "200ms"},
            {"fault": "sweep", "every": "300ms", "wait": "20ms"},
        ],
        workers={"count": 3, "concurrency": 4},
        workload={
            "kind": "same_key", "keys": 4, "rate": "8/s",
            "bodies": [{**QUICK, "spread": "500ms"}, {"profile": "thread", "takes": "300ms"}],
            "job": {"timeout": "5s", "heartbeat": "200ms", "retries": 3},
        },
    )  # fmt: skip


def run(of: Plan, variant: str, seed: int = 1, **fields: Any) -> SimResult:
    """One run of a variant."""
    patch = variant.partition("@")[0]
    return run_one(SimRequest(plan=of, variant=variant, patch=patch, seed=seed, **fields))


def key_errors(history: History) -> int:
    """How often saq's own code raised a KeyError."""
    return len(told(history, "ErrorRaised", origin="internal", error="KeyError"))


def kinds(history: History, host: str = "") -> dict[str, int]:
    """How many events of each kind there are, of one host if it is named."""
    events = [event for event in history if not host or event.host.endswith(f"/{host}")]
    return dict(Counter(type(event).__name__ for event in events))


def told(history: History, kind: str, **fields: Any) -> list[Any]:
    """The events of a kind with these fields."""
    return [
        event
        for event in history
        if type(event).__name__ == kind
        and all(getattr(event, name) == value for name, value in fields.items())
    ]
