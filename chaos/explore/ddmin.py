"""Delta debugging: from many items to the few that matter, by leaving some out and asking.

    all? ─► halves ─► quarters ─► … ─► single ones, until none of those can go

This is the "complement" half of Zeller and Hildebrandt's ddmin (Simplifying and Isolating
Failure-Inducing Input, TSE 2002): the other half finds nothing that these steps miss, and costs
reruns. The result is 1-minimal: no single item can be left out. It asks about every tuple that it
returns but the first, and knows nothing of what the items are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def ddmin(items: tuple[T, ...], holds: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """The fewest of `items` that still hold, in their order.

    Args:
        items: what holds now.
        holds: whether these do too. Once it answers False to everything (its budget is spent),
            what was found so far comes back.
    """
    if not items or holds(()):
        return ()
    kept, size = items, (len(items) + 1) // 2
    while size >= 1 and len(kept) > 1:
        fewer = _without_chunks(kept, size, holds)
        if size == 1 and len(fewer) == len(kept):
            break
        kept, size = fewer, max(1, (size + 1) // 2 if size > 1 else 1)
    return kept


def _without_chunks(
    items: tuple[T, ...], size: int, holds: Callable[[tuple[T, ...]], bool]
) -> tuple[T, ...]:
    """One walk over `items`: each run of `size` of them is left out if the rest holds."""
    start = 0
    while start < len(items):
        rest = items[:start] + items[start + size :]
        if rest and holds(rest):
            items = rest
        else:
            start += size
    return items
