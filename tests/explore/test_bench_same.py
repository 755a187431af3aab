"""Two builds that do the same give one history; two that do not are told apart."""

from __future__ import annotations

from collections.abc import Callable

from chaos import plan_file
from chaos.environments import Environment
from chaos.event import BodyEnded, ErrorRaised, HostBegan
from chaos.explore.bench_same import compare, nameless, run
from chaos.variants import parse

BEGAN = HostBegan(host="v/worker-1.1", t_us=1, role="worker", pid=1, saq="0.26.3", patch="guarded")
RAISED = ErrorRaised(host="v/worker-1.1", t_us=2, origin="body", where="log", error="KeyError",
                     line="worker.py:366 process")  # fmt: skip
ENDED = BodyEnded(host="v/worker-1.1", t_us=3, job="k", attempt="v/worker-1.1#1", outcome="ok")


def compared(
    environment: Callable[[str], Environment], first: str, second: str, seeds: range
) -> tuple[int, int, int]:
    builds = (parse(first), parse(second))
    environments = (environment(builds[0].text), environment(builds[1].text))
    result = run(builds, environments, plan_file.load("one-key"), seeds, lambda _line: None)
    return result.same, len(result.differences), result.collisions


def test_the_guarded_repair_and_the_merged_one_do_the_same(
    sim_environment: Callable[[str], Environment],
) -> None:
    same, differ, collisions = compared(
        sim_environment, "guarded@0.26.3", "stock@0.26.4", range(1, 21)
    )
    assert (same, differ) == (20, 0)
    assert collisions > 5


def test_the_bug_and_its_repair_do_not(sim_environment: Callable[[str], Environment]) -> None:
    same, differ, _ = compared(sim_environment, "stock@0.26.3", "guarded@0.26.3", range(1, 21))
    assert same + differ == 20
    assert differ > 0


def test_what_names_the_build_is_not_compared_and_all_else_is() -> None:
    other = HostBegan(host="v/worker-1.1", t_us=1, role="worker", pid=1, saq="0.26.4", patch="")
    moved = ErrorRaised(host="v/worker-1.1", t_us=2, origin="body", where="log", error="KeyError",
                        line="worker.py:368 process")  # fmt: skip
    assert compare(7, [BEGAN, RAISED, ENDED], [other, moved, ENDED]) is None
    assert nameless(ENDED) is ENDED
    late = BodyEnded(host="v/worker-1.1", t_us=4, job="k", attempt="v/worker-1.1#1", outcome="ok")
    found = compare(7, [BEGAN, RAISED, ENDED], [other, moved, late])
    assert found is not None
    assert (found.seed, found.number) == (7, 3)
    shorter = compare(7, [BEGAN, RAISED], [BEGAN])
    assert shorter is not None
    assert (shorter.number, shorter.second) == (2, "")
