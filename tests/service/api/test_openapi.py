"""The committed description: equal to the app's, and complete."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx

from service.api import openapi

ROOT = Path(__file__).parent.parent.parent.parent
METHODS = ("get", "put", "post", "delete")


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    made = json.loads(openapi.FILE.read_text("utf-8"))
    return [
        (method, path, operation)
        for path, item in made["paths"].items()
        for method, operation in item.items()
    ]


def test_the_committed_description_is_that_of_the_app() -> None:
    assert openapi.FILE.read_text("utf-8") == openapi.text(), "run: python -m service.api.openapi"


def test_every_operation_has_a_tag_a_name_and_what_it_is() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]
    assert sorted(set(names)) == sorted(names)
    assert [name for name in names if not re.fullmatch(r"[a-z][A-Za-z]+", name)] == []
    for method, path, operation in operations():
        assert operation["tags"], (method, path)
        assert operation.get("description") or operation.get("summary"), (method, path)


def test_every_operation_says_how_it_refuses() -> None:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for method, path, operation in operations():
        assert method in METHODS
        refusals = {
            status: answer
            for status, answer in operation["responses"].items()
            if int(status) >= 400
        }
        assert {"400", "401", "403", "429"} <= set(refusals), (method, path)
        assert all(answer["content"] == problem for answer in refusals.values()), (method, path)


def test_a_body_or_a_parameter_can_be_invalid() -> None:
    for method, path, operation in operations():
        if operation.get("parameters") or operation.get("requestBody"):
            assert "422" in operation["responses"], (method, path)


def test_every_body_has_an_example_but_a_token() -> None:
    for method, path, operation in operations():
        if "requestBody" in operation and path != "/v1/session":
            content = operation["requestBody"]["content"]["application/json"]
            assert content["examples"], (method, path)


def test_the_documentation_names_every_route_group() -> None:
    text = (ROOT / "docs" / "api.md").read_text("utf-8")
    groups = {"/".join(path.split("/")[:3]) for _, path, _ in operations()}
    assert [group for group in sorted(groups) if group not in text] == []


async def test_a_running_service_gives_its_description(client: httpx.AsyncClient) -> None:
    answer = await client.get("/openapi.json")
    assert answer.json() == json.loads(openapi.FILE.read_text("utf-8"))
