"""A plan written out loads back to an equal one; what the loader takes, the schema takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

from chaos import plan_file
from chaos.plan import FAULTS, Plan
from chaos.plan_file import models, reference
from chaos.plan_file.models import STAND_INS
from tests.plan.strategies import Form, plans
from tests.plan.texts import SMALL, problems

ROOT = Path(__file__).parents[2]
SCHEMA = Draft202012Validator(plan_file.schema())
PATIENT = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def text_of(form: Form) -> str:
    """JSON is YAML, but for characters that it would write in two halves."""
    return json.dumps(form, ensure_ascii=False)


def complaints(form: Any) -> list[str]:
    return [error.message for error in SCHEMA.iter_errors(form)]


@PATIENT
@given(plans)
def test_a_plan_written_out_loads_back_to_an_equal_one(form: Form) -> None:
    plan = plan_file.loads(text_of(form))
    written = plan_file.dump(plan)
    again = plan_file.loads(written)
    assert again == plan
    assert again.digest() == plan.digest()
    assert plan_file.dump(again) == written


@PATIENT
@given(plans)
def test_what_the_loader_takes_the_schema_takes(form: Form) -> None:
    plan = plan_file.loads(text_of(form))
    assert complaints(form) == []
    assert complaints(yaml.safe_load(plan_file.dump(plan))) == []


@pytest.mark.parametrize(
    "text",
    [
        SMALL + "x: 1\n",
        SMALL + "workers: {cuont: 3}\n",
        SMALL + "workers: {timers: {poll: 1s}}\n",
        SMALL.replace("same_key", "same_key\n  key: 3"),
        SMALL.replace("same_key", "same_key\n  bodies: [{profile: quick, take: 1s}]"),
        SMALL.replace("same_key", "same_key\n  job: {time_out: 1s}"),
        SMALL.replace("same_key", "app\n  app: a:b\n  calls: [{function: f, keys: a}]"),
        SMALL + "faults: [{fault: kill, every: 1s, for: 1s}]\n",
        SMALL + "limits: {job: 10}\n",
        SMALL + "thresholds: [{that: key_errors == 0, abort: true}]\n",
        SMALL + "exposures: {overlap: 1}\n",
        SMALL.replace("no-internal-errors", "no-errors"),
        SMALL.replace("10s", "0s"),
        SMALL.replace("same_key", "same_key\n  rate: 20"),
        SMALL.replace("same_key", "none"),
    ],
)
def test_unknown_keys_and_names_are_refused_by_loader_and_schema(text: str) -> None:
    assert problems(text) != []
    assert complaints(yaml.safe_load(text)) != []


def test_the_committed_schema_is_the_one_that_the_models_make() -> None:
    Draft202012Validator.check_schema(plan_file.schema())
    assert (ROOT / "docs/plan.schema.json").read_text("utf-8") == reference.schema_text()


def test_the_page_of_plans_has_the_tables_that_the_models_make() -> None:
    page = (ROOT / "docs/plans.md").read_text("utf-8")
    assert reference.page(page) == page
    assert "| `winds_down` | `300ms` | duration above 0 |" in page


def test_the_small_plan_on_the_page_loads() -> None:
    page = (ROOT / "docs/plans.md").read_text("utf-8")
    text = page.partition("## A small one")[2].partition("```yaml\n")[2].partition("```")[0]
    assert plan_file.loads(text).plan == "my-plan"


def test_every_key_has_a_sentence() -> None:
    found = [
        key
        for model in reference.all_models()
        for key, field in models.keys_of(model)
        if not field.description
    ]
    assert found == []


def test_every_required_key_has_a_stand_in_so_that_all_problems_can_be_told() -> None:
    required = {
        key
        for model in reference.all_models()
        for key, field in models.keys_of(model)
        if field.is_required()
    }
    assert required == set(STAND_INS)


def test_the_faults_are_named_where_others_read_them() -> None:
    field = Plan.model_fields["faults"]
    assert tuple(models.chosen_by(model)[1] for model in models.models_in(field.annotation)) == (
        FAULTS
    )
    assert plan_file.faults()[0] == (
        "sweep",
        "A forced sweep: the lock is cleared, and stuck jobs are waited for one after the other.",
    )


def test_a_dumped_plan_writes_defaults_out_and_idle_keys_not() -> None:
    form = yaml.safe_load(plan_file.dump(plan_file.loads(SMALL)))
    assert form["drain"] == "30s"
    assert form["workload"]["bodies"] == [
        {"profile": "quick", "weight": 1, "takes": "50ms", "spread": "0s"}
    ]
    assert "baseline" not in form
    assert "scheduled_ahead" not in form["workload"]


def test_of_an_apps_workers_only_what_the_plan_says_is_written() -> None:
    text = SMALL.replace("same_key", "app\n  app: a:b\n  calls: [{function: f}]")
    plan = plan_file.loads(text + "workers: {grace: 3s, timers: {abort: 100ms}}\n")
    again = plan_file.loads(plan_file.dump(plan))
    assert again == plan
    assert again.workers.model_fields_set == {"grace_us", "timers"}
    assert again.workers.timers.model_fields_set == {"abort_us"}
