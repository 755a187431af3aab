"""Workloads: what is enqueued and when, the same for the same seed, and bounded."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from chaos import plan_file, workloads
from chaos.plan import Plan
from chaos.plan_file import models
from chaos.seed import Seed
from chaos.world import Enqueue
from tests.plan.texts import SMALL

SECOND_US = 1_000_000


def same_key(keys: str) -> workloads.Workload:
    return workloads.make(plan_file.loads(SMALL.replace("same_key", f"same_key\n  {keys}")))


def app(calls: str, more: str = "") -> workloads.Workload:
    return workloads.make(
        plan_file.loads(SMALL.replace("same_key", f"app\n  app: a:b\n  calls: {calls}") + more)
    )


def commands(
    workload: workloads.Workload, seconds: int = 10, seed: int = 1
) -> list[tuple[int, Enqueue]]:
    return list(workload.commands(Seed(seed), seconds * SECOND_US))


def bodies(command: Enqueue) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = command.kwargs["bodies"]
    return found


# --- same_key -------------------------------------------------------------------------------------


def test_enqueues_keep_their_pace_and_do_not_drift() -> None:
    times = [at_us for at_us, _ in commands(same_key("rate: 3/s"), seconds=3_000)]
    assert times[:4] == [0, 333_333, 666_666, 999_999]
    assert len(times) == 9_001
    assert {later - earlier for earlier, later in pairwise(times)} == {333_333}


def test_the_same_seed_gives_the_same_enqueues_and_another_one_others() -> None:
    workload = same_key("bodies: [{profile: quick, spread: 1s}]")
    assert commands(workload, seed=4) == commands(workload, seed=4)
    assert commands(workload, seed=4) != commands(workload, seed=5)


def test_a_longer_run_only_goes_on() -> None:
    workload = same_key("bodies: [{profile: quick, spread: 1s}]")
    short = commands(workload, seconds=5)
    assert commands(workload, seconds=9)[: len(short)] == short


def test_the_first_enqueue_of_a_seed_is_this_one_on_every_machine() -> None:
    workload = same_key(
        "bodies: [{profile: stubborn, takes: 1s, spread: 1s, winds_down: 2s}]\n"
        "  job: {timeout: 1500ms, heartbeat: 300ms, retries: 1, ttl: 60s, retry_delay: 2s}"
    )
    (at_us, command), *_ = commands(workload)
    assert at_us == 0
    assert command == Enqueue(
        function="saq_chaos_body",
        key="key-4",
        kwargs={
            "bodies": [
                {"profile": "stubborn", "takes_us": 1_182_067, "winds_down_us": 2_000_000},
                {"profile": "stubborn", "takes_us": 1_524_908, "winds_down_us": 2_000_000},
                {"profile": "stubborn", "takes_us": 1_550_929, "winds_down_us": 2_000_000},
            ]
        },
        options={"timeout": 1.5, "heartbeat": 0.3, "retries": 1, "ttl": 60, "retry_delay": 2},
    )


def test_all_keys_are_used_and_known() -> None:
    workload = same_key("keys: 3")
    used = Counter(str(command.key) for _, command in commands(workload, seconds=60))
    assert sorted(used) == ["key-0", "key-1", "key-2"]
    assert min(used.values()) > 300
    assert workload.known_keys() == ("key-0", "key-1", "key-2")


def test_with_no_shared_keys_every_job_has_its_own() -> None:
    workload = same_key("keys: 0")
    used = [command.key for _, command in commands(workload)]
    assert used[:3] == ["job-0", "job-1", "job-2"]
    assert len(set(used)) == len(used) == 200
    assert workload.known_keys() is None


def test_a_job_has_a_body_for_each_attempt_and_some_more() -> None:
    (_, command), *_ = commands(same_key("job: {retries: 4}"))
    assert len(bodies(command)) == 6
    (_, command), *_ = commands(same_key("job: {retries: 0}"))
    assert len(bodies(command)) == 3
    (_, command), *_ = commands(same_key("job: {retries: 1000}"))
    assert len(bodies(command)) == 12


def test_bodies_are_drawn_by_weight_and_take_their_time_and_spread() -> None:
    workload = same_key(
        "bodies: [{profile: quick, weight: 3, takes: 1s, spread: 1s}, "
        "{profile: raising, error: KeyError, takes: 5s}]"
    )
    drawn = [body for _, command in commands(workload, seconds=100) for body in bodies(command)]
    share = sum(body["profile"] == "quick" for body in drawn) / len(drawn)
    assert 0.73 < share < 0.77
    quick = [body["takes_us"] for body in drawn if body["profile"] == "quick"]
    assert min(quick) >= 1_000_000
    assert max(quick) <= 2_000_000
    assert {(body["takes_us"], body["error"]) for body in drawn if "error" in body} == {
        (5_000_000, "KeyError")
    }


def test_a_job_is_all_thread_or_not_at_all() -> None:
    workload = same_key("bodies: [{profile: thread}, {profile: quick, weight: 3}]")
    found = Counter(
        (command.function, frozenset(body["profile"] for body in bodies(command)))
        for _, command in commands(workload, seconds=100)
    )
    assert set(found) == {
        ("saq_chaos_body", frozenset({"quick"})),
        ("saq_chaos_body_sync", frozenset({"thread"})),
    }
    assert 400 < found["saq_chaos_body_sync", frozenset({"thread"})] < 600


def test_a_share_of_the_jobs_is_scheduled_ahead() -> None:
    workload = same_key("scheduled_share: 0.25\n  scheduled_ahead: 3s")
    found = Counter(command.scheduled_in_us for _, command in commands(workload, seconds=100))
    assert set(found) == {0, 3_000_000}
    assert 430 < found[3_000_000] < 570


def test_saq_gets_whole_seconds_as_int_and_others_as_float() -> None:
    (_, command), *_ = commands(same_key("job: {timeout: 2s, heartbeat: 250ms, ttl: 1m}"))
    assert command.options == {
        "timeout": 2, "heartbeat": 0.25, "retries": 3, "ttl": 60, "retry_delay": 0,
    }  # fmt: skip
    assert [type(value) for value in command.options.values()] == [int, float, int, int, int]


def test_the_limit_of_jobs_bounds_a_workload() -> None:
    plan = plan_file.loads(SMALL + "limits: {jobs: 201}\n")
    assert len(list(workloads.make(plan).commands(Seed(1), 3600 * SECOND_US))) == 201


# --- app ------------------------------------------------------------------------------------------


def test_templates_are_filled_at_any_depth_and_other_braces_stay() -> None:
    workload = app(
        "[{function: f, key: 'k-{i}-{n}', spread: 1, rate: 1/s, "
        "kwargs: {a: 'x{i}', b: [{c: '{n}', d: 3}], e: '{\"j\": 1}', g: null}}]"
    )
    assert [command for _, command in commands(workload, seconds=2)] == [
        Enqueue(
            function="f",
            key=f"k-{i}-0",
            kwargs={"a": f"x{i}", "b": [{"c": "0", "d": 3}], "e": '{"j": 1}', "g": None},
        )
        for i in (0, 1)
    ]


def test_a_call_without_a_key_leaves_it_to_saq() -> None:
    (_, command), *_ = commands(app("[{function: f}]"))
    assert (command.key, command.kwargs, command.options) == (None, {}, {})


def test_a_number_is_drawn_for_each_call_from_its_spread() -> None:
    workload = app("[{function: f, key: 'k-{n}', spread: 3}]")
    used = Counter(command.key for _, command in commands(workload, seconds=100))
    assert sorted(str(key) for key in used) == ["k-0", "k-1", "k-2"]
    assert min(used.values()) > 250


def test_calls_are_merged_by_time_the_first_one_first() -> None:
    workload = app("[{function: f, rate: 1/s}, {function: g, rate: 2/s}]")
    assert [(at_us, command.function) for at_us, command in commands(workload, seconds=2)] == [
        (0, "f"), (0, "g"), (500_000, "g"), (1_000_000, "f"), (1_000_000, "g"), (1_500_000, "g"),
    ]  # fmt: skip


def test_options_are_those_that_the_plan_gives_in_saqs_units() -> None:
    workload = app(
        "[{function: f, scheduled_ahead: 2s, "
        "job: {timeout: 600, heartbeat: 0.5, ttl: -1, retry_backoff: true}}]"
    )
    (_, command), *_ = commands(workload)
    assert command.scheduled_in_us == 2_000_000
    assert command.options == {"timeout": 600, "heartbeat": 0.5, "ttl": -1, "retry_backoff": True}
    assert type(command.options["timeout"]) is int


def test_keys_of_an_app_are_known_if_their_number_is_bounded() -> None:
    assert app("[{function: f, key: 'k-{n}', spread: 2}, {function: g, key: k}]").known_keys() == (
        "k-0", "k-1", "k",
    )  # fmt: skip
    assert app("[{function: f, key: 'k-{i}'}]").known_keys() is None
    assert app("[{function: f}]").known_keys() is None


def test_the_limit_of_jobs_bounds_all_calls_together() -> None:
    workload = app("[{function: f, rate: 1/s}, {function: g, rate: 1/s}]", "limits: {jobs: 21}\n")
    assert len(commands(workload, seconds=3_600)) == 21


def test_every_workload_is_in_the_list() -> None:
    field = Plan.model_fields["workload"]
    kinds = [models.chosen_by(model)[1] for model in models.models_in(field.annotation)]
    assert [name for name, _ in workloads.WORKLOADS] == kinds == ["same_key", "app"]
