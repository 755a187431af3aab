"""The queue: what becomes of a run from its request to its end, and in which order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise

import pytest

from service.errors import Conflict, Invalid, Locked, NotAllowed, NotFound, TooMany
from service.models import RunRequest
from service.ports import Caller, RunFilter, Trigger
from service.runs.manager import RunManager
from service.runs.resolve import plans
from service.settings import Limits, Settings, Standing
from tests.service.runs.running import ANN, API, Managing, ended, followed, live, sim, until

ROOT = Caller("root", "admin")


@pytest.mark.usefixtures("simulated")
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


@pytest.mark.usefixtures("simulated")
async def test_runs_are_made_one_after_the_other_in_the_order_of_their_requests(
    manager: Managing,
) -> None:
    runs = await manager()
    asked = [runs.submit(sim(seed=seed), API) for seed in (1, 2, 3)]
    assert [runs.get(run.id).place for run in asked] == [0, 1, 2]
    whole = [await ended(runs, run.id) for run in asked]
    times = [(run.started_at, run.ended_at) for run in whole]
    assert sorted(times) == times
    assert all(a[1] <= b[0] for a, b in pairwise(times) if a[1] and b[0])


@pytest.mark.usefixtures("built")
async def test_a_lock_ends_what_runs_and_what_waits_and_outlives_a_restart(
    manager: Managing,
) -> None:
    runs = await manager()
    going, waiting = runs.submit(live(), API), runs.submit(live(), API)
    await until(runs, going.id, lambda event: event.data.phase == "safety")
    lock = await runs.lock("maintenance", ROOT)
    assert (lock.locked, lock.reason, lock.by) == (True, "maintenance", "root")
    whole = await ended(runs, going.id)
    assert (whole.outcome, whole.exit_code) == ("stopped", 130)
    second = runs.get(waiting.id)
    assert (second.outcome, second.error) == ("stopped", "root locked the service: maintenance")
    with pytest.raises(Locked, match="root locked the service: maintenance"):
        runs.submit(sim(), API)
    assert runs.ready() == ""
    await runs.close()
    again = await manager()
    assert again.locked() == lock
    assert (await again.release(ROOT)).locked is False
    assert again.submit(sim(), API).state == "queued"


async def test_a_run_that_waits_is_stopped_at_once_and_one_that_ended_is_a_conflict(
    manager: Managing, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = await idle(manager, monkeypatch)
    run = runs.submit(sim(), API)
    stopped = await runs.stop(run.id, ANN)
    assert (stopped.state, stopped.outcome, stopped.exit_code) == ("ended", "stopped", 130)
    assert [event.type for event in await followed(runs, run.id)] == ["state", "ended"]
    with pytest.raises(Conflict, match="has ended"):
        await runs.stop(run.id, ANN)


async def test_a_full_queue_says_when_to_come_again(
    manager: Managing, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = await idle(manager, monkeypatch, limits=Limits(waiting_runs=2))
    for _ in range(2):
        runs.submit(sim(), API)
    with pytest.raises(TooMany, match="2 runs wait already") as caught:
        runs.submit(sim(), API)
    assert caught.value.retry_after_s == 30


async def test_an_idempotency_key_gives_the_same_run_and_refuses_another_request(
    manager: Managing, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = await idle(manager, monkeypatch)
    first = runs.submit(sim(seed=1), API, "k")
    assert runs.submit(sim(seed=1), API, "k").id == first.id
    with pytest.raises(Conflict, match="used with another request"):
        runs.submit(sim(seed=2), API, "k")
    other = runs.submit(sim(seed=2), Trigger("api", "ben"), "k")
    assert other.id != first.id


async def test_what_may_no_longer_run_when_its_turn_comes_ends_with_the_reason(
    manager: Managing, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = await idle(manager, monkeypatch)
    run = runs.submit(sim(), API)
    await runs.close()
    monkeypatch.undo()
    later = await manager(variants=("stock@0.26.4",))
    whole = await ended(later, run.id)
    assert (whole.outcome, whole.exit_code) == ("error", 2)
    assert whole.error is not None
    assert "it can no longer be made: variant 'stock@0.26.3' is not" in whole.error


@pytest.mark.parametrize(
    ("request_", "error", "text"),
    [
        (RunRequest(plan="none"), NotFound, "no plan is called 'none'"),
        (RunRequest(plan="../etc/passwd"), NotFound, "no plan is called"),
        (RunRequest(plan="sim", variants=["./x"]), NotAllowed, "variant './x'"),
        (RunRequest(plan={"plan": "x"}), Invalid, "the plan is wrong"),
        (RunRequest(plan={"plan": "x", "variants": ["/etc@1"]}), NotAllowed, "variant '/etc@1'"),
        (RunRequest(plan="sim", app="mine"), NotAllowed, "app 'mine'"),
        (RunRequest(plan="sim", redis="prod"), NotAllowed, "Redis 'prod'"),
    ],
)
async def test_a_request_can_name_only_what_the_settings_list(
    manager: Managing, request_: RunRequest, error: type[Exception], text: str
) -> None:
    runs = await manager()
    for ask in (runs.preview, lambda wanted: runs.submit(wanted, API)):
        with pytest.raises(error, match=text):
            ask(request_)
    assert runs.find(RunFilter(), None, 10).runs == []


async def test_every_problem_of_an_inline_plan_is_told_at_once(manager: Managing) -> None:
    runs = await manager()
    with pytest.raises(Invalid) as caught:
        runs.preview(RunRequest(plan={"plan": "Bad Name", "duration": "soon"}))
    assert len(caught.value.problems) >= 4, caught.value.problems


async def test_a_plan_of_more_values_than_anybody_writes_is_refused_before_it_is_read(
    manager: Managing,
) -> None:
    runs = await manager()
    for data in ({f"k{n}": n for n in range(2_000)}, {"faults": [{"fault": "x"}] * 1_400}):
        with pytest.raises(Invalid, match="more than 4000 keys and values: make it smaller"):
            runs.preview(RunRequest(plan={"plan": "x", **data}))


async def test_a_preview_shows_jobs_and_every_injection(manager: Managing) -> None:
    runs = await manager()
    shown = runs.preview(RunRequest(plan="smoke", duration="10s", seed=3))
    assert (shown.plan, shown.seed, shown.duration_s, shown.jobs) == ("smoke", 3, 10.0, 200)
    assert [(one.fault, one.at_s) for one in shown.faults] == [("rolling_restart", 4.0)]


async def test_runs_are_listed_newest_first_by_page_and_filter(
    manager: Managing, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = await idle(manager, monkeypatch)
    asked = [runs.submit(sim(seed=n, labels={"n": str(n % 2)}), API).id for n in range(5)]
    first = runs.find(RunFilter(), None, 2)
    assert [run.id for run in first.runs] == asked[:2:-1]
    runs.submit(sim(seed=9), API)
    second = runs.find(RunFilter(), first.next, 3)
    assert [run.id for run in second.runs] == asked[2::-1]
    assert second.next is None
    odd = runs.find(RunFilter(label="n=1"), None, 10)
    assert [run.id for run in odd.runs] == [asked[3], asked[1]]
    assert runs.find(RunFilter(state="ended"), None, 10).runs == []
    assert len(runs.find(RunFilter(label="n", plan="sim", trigger="api"), None, 10).runs) == 5
    with pytest.raises(Invalid, match="is no cursor"):
        runs.find(RunFilter(), "x", 10)


@pytest.mark.usefixtures("built", "simulated")
async def test_the_standing_soak_repeats_with_a_fresh_seed_and_lets_others_go_first(
    manager: Managing,
) -> None:
    runs = await manager(standing=Standing(plan="live", pause_s=1))
    first = await appeared(runs, 1)
    asked = runs.submit(sim(), API)
    await ended(runs, first[0])
    assert runs.get(first[0]).outcome == "passed", runs.get(first[0]).error
    await ended(runs, asked.id)
    both = await appeared(runs, 2)
    standing = [runs.get(run) for run in both]
    assert standing[1].seed != standing[0].seed
    assert {run.trigger for run in standing} == {"standing"}
    begun = [runs.get(run).created_at for run in (first[0], asked.id, both[0])]
    assert begun == sorted(begun)


async def test_a_standing_soak_that_cannot_be_made_is_tried_again_later(
    manager: Managing, caplog: pytest.LogCaptureFixture
) -> None:
    runs = await manager(standing=Standing(plan="nowhere", pause_s=1))
    while not caplog.records:
        await runs_turn()
    assert "the standing soak cannot be made: no plan is called 'nowhere'" in caplog.text
    assert runs.ready() == ""


# --- helpers --------------------------------------------------------------------------------------


async def idle(manager: Managing, patch: pytest.MonkeyPatch, **changes: object) -> RunManager:
    """A manager whose queue stands still, so that what waits stays waiting."""
    patch.setattr("service.runs.queue.RunQueue._next", lambda self: None)
    return await manager(**changes)


async def runs_turn() -> None:
    """Let the service's tasks go on."""
    await asyncio.sleep(0.02)


async def appeared(runs: RunManager, count: int) -> list[str]:
    """The ids of standing runs, newest first, once there are `count` of them."""
    async with asyncio.timeout(60):
        while len(found := runs.find(RunFilter(trigger="standing"), None, 10).runs) < count:
            await asyncio.sleep(0.02)
    return [run.id for run in found]


def test_settings_of_these_tests_offer_both_plans(settings: Callable[..., Settings]) -> None:

    assert {"sim", "live", "smoke"} <= set(plans(settings()))
