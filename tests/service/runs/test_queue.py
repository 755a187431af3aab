"""The queue: what becomes of a run from its request to its end, and in which order."""

from __future__ import annotations

import pytest

from tests.service.runs.running import API, Managing, ended, followed, sim

pytestmark = pytest.mark.usefixtures("simulated")


async def test_a_run_goes_from_the_queue_to_its_verdict_and_says_so(manager: Managing) -> None:
    runs = await manager()
    run = runs.submit(sim(seed=7, labels={"pr": "412"}), API)
    assert (run.state, run.place, run.seed, run.plan) == ("queued", 0, 7, "sim")
    events = await followed(runs, run.id)
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    assert [event.data.state for event in events[:2]] == ["queued", "running"]
    assert (events[-1].type, events[-1].data.outcome) == ("ended", "passed")
    phases = [event.data.phase for event in events if event.type == "phase"]
    assert phases == ["safety", "heal", "liveness"]
    whole = runs.get(run.id)
    assert (whole.state, whole.outcome, whole.exit_code) == ("ended", "passed", 0), whole.error
    assert whole.labels == {"pr": "412"}
    assert whole.verdict is not None
    assert [(one.variant, one.outcome) for one in whole.verdict] == [("stock@0.26.3", "VALID")]
    assert whole.events == events[-1].id
    assert sorted(path.name for path in runs.folder(run.id).iterdir()) == [
        "history.jsonl",
        "hosts",
        "junit.xml",
        "metrics.prom",
        "plan.yaml",
        "report.html",
        "summary.md",
        "verdict.json",
    ]


async def test_runs_are_made_one_after_the_other_in_the_order_of_their_requests(
    manager: Managing,
) -> None:
    runs = await manager()
    asked = [runs.submit(sim(seed=seed), API) for seed in (1, 2, 3)]
    assert [runs.get(run.id).place for run in asked] == [0, 1, 2]
    whole = [await ended(runs, run.id) for run in asked]
    times = [(run.started_at, run.ended_at) for run in whole]
    assert sorted(times) == times
    assert all(a[1] <= b[0] for a, b in zip(times, times[1:], strict=False) if a[1] and b[0])
