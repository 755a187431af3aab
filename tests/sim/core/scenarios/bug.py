"""The seed bug over fifty seeds, and the digests by which a run is known again."""

from __future__ import annotations

import sys

from small_plans import key_errors, plan, run, seed_bug, three_workers
from stage import say

from chaos.plan import Plan
from chaos.sim.loop import CountedTask
from chaos.sim.run_one import FINISHED

SEEDS = 50


def many_at_the_end() -> Plan:
    """Eight jobs are still running when the worker stops: saq cancels a set of tasks."""
    crowd: Plan = plan(
        workers={"concurrency": 8},
        drain="1s",
        workload={
            "kind": "same_key", "keys": 0, "rate": "8/s",
            "bodies": [{"profile": "quick", "takes": "60s"}],
            "job": {"timeout": "0s", "retries": 2},
        },
    )  # fmt: skip
    return crowd


def main(variant: str) -> None:
    plan = seed_bug()
    results = [run(plan, variant, seed) for seed in range(SEEDS)]
    fixed = run(plan, variant, 7, tape=results[7].tape)
    again = run(plan, variant, 7)
    default = run(plan, variant, 7, tape={})
    crowd = [run(three_workers(), variant, seed).digest for seed in range(4)]
    counted = run(many_at_the_end(), variant).digest
    numbered = CountedTask.__hash__
    uncount = lambda task: hash(str(numbered(task)))  # noqa: E731 - as short as what it stands for
    setattr(CountedTask, "__hash__", uncount)  # noqa: B010 - mypy knows better than to allow it
    uncounted = run(many_at_the_end(), variant).digest
    first = results[0].history
    stamps = [event.t_us for event in first]
    say(
        {
            "ended": [result.ended for result in results].count(FINISHED),
            "key_errors": [key_errors(result.history) for result in results],
            "digests": [result.digest for result in results],
            "numbered": [event.n for event in first] == list(range(1, len(first) + 1)),
            "in order": stamps == sorted(stamps),
            "folded": results[0].timeline.events == len(first),
            "digest of the history": first.digest() == results[0].digest,
            "again": again.digest == results[7].digest,
            "by tape alone": [fixed.digest == results[7].digest, fixed.tape == results[7].tape],
            "default": [default.tape, default.decisions],
            "decisions": again.decisions == len(again.tape) + 2,
            "crowd": crowd,
            "counted": counted,
            "uncounted": uncounted,
        }
    )


if __name__ == "__main__":
    main(sys.argv[1])
