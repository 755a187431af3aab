"""docs/security.md names a test for each threat, and each test that it names is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent.parent.parent / "docs" / "security.md"
ROW = re.compile(r"\|(.+)\|(.+)\| `(test_\w+\.py)::(test_\w+)` \|")
BESIDES = {"test_threat_model.py"}


def rows() -> list[str]:
    """The lines of the table of threats."""
    section = PAGE.read_text("utf-8").partition("## What is defended")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return lines[2:]


def functions_of(path: Path) -> list[str]:
    tree = ast.parse(path.read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node.name for node in tree.body if isinstance(node, kinds)]


def test_every_line_of_the_threat_model_names_a_test_that_is_there() -> None:
    found = rows()
    assert len(found) > 50
    problems = []
    for line in found:
        match = ROW.fullmatch(line)
        if match is None:
            problems.append(f"names no test: {line}")
        elif not (HERE / match[3]).is_file() or match[4] not in functions_of(HERE / match[3]):
            problems.append(f"there is no {match[3]}::{match[4]}")
    assert problems == []


def test_no_test_stands_for_two_threats_and_every_file_for_one() -> None:
    matches = [match for line in rows() if (match := ROW.fullmatch(line))]
    names = [f"{match[3]}::{match[4]}" for match in matches]
    assert sorted(names) == sorted(dict.fromkeys(names))
    files = {path.name for path in HERE.glob("test_*.py")}
    assert files - {match[3] for match in matches} == BESIDES
