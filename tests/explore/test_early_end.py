"""A search for the first failure ends a failing run at its failure, and no other one."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from chaos.environments import Environment
from chaos.explore import bench_search
from chaos.explore.bench_search import quantiles
from chaos.explore.bench_sim import MINIMAL, plan_of
from chaos.explore.process import Child
from chaos.explore.protocol import RunSeeds, Subject, Summary, plan_text
from chaos.explore.tasks import Place
from chaos.variants import parse

PLAN = plan_of(MINIMAL)
SEEDS = tuple(range(1, 41))


def summaries(child: Child, promises: tuple[str, ...], *, until_failure: bool) -> list[Summary]:
    plan = PLAN.model_copy(update={"promises": promises})
    subject = Subject(plan=plan_text(plan), variant="stock@0.26.3", patch="stock")
    job = RunSeeds(subject=subject, seeds=SEEDS, until_failure=until_failure)
    return [done.summary for done in child.seeds(job)]


def test_a_failing_seed_ends_at_its_failure_and_the_seeds_before_it_run_to_their_end(
    sim_environment: Callable[[str], Environment],
) -> None:
    with Child(sim_environment("stock@0.26.3")) as child:
        whole = summaries(child, ("no-internal-errors",), until_failure=False)
        *before, last = summaries(child, ("no-internal-errors",), until_failure=True)
        wanted = whole[len(before)]
        assert [one.digest for one in before] == [one.digest for one in whole[: len(before)]]
        assert next(one.seed for one in whole if one.broken()) == last.seed
        assert (last.ended, wanted.ended) == ("first-failure", "finished")
        assert last.verdict.promises[0].kinds["KeyError"] == 1
        assert last.verdict.promises[0].findings[0] == wanted.verdict.promises[0].findings[0]
        assert last.virtual_us < wanted.virtual_us


def test_a_plan_that_does_not_promise_it_runs_to_its_end(
    sim_environment: Callable[[str], Environment],
) -> None:
    with Child(sim_environment("stock@0.26.3")) as child:
        ran = summaries(child, ("no-phantom-runs",), until_failure=True)
    assert len(ran) == len(SEEDS)
    assert {one.ended for one in ran} == {"finished"}


def test_a_search_says_what_it_found_and_how_soon(
    sim_environment: Callable[[str], Environment],
) -> None:
    plan = PLAN.model_copy(update={"promises": ("no-internal-errors",)})
    place = Place(parse("stock@0.26.3"), sim_environment("stock@0.26.3"))
    told: list[str] = []
    result = bench_search.run(
        place, plan, bases=(1, 2), limit_us=60_000_000, budget_us=60_000_000, jobs=1,
        progress=told.append,
    )  # fmt: skip
    assert (result.bases, result.in_time) == (2, 2)
    assert all(one.kinds for one in result.searches)
    assert [one.base for one in result.searches] == [1, 2]
    assert len(told) == 2
    assert (
        msgspec.json.decode(msgspec.json.encode(result), type=bench_search.SearchResult) == result
    )


def test_quantiles_are_the_least_time_in_which_that_share_was_done() -> None:
    times = list(range(100, 0, -1))
    assert quantiles(times) == {"0.5": 50, "0.9": 90, "0.95": 95, "0.99": 99, "1": 100}
    assert quantiles([7]) == {"0.5": 7, "0.9": 7, "0.95": 7, "0.99": 7, "1": 7}
    assert quantiles([]) == {}
