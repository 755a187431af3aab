"""How soon a search finds a failure: many searches of one plan, each with another base seed.

    for each base seed: processes start ─► ready ──── search ────► the first failing seed
                        └─── ready_us ───┘└──────── found_us ──────┘

Each search begins cold: its simulating processes are new, nothing has run in them yet, and they end
with it; only the variant's environment is there. `found_us` is the time of search, from the moment
at which every process is ready, which is what `saq-chaos explore` reports as "found after".
`ready_us` is what it takes until then. The first failure is looked for as `explore --until-failure`
does it; it is not shrunk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from chaos.explore import tasks
from chaos.explore.aggregate import VariantTally
from chaos.explore.protocol import Subject, plan_text
from chaos.explore.search import Extent, Lane, Search
from chaos.explore.tasks import Place
from chaos.plan import Plan
from chaos.variants import own_code_folder

QUANTILES = (0.5, 0.9, 0.95, 0.99, 1.0)

Progress = Callable[[str], None]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One search.

    Attributes:
        base: its base seed.
        ready_us: until its processes were ready.
        found_us: search time until the failure was found; null if it was not.
        seeds: how many seeds had been run by then.
        kinds: what was found, in the checker's words.
    """

    base: int
    ready_us: int
    seeds: int
    found_us: int | None = None
    kinds: tuple[str, ...] = ()


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """All searches.

    Attributes:
        limit_us: within which a failure counts as found in time; `in_time` is how many did.
        found: search time by quantile (`0.95`), over the searches that found one.
        from_start: the same from the start of the search's processes.
        kinds: in how many searches each kind of failure was seen; one failure can have two, such
            as the KeyError of an attempt and the AssertionError that follows from it.
    """

    variant: str
    plan: str
    promise: str
    bases: int
    limit_us: int
    in_time: int
    in_time_from_start: int
    jobs: int
    found: dict[str, int]
    from_start: dict[str, int]
    kinds: dict[str, int]
    searches: tuple[Found, ...]


def run(
    place: Place,
    plan: Plan,
    *,
    bases: Sequence[int],
    limit_us: int,
    budget_us: int,
    jobs: int,
    progress: Progress,
) -> SearchResult:
    """Search once from each base seed.

    Args:
        plan: with the one promise that is to be broken.
        limit_us: within which it should be found.
        budget_us: after which a search gives up.
        jobs: seeds at a time.
    """
    searches = []
    for base in bases:
        searches.append(search(place, plan, base, budget_us, jobs))
        progress(told(searches[-1]))
    found = [one for one in searches if one.found_us is not None]
    times = [one.found_us or 0 for one in found]
    whole = [one.ready_us + (one.found_us or 0) for one in found]
    return SearchResult(
        variant=place.variant.text,
        plan=plan.plan,
        promise=plan.promises[0],
        bases=len(searches),
        limit_us=limit_us,
        in_time=sum(one <= limit_us for one in times),
        in_time_from_start=sum(one <= limit_us for one in whole),
        jobs=jobs,
        found=quantiles(times),
        from_start=quantiles(whole),
        kinds={
            kind: sum(kind in one.kinds for one in found)
            for kind in sorted({kind for one in found for kind in one.kinds})
        },
        searches=tuple(searches),
    )


def search(place: Place, plan: Plan, base: int, budget_us: int, jobs: int) -> Found:
    """One search in new processes, until the first failure or for its budget."""
    folder = str(own_code_folder(place.variant, place.app) or "")
    subject = Subject(
        plan=plan_text(plan),
        variant=place.variant.label,
        patch=place.variant.patch,
        app=place.app or "",
        folder=folder,
    )
    lane = Lane(place, subject, VariantTally(plan, place.variant.label))
    extent = Extent(budget_us=budget_us, until_failure=True, lengths=True)
    executor = ThreadPoolExecutor(jobs, thread_name_prefix="seeds")
    began_ns = time.monotonic_ns()
    try:
        made = Search((lane,), base, extent, executor, jobs=jobs, swarm=False, tell=lambda: None)
        made.warm_up()
        ready_us = (time.monotonic_ns() - began_ns) // 1_000
        made.run()
    finally:
        tasks.kill_children()
        executor.shutdown(wait=True, cancel_futures=True)
        tasks.close_children()
    promise = plan.promises[0]
    first = lane.tally.first.get(promise)
    return Found(
        base=base,
        ready_us=ready_us,
        seeds=lane.tally.seeds,
        found_us=first.found_us if first else None,
        kinds=tuple(sorted(lane.tally.promises[promise].kinds)) if first else (),
    )


def quantiles(times: Sequence[int]) -> dict[str, int]:
    """The least time within which this share of all were done: `{"0.5": …, "1": …}`."""
    ordered = sorted(times)
    if not ordered:
        return {}
    places = {f"{share:g}": max(0, -(-round(share * 1_000) * len(ordered) // 1_000) - 1)
              for share in QUANTILES}  # fmt: skip
    return {name: ordered[place] for name, place in places.items()}


def told(one: Found) -> str:
    """One search in words."""
    if one.found_us is None:
        return f"base {one.base}: not found in {one.seeds} seeds"
    return (
        f"base {one.base}: {', '.join(one.kinds)} found after {one.found_us / 1e6:.2f} s of search "
        f"(ready after {one.ready_us / 1e6:.2f} s, {one.seeds} seeds)"
    )
