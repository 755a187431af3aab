"""The final table on a terminal, and the same text in a log file.

    headline
    variants × promises, chief counters    what happened, side by side
    exposures and bounds                   how much a 0 is worth
    findings with their events             the evidence
    the gate's reasons, exit code, run directory, the command that repeats it

Plain text with optional colours; no cursor movement, so it can be piped, pasted and compared.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from chaos.counters import spoken
from chaos.history import History
from chaos.reports import words
from chaos.reports.escape import terminal
from chaos.verdict import Outcome, PromiseVerdict, VariantVerdict, Verdict

_COLOURS = {Outcome.VALID: "32", Outcome.UNKNOWN: "33", Outcome.INVALID: "31"}
_FINDINGS_SHOWN = 1
_COUNTERS = (
    "attempts", "slot_collisions", "key_errors", "internal_errors", "orphaned_contexts",
    "body_overlaps", "aborts", "aborts_honoured", "aborts_late", "aborts_ignored", "aborts_lost",
    "aborts_misdirected", "aborts_stray", "sweeps", "swept_live", "restarts", "kills", "crashes",
    "retries", "jobs_complete", "jobs_failed", "jobs_aborted", "job_wait_p99",
)  # fmt: skip
_FIRST_COLUMN_MIN = 22

Paint = Callable[[str, Outcome], str]
Row = tuple[str, tuple[tuple[str, Outcome | None], ...]]


def render(
    verdict: Verdict,
    history: History | None = None,
    *,
    run_dir: Path | None = None,
    width: int = 100,
    colour: bool = False,
) -> str:
    """The whole report as text that ends with a newline.

    Args:
        history: where the evidence comes from; without it findings name event numbers alone.
        run_dir: shown as the place where everything is kept.
        width: of the terminal; variants that do not fit side by side get a table of their own.
        colour: outcomes in colour (ANSI), for a terminal.
    """
    paint = _paint if colour else _plain
    parts = [
        *_head(verdict, paint),
        *_tables(verdict.variants, width, paint),
        *_exposures(verdict.variants),
        *_thresholds(verdict.variants),
        *_findings(verdict.variants, history),
        *_foot(verdict, run_dir),
    ]
    return "\n".join(parts) + "\n"


def _plain(text: str, _outcome: Outcome) -> str:
    return text


def _paint(text: str, outcome: Outcome) -> str:
    return f"\x1b[1;{_COLOURS[outcome]}m{text}\x1b[0m"


def _head(verdict: Verdict, paint: Paint) -> Iterator[str]:
    yield paint(words.headline(verdict), verdict.gate.outcome)
    said = [f"plan {terminal(verdict.plan)}"]
    if verdict.run:  # a history written by hand has no run
        said += [f"{verdict.world} world", f"seed {verdict.seed}", f"run {terminal(verdict.run)}"]
    yield " · ".join([*said, f"{verdict.events} events"])
    yield ""


# --- the tables -----------------------------------------------------------------------------------


def _tables(variants: Sequence[VariantVerdict], width: int, paint: Paint) -> Iterator[str]:
    rows = _rows(variants)
    first = max([_FIRST_COLUMN_MIN, *(len(label) for label, _ in rows)]) + 2
    columns = [_column_width(variants, rows, place) for place in range(len(variants))]
    for start, end in _blocks(columns, width - first):
        names = [terminal(one.variant).rjust(columns[start + i] - 2) + "  "
                 for i, one in enumerate(variants[start:end])]  # fmt: skip
        yield " " * first + "".join(names).rstrip()
        for label, cells in rows:
            line = label.ljust(first)
            for place in range(start, end):
                line += _cell(cells[place], columns[place], paint) if cells else ""
            yield line.rstrip()
        yield ""


def _cell(cell: tuple[str, Outcome | None], width: int, paint: Paint) -> str:
    text, outcome = cell
    padding = " " * (width - 2 - len(text))
    return padding + (text if outcome is None else paint(text, outcome)) + "  "


def _column_width(variants: Sequence[VariantVerdict], rows: Sequence[Row], place: int) -> int:
    texts = [cells[place][0] for _, cells in rows if cells]
    return max(len(terminal(variants[place].variant)), *map(len, texts)) + 2


def _blocks(columns: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Runs of columns that fit side by side; one alone may be too wide."""
    start, used = 0, 0
    for place, column in enumerate(columns):
        if place > start and used + column > room:
            yield start, place
            start, used = place, 0
        used += column
    if columns:
        yield start, len(columns)


def _rows(variants: Sequence[VariantVerdict]) -> list[Row]:
    answer: Row = ("all in all", tuple((str(one.outcome), one.outcome) for one in variants))
    promises: list[Row] = [
        (name, tuple(_promise_cell(one, name) for one in variants))
        for name in words.promise_names(variants)
    ]
    counters: list[Row] = [
        (spoken(name), tuple(_counter_cell(one, name) for one in variants))
        for name in words.counter_names(variants)
        if name in _COUNTERS
    ]
    first: list[Row] = []
    if any(one.first_key_error_us is not None for one in variants):
        first = [("first KeyError after", tuple(_first_cell(one) for one in variants))]
    if any(one.server for one in variants):
        first.append(("Redis server", tuple((terminal(one.server), None) for one in variants)))
    rows = [answer, ("", ()), *promises]
    return [*rows, ("", ()), *counters, *first] if counters or first else rows


def _promise_cell(variant: VariantVerdict, name: str) -> tuple[str, Outcome | None]:
    promise = words.promise_of(variant, name)
    return ("not judged", None) if promise is None else (words.cell(promise), promise.outcome)


def _counter_cell(variant: VariantVerdict, name: str) -> tuple[str, None]:
    return words.counter(name, variant.counters.get(name)), None


def _first_cell(variant: VariantVerdict) -> tuple[str, None]:
    at = variant.first_key_error_us
    return ("-" if at is None else words.seconds(at)), None


# --- exposures, thresholds, findings --------------------------------------------------------------


def _exposures(variants: Sequence[VariantVerdict]) -> Iterator[str]:
    """How much each answer is worth: rates with their bounds, and what the plan wants to be met."""
    if not any(one.promises or one.exposures for one in variants):
        return
    yield "How often each danger was met, and how high the true rate of failures can still be:"
    for one in variants:
        yield f"  {terminal(one.variant)}"
        for promise in one.promises:
            yield f"    {promise.promise}: {words.rate_sentence(promise)}"
        for exposure in one.exposures:
            yield f"    {words.exposure_sentence(exposure)}"
    yield ""


def _thresholds(variants: Sequence[VariantVerdict]) -> Iterator[str]:
    lines = [
        f"  {terminal(one.variant)}: {each.outcome}: {words.threshold_sentence(each)}"
        for one in variants
        for each in one.thresholds
    ]
    if lines:
        yield from ("Thresholds of the plan:", *lines, "")


def _findings(variants: Sequence[VariantVerdict], history: History | None) -> Iterator[str]:
    broken = [(one, each) for one in variants for each in one.promises if each.count]
    unknown = [
        f"  {terminal(one.variant)} {each.promise}: {terminal(each.reason)}"
        for one in variants
        for each in one.promises
        if each.outcome is Outcome.UNKNOWN and each.reason
    ]
    if broken:
        yield "What went wrong (the first of each; all that are kept stand in verdict.json):"
        for one, each in broken:
            yield from _broken(one, each, history)
        yield ""
    if unknown:
        yield from ("What nobody can say, and why:", *unknown, "")


def _broken(
    variant: VariantVerdict, promise: PromiseVerdict, history: History | None
) -> Iterator[str]:
    kinds = words.kinds_sentence(promise)
    yield f"  {terminal(variant.variant)} {promise.promise}: {promise.count}×" + (
        f" ({kinds})" if kinds else ""
    )
    for finding in promise.findings[:_FINDINGS_SHOWN]:
        yield f"    {terminal(finding.message)}"
        for line in words.evidence(finding, history):
            yield f"      {line}"


# --- the answer -----------------------------------------------------------------------------------


def _foot(verdict: Verdict, run_dir: Path | None) -> Iterator[str]:
    code = words.exit_code(verdict)
    yield words.headline(verdict)
    for reason in words.gate_reasons(verdict.gate):
        yield f"  - {terminal(reason)}"
    yield f"exit code {code}: {words.EXIT_MEANINGS[code]}"
    if run_dir is not None:
        yield f"run directory: {terminal(str(run_dir))} (open report.html there)"
        if any(each.findings for one in verdict.variants for each in one.promises):
            yield f"how it breaks: saq-chaos story {terminal(shlex.quote(str(run_dir)))}"
    if verdict.repeat:
        yield f"repeat it:     {terminal(verdict.repeat)}"
