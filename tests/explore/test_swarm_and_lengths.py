"""What a seed draws of its own: the plan's parameters within bounds, its length, its number."""

from __future__ import annotations

import pytest

from chaos.clock import SECOND_US
from chaos.explore import length
from chaos.explore.seeds import seed_of
from chaos.explore.swarm import FACTORS, plan_for
from chaos.plan import Plan
from chaos.plan_file import load, shipped

SEEDS = range(60)


def same_key() -> Plan:
    return load("same-key")


def test_without_swarm_a_seed_changes_nothing_but_the_seed() -> None:
    plan = same_key()
    assert plan_for(plan, 7, swarm=False) == plan.model_copy(update={"seed": 7})


def test_the_same_seed_draws_the_same_plan_and_others_draw_others() -> None:
    plan = same_key()
    drawn = [plan_for(plan, seed, swarm=True) for seed in SEEDS]
    assert drawn == [plan_for(plan, seed, swarm=True) for seed in SEEDS]
    assert len({one.model_dump_json() for one in drawn}) == len(SEEDS)


def test_swarm_leaves_out_faults_and_bodies_but_never_all_of_them_and_adds_none() -> None:
    plan = same_key()
    kept = [tuple(one.fault for one in plan_for(plan, seed, swarm=True).faults) for seed in SEEDS]
    there = [one.fault for one in plan.faults]
    assert {len(faults) for faults in kept} == {1, 2, 3}
    assert all([name for name in there if name in faults] == list(faults) for faults in kept)


@pytest.mark.parametrize("name", list(shipped()))
def test_swarm_plans_are_valid_plans(name: str) -> None:
    plan = load(name)
    for seed in SEEDS:
        drawn = plan_for(plan, seed, swarm=True)
        assert Plan.model_validate_json(drawn.model_dump_json(by_alias=True)) == drawn
        assert (drawn.promises, drawn.variants, drawn.limits) == (
            plan.promises, plan.variants, plan.limits,
        )  # fmt: skip


def test_swarm_stretches_times_by_the_factors_alone() -> None:
    plan = same_key()
    sweep = plan.faults[0]
    every = {
        fault.every_us
        for seed in SEEDS
        for fault in plan_for(plan, seed, swarm=True).faults
        if fault.fault == "sweep"
    }
    assert sweep.every_us == 350_000
    assert every == {round(350 * factor) * 1_000 for factor in FACTORS}


def test_most_seeds_are_short_and_some_are_as_long_as_it_takes() -> None:
    plan = same_key()
    longest = 2 * 22 * SECOND_US  # its rolling restart comes within 22 s
    parts = [length.duration_us(plan, number) * 16 // longest for number in range(17)]
    assert length.longest(plan) == longest
    assert parts == [1, 2, 1, 4, 1, 2, 1, 8, 1, 2, 1, 4, 1, 2, 1, 16, 1]


def test_no_seed_is_longer_than_its_plan() -> None:
    plan = same_key().model_copy(update={"duration_us": 3 * SECOND_US})
    assert max(length.duration_us(plan, number) for number in range(32)) == 3 * SECOND_US


def test_a_plan_of_a_second_or_less_is_run_as_it_is() -> None:
    plan = load("one-key")
    lengths = {length.duration_us(plan, number) for number in range(32)}
    assert (plan.duration_us, lengths) == (100_000, {100_000})


def test_neighbouring_bases_share_no_seed() -> None:
    seeds = [{seed_of(base, number) for number in range(1_000)} for base in (1, 2)]
    assert len(seeds[0]) == len(seeds[1]) == 1_000
    assert not seeds[0] & seeds[1]


def test_the_seed_of_a_number_is_fixed_for_ever() -> None:
    drawn = [seed_of(1, number) for number in range(3)]
    assert drawn == [202483204846, 811892823028, 424929377115]
