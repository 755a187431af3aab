"""What tests need of the boards and rules: every query, with its variables filled in."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from dashboards.builder.output import files
from dashboards.builder.rules import ALERTS, RECORDINGS

METRIC = re.compile(r"\b(?:saq|saqchaos)_[a-z0-9_]+\b")
FILLED = {
    "$__rate_interval": "15s",
    "$__interval": "5s",
    "$__range": "60s",
    "$job": ".+",
    "$variant": ".+",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One query: where it stands, and its text as Prometheus gets it."""

    where: str
    expr: str


def boards() -> dict[str, dict[str, Any]]:
    """The boards by their files."""
    return {name: json.loads(text) for name, text in files().items() if name.endswith(".json")}


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    """All panels that show something."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def filled(expr: str) -> str:
    """The query with every variable in it replaced."""
    for name, value in FILLED.items():
        expr = expr.replace(name, value)
    return expr


def panel_queries() -> list[Asked]:
    """Every query of every panel and annotation."""
    found = []
    for board in boards().values():
        for panel in panels(board):
            where = f"{board['title']} / {panel['title']}"
            found += [
                Asked(f"{where} / {one['refId']}", filled(one["expr"])) for one in panel["targets"]
            ]
        for one in board["annotations"]["list"]:
            found.append(Asked(f"{board['title']} / {one['name']}", filled(one["expr"])))
    return found


def variable_queries() -> list[tuple[str, str, str]]:
    """Every template variable that asks Prometheus: where, the series, the label."""
    found = []
    for board in boards().values():
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                match = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"])
                assert match is not None, variable["query"]
                where = f"{board['title']} / ${variable['name']}"
                found.append((where, filled(match[1]), match[2]))
    return found


def rule_queries() -> list[Asked]:
    """Every expression of a rule."""
    recorded = [Asked(one.record, one.expr) for one in RECORDINGS]
    return recorded + [Asked(one.name, one.expr) for one in ALERTS]


def metrics_in(expr: str) -> set[str]:
    """The metrics that a query names, but for those that rules record."""
    plain = re.sub(r"\b\w+:\w+:\w+\b", "", expr)
    return set(METRIC.findall(plain))
