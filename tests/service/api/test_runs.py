"""The life of a run over HTTP, on a real server with real runner processes."""

from __future__ import annotations

import gzip
import json
from xml.etree import ElementTree

import httpx

from tests.service.api import made_runs
from tests.service.api.made_runs import VARIANT, wanted

SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_a_run_is_made_and_has_a_place(asked: httpx.Client) -> None:
    answer = asked.post("/v1/runs", json=wanted())
    assert answer.status_code == 201
    made = answer.json()
    assert answer.headers["location"] == f"/v1/runs/{made['id']}"
    assert (made["state"], made["plan"], made["world"]) == ("queued", "smoke", "sim")
    made_runs.follow(asked, made["id"])
    ended = asked.get(answer.headers["location"]).json()
    assert (ended["state"], ended["outcome"], ended["exit_code"]) == ("ended", "unknown", 3)


def test_a_dry_run_shows_the_faults_and_starts_nothing(asked: httpx.Client) -> None:
    before = asked.get("/v1/runs").json()["runs"]
    answer = asked.post("/v1/runs", json={"plan": "smoke", "seed": 7, "dry_run": True})
    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["seed"], shown["duration_s"], shown["drain_s"]) == (7, 20.0, 30.0)
    assert [fault["at_s"] for fault in shown["faults"]] == [4.0, 12.0]
    assert asked.get("/v1/runs").json()["runs"] == before


def test_a_plan_may_be_given_as_it_is_shown(asked: httpx.Client) -> None:
    plan = asked.get("/v1/plans/smoke").json()["plan"]
    answer = asked.post("/v1/runs", json={"plan": {**plan, "seed": 11}, "dry_run": True})
    assert (answer.status_code, answer.json()["seed"]) == (200, 11)


def test_all_problems_of_a_plan_are_told_at_once(asked: httpx.Client) -> None:
    plan = {"plan": "mine", "duration": "soon", "workload": {"kind": "same_key"}, "promise": []}
    answer = asked.post("/v1/runs", json={"plan": plan})
    assert answer.status_code == 422
    problem = answer.json()
    assert problem["type"] == "/problems/invalid"
    text = "\n".join(problem["problems"])
    assert "soon" in text
    assert "promise" in text
    assert len(problem["problems"]) >= 2


def test_the_same_key_gives_the_same_run_and_another_request_is_a_conflict(
    asked: httpx.Client,
) -> None:
    key = {"Idempotency-Key": "deploy-77"}
    first = asked.post("/v1/runs", json=wanted(seed=1), headers=key)
    again = asked.post("/v1/runs", json=wanted(seed=1), headers=key)
    other = asked.post("/v1/runs", json=wanted(seed=2), headers=key)
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 409)
    assert again.json()["id"] == first.json()["id"]
    assert other.json()["type"] == "/problems/conflict"
    made_runs.follow(asked, first.json()["id"])


def test_runs_are_listed_newest_first_a_page_at_a_time(asked: httpx.Client, run: str) -> None:
    made_runs.make(str(asked.base_url), labels={"pr": "413"})
    whole = [one["id"] for one in asked.get("/v1/runs", params={"limit": 200}).json()["runs"]]
    first = asked.get("/v1/runs", params={"limit": 1}).json()
    second = asked.get("/v1/runs", params={"limit": 1, "cursor": first["next"]}).json()
    assert [first["runs"][0]["id"], second["runs"][0]["id"]] == whole[:2]
    by_label = asked.get("/v1/runs", params={"label": "pr=412"}).json()["runs"]
    assert [one["id"] for one in by_label] == [run]
    assert asked.get("/v1/runs", params={"outcome": "failed"}).json()["runs"] == []


def test_everything_that_a_run_left_has_its_format(asked: httpx.Client, run: str) -> None:
    verdict = asked.get(f"/v1/runs/{run}/verdict")
    assert verdict.headers["content-type"] == "application/json"
    assert [one["variant"] for one in verdict.json()["variants"]] == [VARIANT]
    junit = asked.get(f"/v1/runs/{run}/junit")
    assert junit.headers["content-type"] == "application/xml"
    assert ElementTree.fromstring(junit.content).tag == "testsuites"
    summary = asked.get(f"/v1/runs/{run}/summary")
    assert summary.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "smoke" in summary.text
    plan = asked.get(f"/v1/runs/{run}/plan")
    assert plan.headers["content-type"].startswith("application/yaml")
    assert "plan: smoke" in plan.text


def test_a_report_has_no_rights_in_the_browser(asked: httpx.Client, run: str) -> None:
    report = asked.get(f"/v1/runs/{run}/report")
    assert report.headers["content-type"] == "text/html; charset=utf-8"
    assert report.headers["content-security-policy"] == SANDBOX
    assert report.headers["x-content-type-options"] == "nosniff"
    assert "<html" in report.text


def test_a_history_is_streamed_and_packed_only_for_who_takes_that(
    asked: httpx.Client, run: str
) -> None:
    plain = asked.get(f"/v1/runs/{run}/history", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert json.loads(plain.text.splitlines()[0])
    with asked.stream(
        "GET", f"/v1/runs/{run}/history", headers={"Accept-Encoding": "gzip"}
    ) as packed:
        assert packed.headers["content-encoding"] == "gzip"
        raw = b"".join(packed.iter_raw())
    assert gzip.decompress(raw) == plain.content
    assert len(raw) < len(plain.content) / 4


def test_a_run_without_a_finding_has_no_story_and_says_so(asked: httpx.Client, run: str) -> None:
    answer = asked.get(f"/v1/runs/{run}/story")
    assert answer.status_code == 404
    assert "no finding" in answer.json()["detail"]


def test_a_broken_promise_has_a_story_and_is_compared(asked: httpx.Client, run: str) -> None:
    plan = {"plan": "same-key", "duration": "10s", "seed": 3, "variants": ["stock@0.26.3"]}
    broken = made_runs.make(str(asked.base_url), **plan)
    assert broken["outcome"] == "failed"
    story = asked.get(f"/v1/runs/{broken['id']}/story")
    assert story.headers["content-security-policy"] == SANDBOX
    assert "KeyError" in story.text
    found = asked.post(f"/v1/runs/{run}/compare/{broken['id']}").json()
    assert (found["a"]["id"], found["b"]["id"], found["same_plan"]) == (run, broken["id"], False)
    assert {row["variant"] for row in found["rows"]} == {VARIANT, "stock@0.26.3"}


def test_a_run_that_waits_is_stopped_and_deleted(asked: httpx.Client) -> None:
    first = asked.post("/v1/runs", json=wanted(plan="same-key", duration="2m")).json()["id"]
    second = asked.post("/v1/runs", json=wanted()).json()["id"]
    refused = asked.delete(f"/v1/runs/{second}")
    assert refused.status_code == 409
    stopped = asked.post(f"/v1/runs/{second}/stop")
    assert (stopped.status_code, stopped.json()["outcome"]) == (202, "stopped")
    assert asked.delete(f"/v1/runs/{second}").status_code == 204
    assert asked.get(f"/v1/runs/{second}").status_code == 404
    asked.post(f"/v1/runs/{first}/stop")
    made_runs.follow(asked, first)


def test_a_locked_service_starts_nothing_until_it_is_released(asked: httpx.Client) -> None:
    try:
        locked = asked.put("/v1/lock", json={"reason": "an incident"})
        assert (locked.status_code, locked.json()["locked"]) == (200, True)
        refused = asked.post("/v1/runs", json=wanted())
        assert (refused.status_code, refused.json()["type"]) == (423, "/problems/locked")
        assert "an incident" in refused.json()["detail"]
    finally:
        assert asked.delete("/v1/lock").json()["locked"] is False


def test_who_changed_what_stands_in_the_audit_log(asked: httpx.Client, run: str) -> None:
    asked.post(f"/v1/runs/{run}/stop")
    entry = asked.get("/v1/audit", params={"limit": 1}).json()["entries"][0]
    assert (entry["caller"], entry["action"], entry["target"]) == ("local", "run.stop", run)
    assert entry["outcome"] == "refused"
    assert entry["detail"].startswith("conflict: ")
