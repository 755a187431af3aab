"""What an exploration found, as data: explored.json is exactly `Explored`.

The verdict (verdict.json) says what a run's gate needs; this says how it was searched: which seeds
failed on which variant, what was covered, and how fast. Nothing is computed here but the table of
seeds that differ between variants.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

SEEDS_LISTED = 200


class SeedFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One seed that broke a promise: the first one that it broke, in the plan's order.

    Attributes:
        number: its place in the exploration, from 0.
        kind: the checker's word for it, the most frequent one.
    """

    number: int
    seed: int
    promise: str
    kind: str
    decisions: int = 0


class FirstFailure(msgspec.Struct, frozen=True, kw_only=True):
    """The first seed that broke one promise on one variant, by its number.

    `found_us` is search time from a warm start until the promise was first seen broken.
    """

    variant: str
    promise: str
    kind: str
    number: int
    seed: int
    message: str
    found_us: int
    decisions: int


class VariantExplored(msgspec.Struct, frozen=True, kw_only=True):
    """How one variant was searched.

    Attributes:
        seeds: how many ran.
        failing: how many of them broke a promise; `failures` are the first of them.
        interleavings: the pairs of attempt states that met; `possible` is how many there are.
        new_at: the number of the seed that met a new pair last; `new_us` the search time then.
        events, virtual_us, spent_us: of all seeds together.
    """

    variant: str
    seeds: int
    failing: int
    failures: tuple[SeedFailure, ...] = ()
    interleavings: tuple[str, ...] = ()
    possible: int = 0
    new_at: int = 0
    new_us: int = 0
    events: int = 0
    virtual_us: int = 0
    spent_us: int = 0


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """A seed that did not do the same on every variant: what it broke on each, in their order."""

    number: int
    seed: int
    broken: tuple[str, ...]


class Shrunk(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the failure that was looked at more closely."""

    variant: str
    seed: int
    promise: str
    kind: str
    before: int
    after: int
    reruns: int
    spent_us: int = 0


class Explored(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of an exploration beside its verdict.

    Attributes:
        base_seed: what the seeds are drawn from (`chaos.explore.seeds`).
        search_us: how long seeds were run.
        changed: the first seeds that differ between variants, of `changed_count` among the
            `compared` seeds that ran on all of them.
    """

    base_seed: int
    swarm: bool
    jobs: int
    search_us: int
    variants: tuple[VariantExplored, ...]
    first: tuple[FirstFailure, ...] = ()
    changed: tuple[Changed, ...] = ()
    changed_count: int = 0
    compared: int = 0
    shrunk: Shrunk | None = None

    @property
    def seeds(self) -> int:
        """Seeds run, of all variants together."""
        return sum(one.seeds for one in self.variants)


def changed_seeds(
    broken: Sequence[dict[int, SeedFailure]], compared: int
) -> tuple[tuple[Changed, ...], int]:
    """The seeds that differ between variants, and how many there are.

    Args:
        broken: the failing seeds of each variant by number.
        compared: how many seeds, from number 0 on, ran on every variant.
    """
    numbers = sorted({number for each in broken for number in each if number < compared})
    different: list[Changed] = []
    for number in numbers:
        found = [each.get(number) for each in broken]
        said = tuple("" if one is None else f"{one.promise} {one.kind}" for one in found)
        if len(set(said)) > 1:
            seed = next(one.seed for one in found if one is not None)
            different.append(Changed(number=number, seed=seed, broken=said))
    return tuple(different[:SEEDS_LISTED]), len(different)


def render(explored: Explored) -> bytes:
    """explored.json: indented, with a newline at its end."""
    return msgspec.json.format(msgspec.json.encode(explored), indent=2) + b"\n"
