"""What the service offers, over HTTP: plans, variants, faults, promises; and its health."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
import yaml
from fastapi import FastAPI

from chaos import plan_file
from chaos.version import VERSION
from service.api.catalogue import Catalogue
from service.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    plans = tmp_path / "plans"
    plans.mkdir()
    own = plan_file.shipped_path("smoke").read_text("utf-8").replace("plan: smoke", "plan: ours")
    (plans / "ours.yaml").write_text(own, "utf-8")
    (plans / "torn.yaml").write_text("plan: torn\nduration: soon\n", "utf-8")
    return Settings(
        data_dir=tmp_path / "data", plans_dir=plans, variants=("stock@0.26.3", "by-id@0.22.4")
    )


async def test_plans_are_those_that_ship_and_those_of_the_server(
    client: httpx.AsyncClient,
) -> None:
    found = (await client.get("/v1/plans")).json()
    expected = [("ours", "server"), *((name, "shipped") for name in plan_file.shipped())]
    assert [(one["name"], one["source"]) for one in found["plans"]] == sorted(expected)
    (smoke,) = [one for one in found["plans"] if one["name"] == "smoke"]
    assert (smoke["duration_s"], smoke["drain_s"], smoke["gate"]) == (20.0, 30.0, "strict")
    assert smoke["faults"] == ["rolling_restart"]


async def test_a_broken_plan_hides_no_other_and_names_no_folder(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    answer = await client.get("/v1/plans")
    broken = answer.json()["broken"]
    assert list(broken) == ["torn"]
    assert broken["torn"].startswith("torn.yaml:")
    assert str(tmp_path) not in answer.text


async def test_a_plan_that_is_put_there_or_changed_is_seen_at_once(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    file = tmp_path / "plans" / "torn.yaml"
    text = plan_file.shipped_path("smoke").read_text("utf-8")
    assert "torn" in (await client.get("/v1/plans")).json()["broken"]
    file.write_text(text.replace("plan: smoke", "plan: torn"), "utf-8")
    assert (await client.get("/v1/plans")).json()["broken"] == {}
    assert (await client.get("/v1/plans/torn")).json()["summary"]["source"] == "server"
    file.unlink()
    assert (await client.get("/v1/plans/torn")).status_code == 404


async def test_a_plan_is_its_text_and_the_same_as_data(client: httpx.AsyncClient) -> None:
    found = (await client.get("/v1/plans/same-key")).json()
    assert found["yaml"] == plan_file.shipped_path("same-key").read_text("utf-8")
    again = plan_file.loads(yaml.safe_dump(found["plan"]))
    assert again == plan_file.load("same-key")
    assert found["summary"]["name"] == "same-key"


async def test_an_unknown_plan_is_a_problem_that_lists_those_there_are(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.get("/v1/plans/nope")
    assert (answer.status_code, answer.headers["content-type"]) == (
        404,
        "application/problem+json",
    )
    assert answer.json()["type"] == "/problems/not-found"
    assert "smoke" in answer.json()["detail"]


async def test_variants_say_what_they_are_and_what_cannot_run(client: httpx.AsyncClient) -> None:
    found = (await client.get("/v1/variants")).json()["variants"]
    assert [(one["variant"], one["patch"], one["saq"]) for one in found] == [
        ("stock@0.26.3", "stock", "0.26.3"),
        ("by-id@0.22.4", "by-id", "0.22.4"),
    ]
    assert found[0]["problem"] is None
    assert "needs saq 0.26" in found[1]["problem"]


async def test_targets_are_names_and_nothing_of_where_they_lead(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path,
        apps={"shop": {"settings": "shop.main:settings", "python": "/srv/venv/bin/python"}},
        redis={"test": {"url": "redis://:secret@10.0.0.7/0"}, "another": {"url": "redis://h/0"}},
        webhooks={"ci": {"url": "https://ci.example/hook", "secret": "s"}},
    )
    assert Catalogue(settings).targets().model_dump() == {
        "apps": ["shop"], "redis": ["another", "test"], "webhooks": ["ci"],
    }  # fmt: skip


async def test_a_server_that_lists_no_targets_says_so(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/targets")).json() == {"apps": [], "redis": [], "webhooks": []}


async def test_faults_carry_the_schema_of_what_a_plan_writes(client: httpx.AsyncClient) -> None:
    found = (await client.get("/v1/faults")).json()["faults"]
    faults = {one["fault"]: one for one in found}
    assert list(faults) == [name for name, _ in plan_file.faults()]
    assert faults["kill"]["worlds"] == ["live", "sim"]
    assert faults["cut"]["worlds"] == ["sim"]
    assert faults["sweep"]["fields"]["properties"]["wait"]["default"] == "5s"


async def test_checkers_are_the_promises_with_their_claims(client: httpx.AsyncClient) -> None:
    found = (await client.get("/v1/checkers")).json()["checkers"]
    assert found[0]["promise"] == "no-internal-errors"
    assert all(one["claim"] and one["exposure"] for one in found)


async def test_the_process_is_alive_and_ready(client: httpx.AsyncClient) -> None:
    alive = await client.get("/healthz")
    assert (alive.status_code, alive.json()) == (200, {"status": "ok", "version": VERSION})
    ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})


async def test_a_service_that_has_not_started_is_alive_and_not_ready(settings: Settings) -> None:
    from service.app import make_app

    made: FastAPI = make_app(settings)
    transport = httpx.ASGITransport(app=made)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as asked:
        assert (await asked.get("/healthz")).status_code == 200
        ready = await asked.get("/readyz")
    assert (ready.status_code, ready.headers["retry-after"]) == (503, "2")
    assert ready.json()["type"] == "/problems/unavailable"


async def test_metrics_come_in_the_format_that_is_asked_for(client: httpx.AsyncClient) -> None:
    plain = await client.get("/metrics")
    assert plain.headers["content-type"].startswith("text/plain; version=")
    assert "saqchaos_runs_total" in plain.text
    asked = {"Accept": "application/openmetrics-text; version=1.0.0"}
    openmetrics = await client.get("/metrics", headers=asked)
    assert openmetrics.headers["content-type"].startswith("application/openmetrics-text")
    assert openmetrics.text.endswith("# EOF\n")
