"""What is shown while a run goes on."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from chaos.cli import progress
from chaos.cli.progress import Lines, Quiet, clock_text, table
from chaos.counters import COUNTERS
from chaos.request import VariantStatus

STATUS = VariantStatus(
    variant="stock@0.26.3",
    phase="safety",
    left_us=64_000_001,
    counters={"attempts": 120.0, "slot_collisions": 14.0, "key_errors": 3.0},
    faults_active=("sweep", "kill"),
)


def test_lines_say_the_phase_and_the_counters_so_far(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines() as lines:
        lines.phase("stock@0.26.3", "safety")
        lines.tick((STATUS,))
        lines.note("built \x1b[31m")
        lines.phase("stock@0.26.3", "heal")
    assert capsys.readouterr().err == (
        "stock@0.26.3: safety\n"
        "built \\x1b[31m\n"
        "stock@0.26.3: heal (attempts 120, slot collisions 14, key errors 3, "
        "orphaned contexts 0, aborts 0)\n"
    )


def test_progress_never_writes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    with Quiet() as quiet:
        quiet.note("a")
        quiet.phase("a", "b")
        quiet.tick((STATUS,))
    assert capsys.readouterr() == ("", "")


def test_the_table_has_a_row_a_variant_and_markup_is_plain_text() -> None:
    sink = StringIO()
    odd = VariantStatus("[red]x@1", "heal", 0, {}, ())
    Console(file=sink, width=140).print(table((STATUS, odd)))
    rows = [line.split() for line in sink.getvalue().splitlines()]
    assert rows[-2] == [
        "stock@0.26.3",
        "safety",
        "1:05",
        "120",
        "14",
        "3",
        "0",
        "0",
        "sweep,",
        "kill",
    ]
    assert rows[-1] == ["[red]x@1", "heal", "0:00", "0", "0", "0", "0", "0", "-"]


def test_the_shown_counters_exist() -> None:
    assert [name for name in progress.SHOWN if name not in COUNTERS] == []


@pytest.mark.parametrize(
    ("left_us", "text"), [(0, "0:00"), (1, "0:01"), (59_000_000, "0:59"), (3_600_000_000, "60:00")]
)
def test_time_left_is_rounded_up_to_whole_seconds(left_us: int, text: str) -> None:
    assert clock_text(left_us) == text
