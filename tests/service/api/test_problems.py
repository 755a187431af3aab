"""Every error is a problem document, and docs/api.md explains each kind."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from service.api import problems
from service.errors import TooMany

ROOT = Path(__file__).parent.parent.parent.parent
MEDIA_TYPE = "application/problem+json"
DURATION = "a number and its unit, such as 500ms, 30s, 10m or 2h"


def test_the_documentation_explains_each_kind_with_its_status() -> None:
    text = (ROOT / "docs" / "api.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \| .{20,} \|$", text, re.MULTILINE)
    assert rows == [(kind.kind, str(kind.status)) for kind in problems.kinds()]


async def test_a_path_that_nothing_has_is_a_problem_for_programs_and_a_page_for_people(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.get("/v1/nothing")
    assert (answer.status_code, answer.headers["content-type"]) == (404, MEDIA_TYPE)
    assert "'/v1/nothing'" in answer.json()["detail"]
    page = await client.get("/nothing", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")


async def test_a_method_that_a_path_does_not_know_names_those_it_knows(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.delete("/v1/plans")
    assert (answer.status_code, answer.headers["content-type"]) == (405, MEDIA_TYPE)
    assert answer.headers["allow"] == "GET"
    assert answer.json()["type"] == "/problems/method-not-allowed"


async def test_a_body_that_is_no_json_cannot_be_read(client: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "application/json"}
    answer = await client.post("/v1/runs", content=b'{"plan": ', headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/bad-request")


async def test_every_wrong_value_of_a_body_is_named(client: httpx.AsyncClient) -> None:
    wrong = {"plan": "smoke", "seed": -1, "surprise": 1, "labels": {"a b": "x"}}
    answer = await client.post("/v1/runs", json=wrong)
    assert answer.status_code == 422
    told = answer.json()["problems"]
    assert [one.partition(":")[0] for one in told] == [
        "body.seed",
        "body.labels.a b.[key]",
        "body.surprise",
    ]
    assert answer.json()["detail"] == f"3 problems; the first: {told[0]}"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"duration": "-1s"}, f"body.duration: '-1s' is not what belongs here: write {DURATION}"),
        (
            {"world": "lve"},
            "body.world: 'lve' is not known: did you mean 'live'? Accepted are live, sim",
        ),
        ({"seed": -1}, "body.seed: -1 is out of range: at least 0"),
        ({"webhooks": ["ci"] * 11}, "body.webhooks: is too long: 11 items: at most 10"),
        ({"baseline": "a" * 201}, "body.baseline: is too long: 201 characters: at most 200"),
        ({"sed": 1}, "body.sed: no such field: /openapi.json names those that there are"),
    ],
)
async def test_a_wrong_value_is_told_with_the_way_out(
    client: httpx.AsyncClient, wrong: dict[str, Any], told: str
) -> None:
    answer = await client.post("/v1/runs", json={"plan": "smoke", **wrong})
    assert (answer.status_code, answer.json()["problems"]) == (422, [told])


async def test_a_fault_of_ours_tells_its_id_and_nothing_else(
    app: FastAPI, client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> None:
        raise ValueError("the secret is 1234")

    app.router.add_api_route("/broken", broken)
    with caplog.at_level(logging.ERROR):
        answer = await client.get("/broken")
    assert (answer.status_code, answer.headers["content-type"]) == (500, MEDIA_TYPE)
    identity = answer.headers["x-request-id"]
    assert answer.json()["detail"].endswith(f"request id {identity}")
    assert "1234" not in answer.text
    assert identity in caplog.text
    assert "the secret is 1234" in caplog.text


async def test_an_id_of_the_client_is_not_taken_over(client: httpx.AsyncClient) -> None:
    answer = await client.get("/healthz", headers={"X-Request-Id": "mine"})
    assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["x-request-id"])


async def test_the_type_of_a_problem_leads_to_what_it_means(client: httpx.AsyncClient) -> None:
    problem = (await client.get("/v1/runs/none")).json()
    answer = await client.get(problem["type"])
    assert (answer.status_code, answer.json()) == (
        200,
        {
            "type": "/problems/not-found",
            "title": "There is no such thing",
            "status": 404,
            "meaning": "Nothing has that name.",
        },
    )
    assert (await client.get("/problems/no-such")).status_code == 404


def test_a_problem_says_when_to_come_again() -> None:
    answer = problems.response(TooMany("50 runs wait", retry_after_s=7))
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")


def test_problems_of_one_status_are_described_together() -> None:
    from service.errors import Invalid, NotAllowed

    described = problems.answers(Invalid, NotAllowed)
    assert list(described) == [400, 401, 403, 422, 429, 503]
    assert described[422]["description"] == (
        "The request is wrong; The server's operator has not allowed this"
    )


async def test_probes_may_ask_for_the_head_alone(client: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/readyz"):
        answer = await client.head(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
