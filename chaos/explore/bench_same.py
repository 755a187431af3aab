"""Whether two builds do the same: one history for the same plan and seed, over many seeds.

    seed ─┬─► first build  ─► history ─┐
          └─► second build ─► history ─┴─► equal but for what names the build?

Both run on the first build's interpreter and redis-py, with the second one's saq laid in front:
what redis-py says on a connection is numbered along with saq's own commands, so another redis-py
alone would shift every latency. What names the build is left out: its versions and patch in
`host-began`, and the line numbers of source code in `error-raised`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import msgspec

from chaos.environments import Environment
from chaos.errors import UsageError
from chaos.event import ErrorRaised, Event, HostBegan
from chaos.explore.process import Child
from chaos.explore.protocol import RunOne, Subject, plan_text
from chaos.history import History, to_json
from chaos.plan import Plan
from chaos.variants import Variant, own_code_folder

LABEL = "compared"  # in host names, for both
KEPT = 20
TOLD_EVERY = 100

Progress = Callable[[str], None]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first event that differs in one seed's histories; empty: that history had ended."""

    seed: int
    number: int
    first: str
    second: str


class SameResult(msgspec.Struct, frozen=True, kw_only=True):
    """Two builds over many seeds.

    Attributes:
        same: seeds with one history; `differences` are the first of the others.
        events: of all seeds, on the first build.
        collisions: slot collisions met in them: a comparison that met none says little.
    """

    variants: tuple[str, str]
    saq: tuple[str, str]
    redis_py: str
    python: str
    plan: str
    seeds: int
    same: int
    events: int
    collisions: int
    differences: tuple[Difference, ...] = ()


def run(
    builds: tuple[Variant, Variant],
    environments: tuple[Environment, Environment],
    plan: Plan,
    seeds: Sequence[int],
    progress: Progress,
) -> SameResult:
    """Run every seed on both builds and compare.

    Raises:
        UsageError: the second build's saq is not a package of its environment.
    """
    events = collisions = 0
    differences: list[Difference] = []
    with tempfile.TemporaryDirectory(prefix="saqchaos-same-") as folder:
        second = beside(environments[0], environments[1], Path(folder))
        with Child(environments[0]) as one, Child(second) as other:
            ready = (one.start(), other.start())
            for done, seed in enumerate(seeds, 1):
                path = Path(folder) / "history.jsonl"
                with_first = _histories(builds, (one, other), plan, seed, path)
                first, met = next(with_first)
                difference = compare(seed, first, next(with_first)[0])
                events, collisions = events + len(first), collisions + met
                differences += [difference] if difference else []
                if done % TOLD_EVERY == 0:
                    progress(f"{done} of {len(seeds)} seeds, {len(differences)} differ")
    return SameResult(
        variants=(builds[0].text, builds[1].text),
        saq=(ready[0].saq, ready[1].saq),
        redis_py=ready[1].redis_py,
        python=ready[1].python,
        plan=plan.plan,
        seeds=len(seeds),
        same=len(seeds) - len(differences),
        events=events,
        collisions=collisions,
        differences=tuple(differences[:KEPT]),
    )


def beside(first: Environment, second: Environment, folder: Path) -> Environment:
    """The first environment with the saq of the second in front of its own."""
    lib = second.python.parents[1] / "lib"
    places = sorted(lib.glob("python*/site-packages/saq"))
    if not places:
        raise UsageError(f"{second.python} has no saq of its own under {lib}")
    (folder / "saq").symlink_to(places[0])
    return replace(first, env={**first.env, "PYTHONPATH": str(folder)})


def _histories(
    builds: tuple[Variant, Variant],
    children: tuple[Child, Child],
    plan: Plan,
    seed: int,
    path: Path,
) -> Iterator[tuple[list[Event], int]]:
    """The history of the seed on each build, and how many collisions it met."""
    for build, child in zip(builds, children, strict=True):
        subject = Subject(
            plan=plan_text(plan),
            variant=LABEL,
            patch=build.patch,
            folder=str(own_code_folder(build, None) or ""),
        )
        wanted = RunOne(subject=subject, seed=seed, history_to=str(path), decisions=False)
        counters = child.one(wanted).summary.verdict.counters
        yield list(History.read(path)), int(counters.get("slot_collisions", 0))


def compare(seed: int, first: Sequence[Event], second: Sequence[Event]) -> Difference | None:
    """The first event that differs but for what names the build; None if none does."""
    for number, (one, other) in enumerate(zip_longest(first, second), 1):
        if one is None or other is None or nameless(one) != nameless(other):
            said = tuple("" if event is None else to_json(event).decode() for event in (one, other))
            return Difference(seed=seed, number=number, first=said[0], second=said[1])
    return None


def nameless(event: Event) -> Event:
    """The event without what names the build under test."""
    if isinstance(event, HostBegan):
        return msgspec.structs.replace(event, saq="", redis_py="", patch="")
    if isinstance(event, ErrorRaised):
        return msgspec.structs.replace(event, line="", traceback="")
    return event
