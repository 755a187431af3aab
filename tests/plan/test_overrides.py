"""What the command line sets: it goes through the same checks, and its problems name the flag."""

from __future__ import annotations

import pytest

from chaos import plan_file
from chaos.plan import App, Plan
from chaos.plan_file import Overrides
from tests.plan.texts import SMALL, problems

COMPARING = (
    SMALL + "variants: [stock@0.26.3, by-id@0.26.3]\nbaseline: stock@0.26.3\ngate: baseline\n"
)
APP = SMALL.replace("same_key", "app\n  calls: [{function: f}]")


def gate(plan: Plan) -> tuple[str, str | None, tuple[str, ...]]:
    return plan.gate, plan.baseline, plan.variants


def test_each_override_replaces_what_the_plan_says() -> None:
    plan = plan_file.loads(
        SMALL,
        overrides=Overrides(
            variants=("stock@0.26.3", "guarded@0.26.3"),
            seed=7,
            duration="1m",
            drain="5s",
            order="in-turn",
            workers=3,
            concurrency=4,
        ),
    )
    assert (plan.variants, plan.seed) == (("stock@0.26.3", "guarded@0.26.3"), 7)
    assert (plan.duration_us, plan.drain_us, plan.order) == (60_000_000, 5_000_000, "in-turn")
    assert (plan.workers.count, plan.workers.concurrency) == (3, 4)


def test_an_app_goes_to_the_workload_that_has_a_key_for_it() -> None:
    workload = plan_file.loads(APP, overrides=Overrides(app="a.b:settings")).workload
    assert isinstance(workload, App)
    assert workload.app == "a.b:settings"
    assert plan_file.loads(SMALL, overrides=Overrides(app="a.b:settings")) == plan_file.loads(SMALL)


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        (
            Overrides(duration="soon"),
            "--duration: 'soon' is no duration: write a number and us, ms, s, m or h ('250ms')",
        ),
        (Overrides(seed=-1), "--seed: -1 is out of range: from 0 to below 9223372036854775808"),
        (
            Overrides(gate="loose"),
            "--gate: 'loose' is not known: accepted are strict, baseline",
        ),
        (
            Overrides(gate="baseline"),
            "--gate: gate `baseline` needs `baseline`: one of stock@0.26.4",
        ),
        (
            Overrides(gate="strict", baseline="stock@0.26.4"),
            (
                "--baseline: nothing acts on this key: only gate `baseline` compares with it. "
                "Remove it"
            ),
        ),
        (Overrides(workers=0), "--workers: 0 is out of range: from 1 to 64"),
        (
            Overrides(baseline="stock@0.26.4"),
            "--baseline: 'stock@0.26.4' is the only variant: there is nothing to compare with it",
        ),
    ],
)
def test_a_problem_with_an_override_names_the_flag(overrides: Overrides, problem: str) -> None:
    assert problems(SMALL, overrides) == [problem]


def test_a_wrong_variant_names_the_flag() -> None:
    (problem,) = problems(SMALL, Overrides(variants=("stok@0.26.3",)))
    assert problem.startswith("--variant: unknown patch 'stok' in 'stok@0.26.3'")


def test_a_wrong_app_names_the_flag() -> None:
    (problem,) = problems(APP, Overrides(app="a.b.settings"))
    assert problem.startswith("--app: 'a.b.settings' is not what belongs here")


def test_problems_of_the_file_come_before_those_of_the_command_line() -> None:
    found = problems(SMALL + "x: 1\n", Overrides(drain="0s"))
    assert [problem.split(": ")[0] for problem in found] == ["6:1", "--drain"]


def test_a_baseline_that_is_no_variant_joins_them_and_means_its_gate() -> None:
    text = SMALL + "variants: [stock@0.26.4]\n"
    plan = plan_file.loads(text, overrides=Overrides(baseline="stock@0.26.3"))
    assert gate(plan) == ("baseline", "stock@0.26.3", ("stock@0.26.3", "stock@0.26.4"))


def test_a_baseline_without_variants_in_the_plan_is_compared_with_the_default() -> None:
    plan = plan_file.loads(SMALL, overrides=Overrides(baseline="stock@0.26.3"))
    assert gate(plan) == ("baseline", "stock@0.26.3", ("stock@0.26.3", "stock@0.26.4"))


@pytest.mark.parametrize(
    ("overrides", "settled"),
    [
        (Overrides(), ("baseline", "stock@0.26.3", ("stock@0.26.3", "by-id@0.26.3"))),
        (
            Overrides(variants=("stock@0.26.3", "guarded@0.26.3")),
            ("baseline", "stock@0.26.3", ("stock@0.26.3", "guarded@0.26.3")),
        ),
        (Overrides(variants=("guarded@0.26.3",)), ("strict", None, ("guarded@0.26.3",))),
        (Overrides(variants=("stock@0.26.3",)), ("strict", None, ("stock@0.26.3",))),
        (
            Overrides(variants=("guarded@0.26.3",), gate="baseline"),
            ("baseline", "stock@0.26.3", ("stock@0.26.3", "guarded@0.26.3")),
        ),
        (
            Overrides(variants=("guarded@installed",), gate="baseline", baseline="stock@installed"),
            ("baseline", "stock@installed", ("stock@installed", "guarded@installed")),
        ),
        (
            Overrides(variants=("guarded@installed",), baseline="stock@installed"),
            ("baseline", "stock@installed", ("stock@installed", "guarded@installed")),
        ),
        (Overrides(gate="strict"), ("strict", None, ("stock@0.26.3", "by-id@0.26.3"))),
        (
            Overrides(baseline="by-id@0.26.3"),
            ("baseline", "by-id@0.26.3", ("stock@0.26.3", "by-id@0.26.3")),
        ),
    ],
)
def test_gate_baseline_and_variants_are_made_to_fit(
    overrides: Overrides, settled: tuple[str, str | None, tuple[str, ...]]
) -> None:
    assert gate(plan_file.loads(COMPARING, overrides=overrides)) == settled


def test_a_shorter_run_leaves_out_what_would_come_after_it() -> None:
    text = SMALL + (
        "faults:\n"
        "  - {fault: kill, every: 5s}\n"
        "  - {fault: kill, every: 2s, after: 2s}\n"
        "  - {fault: sweep, at: [1s, 6s]}\n"
        "  - {fault: sweep, at: [6s]}\n"
        "  - {fault: abort, every: 1s}\n"
    )
    plan = plan_file.loads(text, overrides=Overrides(duration="5s"))
    assert [(fault.fault, fault.every_us, fault.at_us) for fault in plan.faults] == [
        ("kill", 2_000_000, ()),
        ("sweep", None, (1_000_000,)),
        ("abort", 1_000_000, ()),
    ]


def test_places_follow_what_the_command_line_moves() -> None:
    text = COMPARING.replace("by-id@0.26.3", "by-di@0.26.3") + (
        "faults:\n  - {fault: kill, every: 5s}\n  - {fault: kill, every: 1s, jitter: 2s}\n"
    )
    found = problems(text, Overrides(duration="5s", baseline="guarded@0.26.3"))
    assert [problem.split(": ")[:2] for problem in found] == [
        ["6:26", "variants[2]"],
        ["11:30", "faults[0].jitter"],
    ]
