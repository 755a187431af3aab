"""The recipes of docs/ci.md are the files of examples/ci, and what they call exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from chaos import plan_file
from service.models import Outcome, Run, RunRequest, State
from tests.test_tidy import command_problems

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "examples" / "ci").iterdir())
WEB = ROOT / "examples" / "ci" / "argo-rollouts-web.yml"  # asks the API, and calls no command
YAML = [path for path in FILES if path.suffix == ".yml" and path != WEB]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_page_shows_the_file_as_it_is(path: Path) -> None:
    language = "yaml" if path.suffix == ".yml" else "python"
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    assert f"```{language}\n{path.read_text('utf-8')}```\n" in page


def command_lines(node: Any) -> list[list[str]]:
    """Every `saq-chaos …` of a recipe: shell lines, and a container's command with its args."""
    if isinstance(node, dict):
        if isinstance(node.get("command"), list):
            return [[*node["command"], *node.get("args", [])]]
        return [line for value in node.values() for line in command_lines(value)]
    if isinstance(node, list):
        return [line for value in node for line in command_lines(value)]
    if isinstance(node, str) and re.match(r"saq-chaos ", node):
        return [shlex.split(re.sub(r"\$\{\{.*?\}\}", "x", node))]
    return []


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_every_command_of_a_recipe_exists_with_its_options(path: Path) -> None:
    found = command_lines(yaml.safe_load(path.read_text("utf-8")))
    assert found, "the recipe calls nothing"
    for words in found:
        rest = words[words.index("saq-chaos") + 1 :]
        assert command_problems(rest) == [], words


def test_what_the_web_provider_sends_is_a_request_and_what_it_looks_at_is_in_the_answer() -> None:
    (metric,) = yaml.safe_load(WEB.read_text("utf-8"))["spec"]["metrics"]
    web = metric["provider"]["web"]
    sent = RunRequest.model_validate(
        {**web["jsonBody"], "variants": ["stock@0.26.4"], "labels": {"rollout": "6f7d"}}
    )
    assert sent.plan in plan_file.shipped()
    assert [one["key"] for one in web["headers"]] == [
        "Authorization", "Content-Type", "Idempotency-Key",
    ]  # fmt: skip
    conditions = f"{metric['successCondition']} {metric['failureCondition']}"
    looked_at = re.findall(r"result\.(\w+) [!=]= \"(\w+)\"", conditions)
    assert looked_at == [("outcome", "passed"), ("state", "ended"), ("outcome", "passed")]
    assert "passed" in get_args(Outcome)
    assert "ended" in get_args(State)
    assert {"outcome", "state"} <= set(Run.model_fields)


def test_an_option_that_does_not_exist_is_seen() -> None:
    assert command_problems(["gate", "--servant=x"]) == ["gate has no --servant"]
