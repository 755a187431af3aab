"""The rules of grafana/dashboard-linter, ported: one test for each rule, by its name there.

Left out: `template-instance-rule` and `target-instance-rule`, for a service is one instance, and
its boards add up over whatever instances there are; `uneditable-dashboard`, for the boards are
provisioned with `allowUiUpdates: false`, and copying one to change it should be easy.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.promql import boards, filled, panels

BOARDS = boards()
every_board = pytest.mark.parametrize("name", sorted(BOARDS))
WITHOUT_UNIT = ("none",)  # the linter takes it as a unit; counts of things have no other
COUNTED = re.compile(r"\b(rate|irate|increase)\((\w+)\{[^}]*\}\[([^\]]+)\]")


def targets(board: dict[str, Any]) -> list[tuple[str, str]]:
    """Title and query of everything that a board asks."""
    return [
        (f"{panel['title']} {target['refId']}", target["expr"])
        for panel in panels(board)
        for target in panel["targets"]
    ]


def variables(board: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in board["templating"]["list"]}


@every_board
def test_template_datasource_rule(name: str) -> None:
    datasource = variables(BOARDS[name])["datasource"]
    assert (datasource["type"], datasource["query"]) == ("datasource", "prometheus")
    assert datasource["label"] == "Data source"


@every_board
def test_template_job_rule(name: str) -> None:
    job = variables(BOARDS[name])["job"]
    assert job["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert (job["type"], job["label"], job["multi"], job["includeAll"]) == (
        "query",
        "Job",
        True,
        True,
    )
    assert job["allValue"] == ".+"


@every_board
def test_template_label_promql_rule(name: str) -> None:
    queries = [one["query"] for one in BOARDS[name]["templating"]["list"] if one["type"] == "query"]
    assert [one for one in queries if not re.fullmatch(r"label_values\(.+, \w+\)", one)] == []


@every_board
def test_template_on_time_change_reload_rule(name: str) -> None:
    queries = [one for one in BOARDS[name]["templating"]["list"] if one["type"] == "query"]
    assert {one["refresh"] for one in queries} == {2}


@every_board
def test_panel_datasource_rule(name: str) -> None:
    used = [
        part["datasource"] for panel in panels(BOARDS[name]) for part in (panel, *panel["targets"])
    ]
    assert [one for one in used if one != {"type": "prometheus", "uid": "${datasource}"}] == []


@every_board
def test_panel_title_description_rule(name: str) -> None:
    bare = [
        panel["id"]
        for panel in panels(BOARDS[name])
        if not panel["title"] or not panel["description"].endswith(".")
    ]
    assert bare == []


@every_board
def test_panel_units_rule(name: str) -> None:
    known = ("s", "cps", "reqps", "percentunit", *WITHOUT_UNIT)
    units = {p["title"]: p["fieldConfig"]["defaults"].get("unit", "") for p in panels(BOARDS[name])}
    assert {title: unit for title, unit in units.items() if unit not in known} == {}


@every_board
def test_panel_no_targets_rule(name: str) -> None:
    assert [panel["title"] for panel in panels(BOARDS[name]) if not panel["targets"]] == []


@every_board
def test_target_job_rule(name: str) -> None:
    """Every selector names the job, by a matcher for its variable."""
    loose = [
        (where, selector)
        for where, expr in targets(BOARDS[name])
        for selector in re.findall(r"(?:saq|saqchaos)_\w+(?:\{[^}]*\})?", expr)
        if 'job=~"$job"' not in selector
    ]
    assert loose == []


@every_board
def test_target_rate_interval_rule(name: str) -> None:
    """`$__rate_interval`; `$__range` where a panel says "in the range that is shown"."""
    texts = {panel["title"]: panel["description"] for panel in panels(BOARDS[name])}
    found = [
        (where, function, over)
        for where, expr in targets(BOARDS[name])
        for function, _, over in COUNTED.findall(expr)
    ]
    ranged = [one for one in found if one[1:] == ("increase", "$__range")]
    assert [one for one in found if one not in ranged and one[2] != "$__rate_interval"] == []
    silent = [one[0] for one in ranged if "in the range that is shown" not in texts[one[0][:-2]]]
    assert silent == []
    assert found != []


@every_board
def test_target_counter_agg_rule(name: str) -> None:
    """A counter is only ever looked at through rate() or increase()."""
    bare = []
    for where, expr in targets(BOARDS[name]):
        counters = re.findall(r"\b\w+_(?:total|bucket|sum|count)\b(?=\{)", expr)
        changed = [metric for _, metric, _ in COUNTED.findall(expr)]
        bare += [(where, one) for one in counters if one not in changed]
    assert bare == []


@every_board
def test_target_legend_rule(name: str) -> None:
    """Every series can be told from the others: its legend names what it is grouped by."""
    problems = []
    for panel in panels(BOARDS[name]):
        for target in panel["targets"]:
            grouped = re.search(r"^(?:sum|max) by \(([^)]+)\)", target["expr"])
            labels = grouped[1].split(", ") if grouped and target["format"] == "time_series" else []
            fixed = {"state"} if "incomplete" in target["expr"] else set()
            missing = [
                label
                for label in labels
                if label != "le"
                and f"{{{{{label}}}}}" not in target["legendFormat"]
                and label not in fixed
            ]
            if missing or not target["legendFormat"]:
                problems.append((panel["title"], missing))
    assert problems == []


@every_board
def test_target_promql_rule(name: str, tmp_path: Path) -> None:
    """Prometheus' own parser takes every query."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed here: apt-get install prometheus")
    exprs = [filled(expr) for _, expr in targets(BOARDS[name])]
    annotations = BOARDS[name]["annotations"]["list"]
    exprs += [filled(one["expr"]) for one in annotations]
    rules = [f"- {{record: 'a:b{n}', expr: {quoted(expr)}}}" for n, expr in enumerate(exprs)]
    text = "groups:\n- name: all\n  rules:\n" + "".join(f"  {rule}\n" for rule in rules)
    assert checked(promtool, tmp_path, text) == 0
    assert checked(promtool, tmp_path, text.replace("sum by (variant)", "sum by by (variant)")) != 0


def quoted(expr: str) -> str:
    return "'" + expr.replace("'", "''") + "'"


def checked(promtool: str, folder: Path, text: str) -> int:
    path = folder / "rules.yml"
    path.write_text(text)
    command = [promtool, "check", "rules", str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode


@every_board
def test_ids_and_places_are_taken_once(name: str) -> None:
    everything = BOARDS[name]["panels"]
    ids = [panel["id"] for panel in everything]
    assert len(ids) == len(set(ids))
    cells: list[tuple[int, int]] = []
    for panel in everything:
        place = panel["gridPos"]
        cells += [
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ]
        assert place["x"] + place["w"] <= 24, panel["title"]
    assert len(cells) == len(set(cells)), "panels lie over each other"
    references = [
        [target["refId"] for target in panel["targets"]] for panel in panels(BOARDS[name])
    ]
    assert [one for one in references if len(one) != len(set(one))] == []


@every_board
def test_fault_windows_are_regions_on_every_graph(name: str) -> None:
    (windows,) = BOARDS[name]["annotations"]["list"]
    assert windows["enable"] is True
    assert windows["expr"].endswith("> 0"), "a region is drawn while there are points"
    assert (windows["titleFormat"], windows["step"]) == ("{{fault}}", "1s")


def test_boards_have_names_of_their_own_and_know_each_other() -> None:
    assert {board["uid"]: board["title"] for board in BOARDS.values()} == {
        "saq-chaos-runs": "saq-chaos: chaos runs",
        "saq-queue-health": "saq queue health",
    }
    for board in BOARDS.values():
        assert [link["tags"] for link in board["links"]] == [["saq-chaos"]]
        assert "saq-chaos" in board["tags"]
