"""What a request may name and cost: what the settings list, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaos import plan_file
from chaos.errors import PlanError
from chaos.plan import KillFault, Plan, RedisPauseFault, RollingRestartFault
from service.errors import NotAllowed
from service.models import RunRequest
from service.security.policy import app_of, check, check_fault
from service.settings import AllowedApp, AllowedRedis, AllowedWebhook, Limits, Settings
from tests.service.security.stage import settings_in

SAME_KEY = {"kind": "same_key", "keys": 4, "rate": "10/s"}
APP = "shop.queue:settings"


def planned(**changes: Any) -> dict[str, Any]:
    """A small plan as JSON."""
    return {
        "plan": "mine", "variants": ["stock@0.26.3"], "workload": SAME_KEY, "duration": "10s",
        "drain": "10s", "promises": ["no-internal-errors"], **changes,
    }  # fmt: skip


def calling(**call: Any) -> dict[str, Any]:
    """A plan that calls a function of an app."""
    one = {"function": "send", "rate": "1/s", **call}
    return planned(workload={"kind": "app", "app": APP, "calls": [one]})


def read(plan: dict[str, Any]) -> Plan:
    return plan_file.loads(json.dumps(plan), "plan")


def problems(settings: Settings, plan: dict[str, Any], **request: Any) -> list[str]:
    """What is refused of a request that brings this plan."""
    try:
        check(RunRequest(plan=plan, **request), read(plan), settings)
    except NotAllowed as error:
        return list(error.problems)
    return []


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(
        tmp_path,
        variants=("stock@0.26.3", "guarded@0.26.3", "stock@0.26.4"),
        apps={"shop": AllowedApp(settings=APP)},
        redis={"staging": AllowedRedis(url="redis://:secret@redis.example/0")},
        webhooks={"chat": AllowedWebhook(url="https://chat.example", secret="s")},
        limits=Limits(run_s=60, live_variants=2),
    )


def test_what_is_listed_may_run(settings: Settings) -> None:
    plan = calling(key="user:{i}", kwargs={"user": "{n}", "size": 3, "ratio": "1/2"})
    assert problems(settings, plan, app="shop", redis="staging", webhooks=["chat"]) == []
    assert problems(settings, plan) == []
    assert problems(settings, planned(faults=[{"fault": "redis_pause", "every": "1s",
                                               "for": "10ms"}])) == []  # fmt: skip


@pytest.mark.parametrize(
    "variant",
    [
        "stock@0.26.2", "stock@./saq", "stock@/etc", "stock@~/saq", "stock@installed",
        "os:system@0.26.3", "shop.evil:Worker@installed", "guarded@0.26.3 ",
    ],
)  # fmt: skip
def test_a_variant_is_one_of_the_settings_to_the_letter(settings: Settings, variant: str) -> None:
    found = problems(settings, planned(variants=[variant]))
    listed = "stock@0.26.3, guarded@0.26.3, stock@0.26.4"
    assert found == [
        (
            f"variant {variant!r} is not one that this server offers ({listed}): the operator "
            f"lists them in SAQCHAOS_VARIANTS"
        )
    ]


def test_a_variant_in_the_request_is_held_to_the_same(settings: Settings) -> None:
    found = problems(settings, planned(), variants=["stock@./saq"], baseline="stock@/x")
    assert [line.partition(" is not")[0] for line in found] == [
        "variant 'stock@./saq'", "variant 'stock@/x'"
    ]  # fmt: skip


def test_a_variant_that_the_operator_listed_may_be_a_path_or_a_class(tmp_path: Path) -> None:
    own = settings_in(tmp_path, variants=("stock@./saq", "shop.workers:Mine@0.26.3"))
    assert problems(own, planned(variants=["shop.workers:Mine@0.26.3"])) == []


@pytest.mark.parametrize(
    ("request_names", "what"),
    [
        ({"app": "other"}, "app 'other'"),
        ({"redis": "other"}, "Redis 'other'"),
        ({"webhooks": ["chat", "other"]}, "webhook 'other'"),
    ],
)
def test_apps_servers_and_webhooks_are_named_as_in_the_settings(
    settings: Settings, request_names: dict[str, Any], what: str
) -> None:
    found = problems(settings, planned(), **request_names)
    assert [line.partition(" is not")[0] for line in found] == [what]


def test_a_refusal_shows_no_secret_and_no_address(settings: Settings) -> None:
    with pytest.raises(NotAllowed) as refused:
        check(RunRequest(plan=planned(), redis="x", webhooks=["y"]), read(planned()), settings)
    said = " ".join((refused.value.detail, *refused.value.problems))
    assert "secret" not in said
    assert "example" not in said
    assert "staging" in said


def test_a_plan_imports_only_an_app_of_the_settings(settings: Settings) -> None:
    plan = calling()
    plan["workload"]["app"] = "os.path:join"
    assert [line.partition(" is not")[0] for line in problems(settings, plan)] == [
        "app 'os.path:join'"
    ]
    read_plan = read(calling())
    without = read_plan.workload.model_copy(update={"app": None})
    with pytest.raises(NotAllowed, match="names none: set `app` to one of the server's"):
        check(RunRequest(plan=plan), read_plan.model_copy(update={"workload": without}), settings)


def test_the_app_of_a_plan_runs_with_the_interpreter_that_the_settings_name(
    tmp_path: Path,
) -> None:
    shop = AllowedApp(settings=APP, python=Path("/opt/shop/bin/python"))
    own = settings_in(tmp_path, apps={"shop": shop})
    plan = read(calling())
    assert app_of(RunRequest(plan=calling()), plan, own) is shop
    assert app_of(RunRequest(plan=calling(), app="shop"), plan, own) is shop
    assert app_of(RunRequest(plan=planned()), read(planned()), own) is None


@pytest.mark.parametrize(
    "value",
    [
        "http://internal.example/", "redis://10.0.0.1", "//internal.example", "/etc/passwd",
        " /etc/passwd", "~/.ssh/id", "../secrets", "./x", "..\\x", "C:\\x", "file:x", "a\n//b:",
        "see http://x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["kwargs", "key of kwargs", "deep", "meta"])
def test_a_plan_that_a_request_brings_hands_no_place_to_an_app(
    settings: Settings, value: str, place: str
) -> None:
    plan = {
        "kwargs": calling(kwargs={"a": value}),
        "key of kwargs": calling(kwargs={"a": {value: 1}}),
        "deep": calling(kwargs={"a": [{"b": [value]}]}),
        "meta": calling(job={"meta": {"a": value}}),
    }[place]
    try:
        found = problems(settings, plan)
    except PlanError:
        return  # refused even earlier
    if value == "a\n//b:":
        assert found == []  # two lines of text
    else:
        assert len(found) == 1
        assert "a URL or a path" in found[0]


def test_an_operators_plan_may_hold_them(settings: Settings) -> None:
    plan = read(calling(kwargs={"url": "https://internal.example"}))
    check(RunRequest(plan="mine"), plan, settings)


@pytest.mark.parametrize("fault", ["redis_restart", "redis_pause", "script_flush"])
def test_somebody_elses_server_is_not_touched(settings: Settings, fault: str) -> None:
    length = {} if fault == "script_flush" else {"for": "10ms"}
    plan = planned(faults=[{"fault": fault, "every": "1s", **length}])
    assert problems(settings, plan) == []
    assert problems(settings, plan, redis="staging") == [
        (
            f"{fault} acts on the Redis server itself, and 'staging' is not this service's own: "
            f"take it out, or leave `redis` out"
        )
    ]


def test_a_simulated_run_has_no_server(settings: Settings) -> None:
    assert problems(settings, planned(), redis="staging", world="sim") == [
        "Redis 'staging': the simulator has a Redis of its own; leave `redis` out"
    ]


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ({"duration": "50s"}, True),
        ({"duration": "51s"}, False),
        ({"duration": "20s", "drain": "41s"}, False),
        ({"variants": ["stock@0.26.3", "guarded@0.26.3"], "duration": "50s"}, True),
        (
            {"variants": ["stock@0.26.3", "guarded@0.26.3"], "duration": "21s",
             "order": "in-turn"},
            False,
        ),
    ],
)  # fmt: skip
def test_a_run_with_its_drain_and_its_turns_fits_the_limit(
    settings: Settings, changes: dict[str, Any], allowed: bool
) -> None:
    found = problems(settings, planned(**changes))
    assert (found == []) is allowed
    assert all("SAQCHAOS_LIMITS__RUN_S" in line for line in found)


def test_a_plan_of_the_operator_is_held_to_the_length_too(settings: Settings) -> None:
    with pytest.raises(NotAllowed, match="a run may take 60s"):
        check(RunRequest(plan="mine"), read(planned(duration="2h")), settings)


def test_there_are_only_so_many_variants(settings: Settings) -> None:
    plan = planned(variants=["stock@0.26.3", "guarded@0.26.3", "stock@0.26.4"])
    assert problems(settings, plan) == ["3 variants: at most 2 (SAQCHAOS_LIMITS__LIVE_VARIANTS)"]


def test_a_plan_that_a_request_brings_is_bounded(settings: Settings) -> None:
    plan = planned(
        variants=["stock@0.26.3", "guarded@0.26.3"],
        limits={"jobs": 1_000_001, "events": 5_000_001, "history_bytes": (4 << 30) + 1},
        faults=[{"fault": "rolling_restart", "every": "1s", "max_surge": 30},
                {"fault": "abort", "every": "10us"}],
        workers={"count": 35},
    )  # fmt: skip
    assert problems(settings, plan) == [
        "limits.jobs 1000001: at most 1000000 in a plan that a request brings",
        "limits.events 5000001: at most 5000000 in a plan that a request brings",
        "limits.history_bytes 4294967297: at most 4294967296 in a plan that a request brings",
        "1000010 injections: at most 20000 in a plan that a request brings",
        "65 workers (a surge among them) on 2 variants at the same time: at most 128 processes",
    ]


def test_all_problems_are_told_at_once(settings: Settings) -> None:
    plan = planned(variants=["stock@0.26.2"], duration="1h")
    with pytest.raises(NotAllowed, match=r"stock@0\.26\.2.* \(and 3 more\)") as refused:
        check(RunRequest(plan=plan, app="x", redis="y"), read(plan), settings)
    assert len(refused.value.problems) == 4


def test_a_fault_from_outside_is_held_to_the_same(settings: Settings) -> None:
    plan = read(planned())
    pause = RedisPauseFault.model_validate({"fault": "redis_pause", "at": ("0s",), "for": "1s"})
    check_fault(pause, plan, settings)
    with pytest.raises(NotAllowed, match="'staging' is not this service's own"):
        check_fault(pause, plan, settings, redis="staging")
    late = KillFault.model_validate({"fault": "kill", "at": ("0s",), "replace_after": "61s"})
    with pytest.raises(NotAllowed, match="a fault of 61s: at most 1m"):
        check_fault(late, plan, settings)
    surge = RollingRestartFault.model_validate(
        {"fault": "rolling_restart", "at": ("0s",), "max_surge": 64}
    )
    check_fault(surge, plan, settings)
    with pytest.raises(NotAllowed, match="at most 128 processes"):
        check_fault(surge, plan.model_copy(update={"variants": ("a", "b")}), settings)


# Every text of a plan that is not one of a few words or a pattern without `/` and `:`. A new one is
# a decision: is it compared with the settings, looked up by name, or only shown?
FREE_TEXTS = {
    "Plan.description": "only shown",
    "Plan.variants": "compared with the settings",
    "Plan.baseline": "compared with the settings where it counts",
    "Threshold.that": "`counter op number`, by chaos.plan_file",
    "App.app": "compared with the settings",
    "AppCall.function": "a name in the app's own settings, by chaos.worker.producer",
    "AppCall.key": "a template; the job's key, only stored",
    "AppCall.kwargs": "no URL and no path",
    "AppJob.meta": "no URL and no path",
    "Plan.exposures": "the names of dangers, by chaos.plan_file",
}


def free_texts() -> Iterator[str]:
    """Fields of a plan's models that take any text."""
    schema = plan_file.schema()
    models = {"Plan": schema, **schema["$defs"]} if "$defs" in schema else {"Plan": schema}
    for name, model in models.items():
        for field, described in model.get("properties", {}).items():
            if _takes_any_text(described):
                yield f"{name}.{field}"


def _takes_any_text(described: dict[str, Any]) -> bool:
    if "enum" in described or "const" in described or "$ref" in described:
        return False
    if described.get("type") == "string":
        pattern = described.get("pattern")
        return pattern is None or ":[A-Za-z_]" in pattern
    inner = [*described.get("anyOf", ()), *described.get("oneOf", ())]
    if "items" in described:
        inner.append(described["items"])
    if described.get("type") == "object":
        return True
    return any(_takes_any_text(one) for one in inner)


def test_every_free_text_of_a_plan_is_one_that_was_decided_on() -> None:
    assert sorted(dict.fromkeys(free_texts())) == sorted(FREE_TEXTS)
