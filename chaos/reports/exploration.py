"""What an exploration says beside its verdict, as text: the seeds, the failures, the coverage.

    first failures of each promise          how soon, and how small they became
    variants × seeds, speed, coverage       what was searched
    seeds that changed between variants     the same schedule, another answer

The verdict's own text (`chaos.reports.text`) follows it. Plain text, to be piped and pasted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from chaos.clock import SECOND_US
from chaos.reports.escape import terminal

if TYPE_CHECKING:
    from chaos.explore.results import Changed, Explored, FirstFailure, Shrunk, VariantExplored

CHANGED_SHOWN = 20
_MESSAGE_LIMIT = 160


def render(explored: Explored) -> str:
    """The whole section as text that ends with a newline."""
    parts = [
        *_failures(explored),
        *_searched(explored),
        *_changed(explored),
    ]
    return "\n".join(parts) + "\n"


def failure_line(failure: FirstFailure, shrunk: Shrunk | None = None) -> str:
    """`seed 17: INVALID no-internal-errors KeyError: … found after 0.4 s, shrunk 212 → 9 …`."""
    message = terminal(failure.message, _MESSAGE_LIMIT)
    line = (
        f"seed {failure.seed}: INVALID {failure.promise} {terminal(failure.kind)}"
        f"{f' ({message})' if message else ''}, found after {seconds(failure.found_us)}"
    )
    if shrunk is None:
        return line
    return f"{line}, shrunk {shrunk.before} → {shrunk.after} decisions in {shrunk.reruns} reruns"


def seconds(time_us: int) -> str:
    """`0.4 s`, `1 min 5 s`."""
    whole_s = time_us // SECOND_US
    if whole_s < 60:
        return f"{time_us / SECOND_US:.1f} s"
    return f"{whole_s // 60} min {whole_s % 60} s"


def _failures(explored: Explored) -> Iterator[str]:
    for failure in sorted(explored.first, key=lambda one: one.found_us):
        shrunk = explored.shrunk
        is_it = (
            shrunk is not None
            and (shrunk.variant, shrunk.seed) == (failure.variant, failure.seed)
            and shrunk.promise == failure.promise
        )
        line = failure_line(failure, shrunk if is_it else None)
        yield f"{terminal(failure.variant)}: {line}"
    if explored.first:
        yield ""


def _searched(explored: Explored) -> Iterator[str]:
    """How many seeds, how fast, and how much of what can meet has met."""
    how = " in swarm mode" if explored.swarm else ""
    rate = explored.seeds * SECOND_US / explored.search_us if explored.search_us else 0.0
    yield (
        f"{explored.seeds} runs{how} in {seconds(explored.search_us)} of search, "
        f"{rate:.1f} a second with {explored.jobs} at a time; base seed {explored.base_seed}"
    )
    rows: list[tuple[str, ...]] = [
        ("", "seeds", "failing", "virtual time", "× real", "interleavings", "last new one")
    ]
    rows += [_row(one) for one in explored.variants]
    yield from _table(rows)
    yield ""


def _row(one: VariantExplored) -> tuple[str, ...]:
    speed = one.virtual_us / one.spent_us if one.spent_us else 0.0
    ago = max(0, one.seeds - one.new_at - 1)
    return (
        terminal(one.variant),
        str(one.seeds),
        str(one.failing),
        seconds(one.virtual_us),
        f"{speed:.0f}",
        f"{len(one.interleavings)} of {one.possible}",
        f"{ago} seeds ago" if one.interleavings else "-",
    )


def _changed(explored: Explored) -> Iterator[str]:
    """The seeds that did not do the same everywhere."""
    if len(explored.variants) < 2:
        return
    if not explored.changed_count:
        yield f"No seed differs between the variants ({explored.compared} ran on all of them)."
        yield ""
        return
    yield (
        f"Seeds that differ between the variants: {explored.changed_count} of "
        f"{explored.compared}"
        + (":" if explored.changed_count <= CHANGED_SHOWN else ", the first:")
    )
    head = ("seed", *(terminal(one.variant) for one in explored.variants))
    yield from _table([head, *map(_changed_row, explored.changed[:CHANGED_SHOWN])])
    yield ""


def _changed_row(changed: Changed) -> tuple[str, ...]:
    return (str(changed.seed), *(terminal(one) or "held" for one in changed.broken))


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Columns padded to their widest cell, the first to the left and the others to the right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  " + "  ".join(cells).rstrip()
