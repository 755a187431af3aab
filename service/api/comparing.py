"""Two runs side by side: is b worse than a, promise by promise, counter by counter? Pure.

    verdict a ─┐
               ├─► rows: what differs first, each with `worse` and, where both have a rate, `p`
    verdict b ─┘

Worse is what the gate `baseline` calls worse (`chaos.gate`): a promise that held and is broken, or
one that is broken on both with a higher rate per exposure by the one-sided exact test. So it is for
counters of errors, rated per attempt. The level of 0.01 is shared over all tests of the comparison
by Holm's method, so that equal runs are not called worse by chance in every tenth look. UNKNOWN on
either side is no answer: `worse` is then left open. Other counters have no good direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml

from chaos.counters import COUNTERS
from chaos.gate import SIGNIFICANCE
from chaos.verdict import Outcome, PromiseVerdict, VariantVerdict, Verdict, rate_is_higher_p
from service import run_files
from service.api import artefacts
from service.errors import Conflict
from service.models import Comparison, ComparisonRow, Run

# Counters of which more is worse, with the counter that says how often it could have happened.
ERRORS = {
    "key_errors": "attempts",
    "internal_errors": "attempts",
    "orphaned_contexts": "contexts",
    "aborts_late": "aborts_running",
    "aborts_ignored": "aborts_running",
    "aborts_lost": "aborts_running",
    "aborts_misdirected": "attempts",
    "aborts_stray": "attempts",
    "attempts_raised": "attempts",
    "crashes": "attempts",
}

Side = tuple[Run, Path]


def compare_stored(a: Side, b: Side) -> Comparison:
    """Compare two runs by what they have left.

    Raises:
        Conflict: one of them has not ended.
        NotFound: one of them left no verdict.
    """
    for run, _ in (a, b):
        if run.state != "ended":
            raise Conflict(f"run {run.id} has not ended ({run.state}): compare it when it has")
    verdicts = [artefacts.verdict_of(*side) for side in (a, b)]
    return Comparison(
        a=a[0],
        b=b[0],
        same_plan=_recipe(a[1]) is not None and _recipe(a[1]) == _recipe(b[1]),
        rows=rows(*verdicts),
    )


def rows(a: Verdict, b: Verdict) -> list[ComparisonRow]:
    """What differs first, in the order of variants; then what is equal on both."""
    there = {one.variant: one for one in a.variants}
    here = {one.variant: one for one in b.variants}
    found: list[ComparisonRow] = []
    for variant in dict.fromkeys((*there, *here)):
        found += _promises(variant, there.get(variant), here.get(variant))
        found += _counters(variant, there.get(variant), here.get(variant))
    judged = _shared_level(found)
    return sorted(judged, key=lambda row: row.a == row.b)


def _recipe(folder: Path) -> object:
    """The stored plan without its seed; None if it cannot be read."""
    try:
        plan = yaml.safe_load(run_files.read_own(folder / "plan.yaml").decode())
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return None
    if not isinstance(plan, dict):
        return None
    return {key: value for key, value in plan.items() if key != "seed"}


# --- promises -------------------------------------------------------------------------------------


def _promises(
    variant: str, a: VariantVerdict | None, b: VariantVerdict | None
) -> Iterable[ComparisonRow]:
    there = {one.promise: one for one in a.promises} if a else {}
    here = {one.promise: one for one in b.promises} if b else {}
    for promise in dict.fromkeys((*there, *here)):
        yield _promise(variant, promise, there.get(promise), here.get(promise))


def _promise(
    variant: str, promise: str, a: PromiseVerdict | None, b: PromiseVerdict | None
) -> ComparisonRow:
    worse, p = _promise_worse(a, b)
    return ComparisonRow(
        variant=variant,
        what="promise",
        name=promise,
        a=a.outcome.value if a else None,
        b=b.outcome.value if b else None,
        worse=worse,
        p=p,
    )


def _promise_worse(
    a: PromiseVerdict | None, b: PromiseVerdict | None
) -> tuple[bool | None, float | None]:
    """Whether b is worse; where only a test can say, None and its p."""
    if a is None or b is None or Outcome.UNKNOWN in (a.outcome, b.outcome):
        return None, None
    if b.outcome is Outcome.VALID:
        return False, None
    if a.outcome is Outcome.VALID:
        return True, None
    if a.exposure_name != b.exposure_name or a.exposure <= 0 or b.exposure <= 0:
        return None, None
    return None, rate_is_higher_p(b.count, b.exposure, a.count, a.exposure)


# --- counters -------------------------------------------------------------------------------------


def _counters(
    variant: str, a: VariantVerdict | None, b: VariantVerdict | None
) -> Iterable[ComparisonRow]:
    there, here = (one.counters if one else {} for one in (a, b))
    known = [name for name in COUNTERS if name in there or name in here]
    for name in known:
        yield ComparisonRow(
            variant=variant,
            what="counter",
            name=name,
            a=there.get(name),
            b=here.get(name),
            p=_counter_p(name, there, here),
        )


def _counter_p(name: str, there: dict[str, float], here: dict[str, float]) -> float | None:
    exposure = ERRORS.get(name)
    if exposure is None or there.get(exposure, 0) <= 0 or here.get(exposure, 0) <= 0:
        return None
    return rate_is_higher_p(
        int(here.get(name, 0)), int(here[exposure]), int(there.get(name, 0)), int(there[exposure])
    )


def _shared_level(found: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Answer every row that has a p: worse where its p passes Holm's level."""
    tested = sorted(
        (index for index, row in enumerate(found) if row.p is not None),
        key=lambda index: (found[index].p, index),
    )
    worse = set()
    for rank, index in enumerate(tested):
        p = found[index].p
        if p is None or p >= SIGNIFICANCE / (len(tested) - rank):
            break
        worse.add(index)
    return [
        row if row.p is None else row.model_copy(update={"worse": index in worse})
        for index, row in enumerate(found)
    ]
