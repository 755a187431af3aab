"""How a run is shown while it goes on: a live table, one line a phase, or nothing.

    Observer ──┬─ Table   stderr is a terminal: redrawn about once a second
               ├─ Lines   it is a file or a pipe: one line a phase, with the counters so far
               └─ Quiet   --quiet

Progress is written to stderr, so that stdout holds the answer alone. A display that cannot be
written must not end a run: a broken pipe is swallowed by `chaos.cli.output`.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from chaos.cli import output
from chaos.counters import spoken
from chaos.reports.escape import terminal
from chaos.reports.words import number
from chaos.request import Observer, VariantStatus
from chaos.timeline import Timeline

if TYPE_CHECKING:
    from rich.table import Table as RichTable

SHOWN = (
    "attempts",
    "slot_collisions",
    "key_errors",
    "orphaned_contexts",
    "aborts",
)


class Display(Observer, Protocol):
    """An observer that owns a part of the screen while it is entered."""

    def __enter__(self) -> Self:
        """Take the screen."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give it back."""


def make(*, quiet: bool, no_colour: bool) -> Display:
    """The display that fits stderr."""
    if quiet:
        return Quiet()
    if sys.stderr.isatty():
        return Table(no_colour=no_colour)
    return Lines()


def counters_line(status: VariantStatus) -> str:
    """`attempts 120, slot collisions 14, …`: what a line or a row says of the counters."""
    return ", ".join(f"{spoken(name)} {number(status.counters.get(name, 0))}" for name in SHOWN)


def clock_text(left_us: int) -> str:
    """Whole seconds, rounded up, as `1:05`: 0:00 is shown only when nothing is left."""
    left_s = max(0, -(-left_us // 1_000_000))
    return f"{left_s // 60}:{left_s % 60:02d}"


class Quiet:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to give back."""

    def phase(self, variant: str, phase: str) -> None:
        """Not shown."""

    def tick(self, status: tuple[VariantStatus, ...]) -> None:
        """Not shown."""

    def note(self, text: str) -> None:
        """Not shown."""

    def folded(self, timelines: tuple[Timeline, ...]) -> None:
        """Not shown: a tick says it in short."""


class Lines(Quiet):
    """One line when a variant enters a phase, and one for each note."""

    def __init__(self) -> None:
        self._last: dict[str, VariantStatus] = {}

    def phase(self, variant: str, phase: str) -> None:
        """Say which phase began, and the counters up to here once there are any."""
        last = self._last.get(variant)
        so_far = f" ({counters_line(last)})" if last else ""
        output.say(f"{terminal(variant)}: {phase}{so_far}")

    def tick(self, status: tuple[VariantStatus, ...]) -> None:
        """Remember the counters for the next line."""
        self._last = {one.variant: one for one in status}

    def note(self, text: str) -> None:
        """Say it."""
        output.say(terminal(text))


class Table(Lines):
    """A table that is redrawn in place; notes scroll by above it."""

    def __init__(self, *, no_colour: bool) -> None:
        super().__init__()
        from rich.console import Console
        from rich.live import Live

        colour = output.wants_colour(sys.stderr, no_colour)
        self._console = Console(stderr=True, no_color=not colour, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):  # the terminal may have gone away
            self._live.stop()

    def phase(self, variant: str, phase: str) -> None:
        """The next tick shows it."""

    def tick(self, status: tuple[VariantStatus, ...]) -> None:
        """Redraw."""
        with suppress(OSError):
            self._live.update(table(status), refresh=True)

    def note(self, text: str) -> None:
        """Print it above the table."""
        with suppress(OSError):
            self._console.print(terminal(text), markup=False)


def table(status: tuple[VariantStatus, ...]) -> RichTable:
    """The live table: a row per variant. Cells are plain text, never markup."""
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=None, pad_edge=False)
    drawn.add_column("variant", no_wrap=True)
    drawn.add_column("phase", no_wrap=True)
    for name in ("left", *SHOWN):
        drawn.add_column(spoken(name), justify="right")
    drawn.add_column("active faults")
    for one in status:
        counters = [number(one.counters.get(name, 0)) for name in SHOWN]
        cells = [terminal(one.variant), one.phase, clock_text(one.left_us), *counters]
        faults = terminal(", ".join(one.faults_active)) or "-"
        drawn.add_row(*(Text(cell) for cell in (*cells, faults)))
    return drawn
