"""What is committed is what the builder makes; promtool and the docs agree with it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from dashboards.builder.output import FOLDER, files
from dashboards.builder.provisioning import BOARDS
from dashboards.builder.rules import ALERTS, RUNBOOKS

ROOT = Path(__file__).parents[2]
PROMETHEUS = FOLDER / "prometheus"
FILES = files()


def promtool(*arguments: str) -> str:
    """What promtool says; it must be content."""
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed here: apt-get install prometheus")
    done = subprocess.run(
        [found, *arguments], cwd=PROMETHEUS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_committed_file_is_what_the_builder_makes(name: str) -> None:
    assert (FOLDER / name).read_text("utf-8") == FILES[name], "run: python -m dashboards.builder"


def test_no_committed_file_is_left_over() -> None:
    kept = {*FILES, "prometheus/rules_test.yml"}
    there = [path for name in ("grafana", "prometheus") for path in (FOLDER / name).rglob("*.*")]
    assert {path.relative_to(FOLDER).as_posix() for path in there if path.is_file()} == kept


def test_promtool_takes_the_configuration_and_its_rules() -> None:
    said = promtool("check", "config", "prometheus.yml")
    assert "SUCCESS: 2 rule files found" in said
    assert f"SUCCESS: {len(ALERTS)} rules found" in said


def test_the_configuration_with_a_token_differs_by_its_file_alone(tmp_path: Path) -> None:
    plain, token = (
        yaml.safe_load(FILES[f"prometheus/{name}.yml"])
        for name in ("prometheus", "prometheus-token")
    )
    read = token["scrape_configs"][0].pop("authorization")
    assert read == {"credentials_file": "/secrets/viewer-token"}
    assert token == plain
    here = tmp_path / "prometheus"
    shutil.copytree(PROMETHEUS, here)
    (here / "viewer-token").write_text("a-token")
    config = here / "prometheus-token.yml"
    config.write_text(config.read_text().replace("/secrets/viewer-token", "viewer-token"))
    promtool("check", "config", str(config))


def test_every_alert_fires_when_it_should_and_not_before() -> None:
    promtool("test", "rules", "rules_test.yml")
    tested = yaml.safe_load((PROMETHEUS / "rules_test.yml").read_text("utf-8"))["tests"]
    fired = {
        one["alertname"]
        for test in tested
        for one in test["alert_rule_test"]
        if "exp_alerts" in one
    }
    quiet = {one["alertname"] for one in tested[0]["alert_rule_test"]}
    assert fired == quiet == {alert.name for alert in ALERTS}


def test_every_alert_has_its_runbook_and_every_runbook_its_alert() -> None:
    text = (ROOT / RUNBOOKS).read_text("utf-8")
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert list(sections) == [alert.name for alert in ALERTS]
    for alert in ALERTS:
        assert alert.runbook == f"docs/runbooks.md#{alert.name.lower()}"
        for part in ("**Means.**", "**Look at.**", "**Do.**"):
            assert part in sections[alert.name], f"{alert.name} lacks {part}"


def test_links_between_runbooks_lead_somewhere() -> None:
    text = (ROOT / RUNBOOKS).read_text("utf-8")
    known = {title.lower() for title in re.findall(r"^## (\w+)$", text, re.MULTILINE)}
    assert set(re.findall(r"\(#([\w-]+)\)", text)) <= known


def test_grafana_finds_the_boards_where_it_is_told() -> None:
    provider = yaml.safe_load(FILES["grafana/provisioning/dashboards/boards.yml"])["providers"][0]
    source = yaml.safe_load(FILES["grafana/provisioning/datasources/prometheus.yml"])
    assert provider["options"]["path"] == BOARDS == "/var/lib/grafana/boards"
    assert source["datasources"][0]["url"] == "http://prometheus:9090"
