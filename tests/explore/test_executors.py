"""Any executor carries the blocks: threads, processes, a Dask cluster; the answer is the same."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path

import pytest

from chaos.environments import Environment
from chaos.explore import tasks
from chaos.explore.bench_sim import MINIMAL, plan_of
from chaos.explore.explore import ExploreResult, explore
from chaos.explore.request import ExploreRequest, ExploreStatus
from chaos.explore.results import FirstFailure
from chaos.explore.search import Extent
from chaos.verdict import VariantVerdict

VARIANT = "stock@0.26.3"
SEEDS = 24


class Told:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.failures: list[FirstFailure] = []
        self.statuses: list[ExploreStatus] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def found(self, failure: FirstFailure) -> None:
        self.failures.append(failure)

    def progress(self, status: ExploreStatus) -> None:
        self.statuses.append(status)


@pytest.fixture(autouse=True)
def built(sim_environment: Callable[[str], Environment]) -> Environment:
    """So that no exploration here builds it."""
    return sim_environment(VARIANT)


def explored(folder: Path, executor: Executor | None = None, jobs: int = 2) -> ExploreResult:
    plan = plan_of(MINIMAL).model_copy(update={"variants": (VARIANT,)})
    request = ExploreRequest(
        plan=plan, runs_dir=folder, extent=Extent(seeds=SEEDS), jobs=jobs, shrink=False
    )
    return explore(request, Told(), executor)


def answer(result: ExploreResult) -> tuple[VariantVerdict, str, int]:
    """What must not depend on who ran the seeds."""
    (judged,) = result.verdict.variants
    return judged, result.verdict.history_digest, result.explored.seeds


def test_one_worker_and_two_give_the_same_answer(tmp_path: Path) -> None:
    one = explored(tmp_path / "one", jobs=1)
    two = explored(tmp_path / "two", jobs=2)
    assert one.explored.seeds == SEEDS
    assert answer(one) == answer(two)


def test_blocks_run_in_worker_processes(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        result = explored(tmp_path / "there", executor, jobs=1)
    assert answer(result) == answer(explored(tmp_path / "here", jobs=1))


def test_blocks_run_on_a_real_dask_cluster(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address=None, worker_dashboard_address=None, silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        result = explored(tmp_path / "cluster", client.get_executor(pure=False), jobs=2)
    here = explored(tmp_path / "here", jobs=2)
    assert answer(result) == answer(here)


def test_no_child_is_left_when_an_exploration_is_over(tmp_path: Path) -> None:
    explored(tmp_path)
    assert tasks._children == []
