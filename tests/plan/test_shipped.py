"""The plans that ship: they load, say what they are, and come along in the wheel."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from chaos import plan_file
from chaos.plan import App, RollingRestartFault, SameKey

ROOT = Path(__file__).parents[2]
NAMES = ("one-key", "production", "rolling-deploy", "same-key", "smoke")


def test_these_plans_ship() -> None:
    assert plan_file.shipped() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_plan_is_sound_and_says_what_it_is(name: str) -> None:
    plan = plan_file.load(name)
    text = plan_file.shipped_path(name).read_text("utf-8")
    assert plan.plan == name
    assert text.startswith("# yaml-language-server: $schema=../docs/plan.schema.json\n#\n# ")
    assert "What it meets" in text or "What is accelerated" in text
    assert "does not meet" in text
    assert len(plan.description) > 30
    assert f"| `{name}` |" in (ROOT / "docs/plans.md").read_text("utf-8")
    assert plan_file.loads(plan_file.dump(plan)) == plan
    schema = Draft202012Validator(plan_file.schema())
    assert list(schema.iter_errors(yaml.safe_load(text))) == []


def test_same_key_compares_the_repairs_with_the_bug() -> None:
    plan = plan_file.load("same-key")
    assert plan.variants == (
        "stock@0.26.3", "by-key@0.26.3", "by-id@0.26.3", "guarded@0.26.3", "stock@0.26.4",
    )  # fmt: skip
    assert (plan.gate, plan.baseline) == ("baseline", "stock@0.26.3")
    assert plan.exposures["slot_collisions"] == 300
    assert plan.duration_us + plan.drain_us < 180_000_000


def test_production_is_the_report_at_its_real_pace() -> None:
    plan = plan_file.load("production")
    assert isinstance(plan.workload, SameKey)
    job, timers = plan.workload.job, plan.workers.timers
    assert (plan.workers.count, plan.workers.concurrency) == (2, 10)
    assert (timers.schedule_us, timers.worker_info_us) == (1_000_000, 10_000_000)
    assert (timers.sweep_us, timers.abort_us) == (60_000_000, 1_000_000)
    assert (job.timeout_us, job.heartbeat_us) == (600_000_000, 120_000_000)
    assert (job.ttl_us, job.retries) == (60_000_000, 2)
    assert plan.workload.interval_us == 10_000_000
    assert plan.workload.scheduled_share > 0
    assert plan.duration_us == 48 * 3_600_000_000
    (deploy,) = (fault for fault in plan.faults if isinstance(fault, RollingRestartFault))
    assert deploy.every_us == 6 * 3_600_000_000


def test_smoke_takes_twenty_seconds_of_load() -> None:
    assert plan_file.load("smoke").duration_us == 20_000_000


def test_no_shipped_plan_needs_an_app() -> None:
    assert [name for name in NAMES if isinstance(plan_file.load(name).workload, App)] == []


def test_the_plans_come_along_in_the_wheel(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    inside = zipfile.ZipFile(wheel).namelist()
    assert [name for name in inside if name.endswith(".yaml")] == [
        f"chaos/plans/{name}.yaml" for name in NAMES
    ]
