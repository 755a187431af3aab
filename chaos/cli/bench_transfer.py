"""`saq-chaos bench transfer`: whether both worlds say the same of the same plans."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chaos.cli import output
from chaos.cli.params import Duration

if TYPE_CHECKING:
    from chaos.explore.bench_transfer import Cell, Runs, Side, TransferResult
    from chaos.plan import Plan
    from chaos.soak import SoakResult

_DIFFERENT, _INTERRUPTED = 1, 130
_COLUMNS = ("promise", "variant", "live", "broken", "sim", "broken", "")


@click.command("transfer", short_help="Whether both worlds say the same of the same plans.")
@click.argument("plans", nargs=-1, metavar="[PLAN]…")
@click.option("--seeds", type=click.IntRange(1, 10_000), default=3, show_default=True)
@click.option(
    "--sim-seeds", type=click.IntRange(1, 100_000), help="Simulated runs. [default: --seeds]"
)
@click.option(
    "--variant", "variants", multiple=True, metavar="PATCH@SAQ",
    help="A saq build; repeat it. [default: stock@0.26.3, guarded@0.26.3, stock@0.26.4]",
)  # fmt: skip
@click.option("--duration", type=Duration(), help="How long load and faults go on in each run.")
@click.option("--drain", type=Duration(), help="How long the queue may take to drain after it.")
@click.option(
    "--run-dir", type=click.Path(file_okay=False, path_type=Path), default=Path("runs"),
    show_default=True, help="Where run directories are made.",
)  # fmt: skip
@click.option(
    "--live", "live_from", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Run directories of an earlier comparison: its live runs are taken as they are, and only "
    "missing ones are made.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Write the figures as JSON to stdout.")
@click.option("--quiet", is_flag=True, help="No progress; the table alone.")
@click.option("--no-color", "no_colour", is_flag=True, help="No colours (NO_COLOR works too).")
def transfer(plans: tuple[str, ...], **options: Any) -> int:
    """Run each PLAN with the seeds 1, 2, 3, … on real parts and in the simulator, and compare.

    Without a PLAN these are same-key and rolling-deploy. A live run takes as long as its plan says,
    all variants side by side. The runs of a world are judged together: INVALID if one of them broke
    the promise, UNKNOWN if none met its danger.

    \b
    Exit codes: 0 the worlds agree in every cell but known ones; 1 they do not; 4 a world failed.
    Where they differ, p says how probable that is if both worlds have one rate.
    """
    from chaos.cli import progress
    from chaos.explore import bench_transfer
    from chaos.live import run_dir

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    run_dir.private_umask()
    loaded = [_plan(name, options) for name in plans or bench_transfer.PLANS]
    with progress.make(quiet=options["quiet"], no_colour=options["no_colour"]) as display:
        result = bench_transfer.run(
            loaded,
            options["seeds"],
            options["sim_seeds"] or options["seeds"],
            display,
            _write,
            options["run_dir"],
            options["live_from"],
        )
    output.answer(_json(result) if options["as_json"] else transfer_text(result))
    if result.ended != "finished":
        return _INTERRUPTED
    return 0 if result.transfers else _DIFFERENT


def _plan(name: str, options: dict[str, Any]) -> Plan:
    """The plan with the variants to compare on; its gate would only repeat what cells say."""
    from chaos import plan_file
    from chaos.explore.bench_transfer import VARIANTS

    over = plan_file.Overrides(
        variants=options["variants"] or VARIANTS,
        duration=options["duration"],
        drain=options["drain"],
        gate="strict",
    )
    return plan_file.load(name, over)


def _write(result: SoakResult) -> None:
    from chaos.reports import files

    files.write(result.folder, result.verdict, result.history)


def transfer_text(result: TransferResult) -> str:
    """The table of each plan, and what is to be said of the cells that differ."""
    lines: list[str] = []
    for runs in result.runs:
        cells = [cell for cell in result.cells if cell.plan == runs.plan]
        lines += [_title(runs), *_table(cells), ""]
    lines += [_difference(cell) for cell in result.differing]
    lines += [f"cut short: {text}" for text in result.cut_short]
    lines.append(_summary(result))
    return "\n".join(lines) + "\n"


def _title(runs: Runs) -> str:
    servers = f" on {', '.join(runs.servers)}" if runs.servers else ""
    return (
        f"{runs.plan}, {runs.duration_us / 1e6:g} s: {runs.live_seeds} live runs{servers}, "
        f"{runs.sim_seeds} simulated"
    )


def _table(cells: list[Cell]) -> Iterator[str]:
    """Columns as wide as they need to be."""
    rows = [_COLUMNS, *(_row(cell) for cell in cells)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    for row in rows:
        yield "  " + "  ".join(map(str.ljust, row, widths)).rstrip()


def _row(cell: Cell) -> tuple[str, ...]:
    live, sim = (_broken(side) for side in (cell.live, cell.sim))
    mark = "" if not cell.differs else "DIFFERS"
    if cell.known:
        mark = "differs (known)"
    outcomes = cell.live.outcome.value, cell.sim.outcome.value
    return (cell.promise, cell.variant, outcomes[0], live, outcomes[1], sim, mark)


def _broken(side: Side) -> str:
    return f"{side.count}/{side.exposure} {side.exposure_name.replace('_', ' ')}".rstrip()


def _difference(cell: Cell) -> str:
    where = f"{cell.plan}, {cell.promise} on {cell.variant}"
    if cell.known:
        return f"{where}: {cell.known}"
    if cell.is_chance:
        return f"{where}: one rate can explain both (p = {cell.p:.2g}): chance, run more seeds"
    return f"{where}: one rate does not explain both (p = {cell.p:.2g})"


def _summary(result: TransferResult) -> str:
    if result.ended != "finished":
        return "INTERRUPTED: this is what had been run"
    differing = len(result.differing)
    known = sum(bool(cell.known) for cell in result.differing)
    return f"{len(result.cells) - differing} of {len(result.cells)} cells equal" + (
        f", {differing} differ ({known} of them known)" if differing else ""
    )


def _json(result: TransferResult) -> str:
    import msgspec

    data = msgspec.to_builtins(result)
    data["differing"] = len(result.differing)
    data["transfers"] = result.transfers
    for shown, cell in zip(data["cells"], result.cells, strict=True):
        shown["differs"], shown["is_chance"] = cell.differs, cell.is_chance
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"
