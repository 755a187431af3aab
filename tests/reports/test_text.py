"""The final table, word by word."""

from __future__ import annotations

from pathlib import Path

import msgspec

from chaos.reports import text
from chaos.verdict import GateVerdict, Outcome, PromiseVerdict, VariantVerdict, Verdict
from tests.reports.samples import GUARDED, HISTORY, STOCK, VERDICT

GOLDEN = """\
PASSED: the baseline gate against stock@0.26.3 passed
plan same-key · live world · seed 1 · run r1 · 5 events

                        stock@0.26.3  guarded@0.26.3
all in all                   INVALID           VALID

no-internal-errors       INVALID 37×           VALID
one-at-a-time                UNKNOWN           VALID

attempts                        1855            1900
key errors                        30               0
first KeyError after         1.401 s               -
Redis server            valkey 9.1.0

How often each danger was met, and how high the true rate of failures can still be:
  stock@0.26.3
    no-internal-errors: 37 in 412 slot collisions: 8.98 %, at most 11.6 % (95 %)
    one-at-a-time: 0 found; no overlaps were met, so no rate can be given
    412 slot collisions (the plan wants 300)
  guarded@0.26.3
    no-internal-errors: 0 in 412 slot collisions: at most 0.73 % (95 %)
    one-at-a-time: 0 in 1200 overlaps: at most 0.25 % (95 %)
    412 slot collisions (the plan wants 300)

Thresholds of the plan:
  stock@0.26.3: INVALID: key_errors == 0: measured 30

What went wrong (the first of each; all that are kept stand in verdict.json):
  stock@0.26.3 no-internal-errors: 37× (KeyError 30, AssertionError 7)
    KeyError out of process() of k1
      #4 at 1.300 s stock@0.26.3/worker-1.1 slot-overwritten job=k1 attempt=#1 by=#2
      #5 at 1.401 s stock@0.26.3/worker-1.1 slot-missed job=k1 attempt=#2

What nobody can say, and why:
  stock@0.26.3 one-at-a-time: no overlap was met

PASSED: the baseline gate against stock@0.26.3 passed
  - guarded@0.26.3: no promise is worse
exit code 0: the gate passed
run directory: runs/r1 (open report.html there)
how it breaks: saq-chaos story runs/r1
repeat it:     saq-chaos soak runs/r1/plan.yaml
"""


def test_the_whole_report_of_a_run_with_a_bad_and_a_good_variant() -> None:
    assert text.render(VERDICT, HISTORY, run_dir=Path("runs/r1")) == GOLDEN


def test_variants_that_do_not_fit_side_by_side_get_a_table_each() -> None:
    lines = text.render(VERDICT, HISTORY, width=40).splitlines()
    assert [line.strip() for line in lines if line.startswith(" " * 20) and "@" in line] == [
        "stock@0.26.3",
        "guarded@0.26.3",
    ]
    assert sum(line.startswith("all in all") for line in lines) == 2


def test_colour_is_only_there_when_asked_for() -> None:
    assert "\x1b" not in text.render(VERDICT, HISTORY)
    coloured = text.render(VERDICT, HISTORY, colour=True)
    assert "\x1b[1;31mINVALID 37×\x1b[0m" in coloured
    assert "\x1b[1;32mVALID\x1b[0m" in coloured


def test_escape_sequences_that_come_from_a_run_do_not_reach_the_terminal() -> None:
    finding = msgspec.structs.replace(
        STOCK.promises[0].findings[0], message="bad \x1b]0;owned\x07 \u202e key\r\n", events=()
    )
    promise = msgspec.structs.replace(STOCK.promises[0], findings=(finding,), kinds={"\x1b[2J": 1})
    shown = text.render(_with(msgspec.structs.replace(STOCK, promises=(promise,))))
    assert "bad \\x1b]0;owned\\x07 \\u202e key\\r\\n" in shown
    assert "\\x1b[2J 1" in shown
    assert not [character for character in shown if character < " " and character != "\n"]


def test_without_a_history_a_finding_names_its_event_numbers() -> None:
    assert "      events #4, #5\n" in text.render(VERDICT)


def test_evidence_that_is_too_long_is_counted_not_dropped() -> None:
    finding = msgspec.structs.replace(STOCK.promises[0].findings[0], events=(1, 2, 3, 4, 5) * 3)
    promise = msgspec.structs.replace(STOCK.promises[0], findings=(finding,))
    shown = text.render(_with(msgspec.structs.replace(STOCK, promises=(promise,))), HISTORY)
    assert "      … and 3 more events\n" in shown


def test_an_interrupted_run_says_so_and_what_was_seen_so_far() -> None:
    shown = text.render(msgspec.structs.replace(VERDICT, ended="interrupted"), HISTORY)
    assert shown.startswith("INTERRUPTED: what was seen so far is judged; ")
    assert (
        "exit code 130: interrupted: the faults are healed and the partial report is kept\n"
        in shown
    )


def test_a_run_without_exposure_is_unknown_and_names_what_was_too_few() -> None:
    variant = msgspec.structs.replace(
        GUARDED,
        outcome=Outcome.UNKNOWN,
        exposures=(msgspec.structs.replace(GUARDED.exposures[0], count=4),),
    )
    gate = GateVerdict(gate="strict", outcome=Outcome.UNKNOWN, reasons=("too few collisions",))
    shown = text.render(msgspec.structs.replace(VERDICT, variants=(variant,), gate=gate))
    assert shown.startswith("UNKNOWN: the strict gate cannot say\n")
    assert "    4 slot collisions: too few, the plan wants 300\n" in shown
    assert "exit code 3: UNKNOWN: the danger was not met often enough" in shown


def test_a_promise_that_one_variant_was_not_judged_on_says_so() -> None:
    other = VariantVerdict(
        variant="b@1",
        outcome=Outcome.VALID,
        promises=(PromiseVerdict(promise="recovers", outcome=Outcome.VALID, exposure=1),),
    )
    shown = text.render(msgspec.structs.replace(VERDICT, variants=(GUARDED, other)))
    assert "recovers                    not judged       VALID\n" in shown


def test_the_many_no_worse_are_one_line_and_what_is_worse_is_listed() -> None:
    gate = GateVerdict(
        gate="baseline",
        outcome=Outcome.INVALID,
        baseline="stock@0.26.3",
        reasons=(
            "b@1: no-lost-jobs is broken (3 in 412 enqueues); on stock@0.26.3 it held over 9",
            (
                "b@1: p1 is broken 8 times in 9 attempts, on stock@0.26.3 6 times in 9: "
                "no worse (p = 0.42)"
            ),
            (
                "c@1: p2 is broken once in 9 attempts, on stock@0.26.3 6 times in 9: "
                "no worse (p = 0.031)"
            ),
        ),
    )
    shown = text.render(msgspec.structs.replace(VERDICT, gate=gate))
    assert [line for line in shown.splitlines() if line.startswith("  - ")] == [
        "  - b@1: no-lost-jobs is broken (3 in 412 enqueues); on stock@0.26.3 it held over 9",
        (
            "  - no worse on 2 comparisons of what is broken on both; smallest p 0.031 (c@1: p2); "
            "verdict.json has each"
        ),
    ]


def test_one_is_not_many() -> None:
    few = msgspec.structs.replace(STOCK.exposures[0], count=1)
    promise = msgspec.structs.replace(STOCK.promises[0], count=1, exposure=1)
    finding = msgspec.structs.replace(promise.findings[0], events=(1, 2, 3, 4, 5) * 2 + (1, 2, 3))
    promise = msgspec.structs.replace(promise, findings=(finding,))
    shown = text.render(
        _with(msgspec.structs.replace(STOCK, promises=(promise,), exposures=(few,))), HISTORY
    )
    assert "    1 slot collision: too few, the plan wants 300\n" in shown
    assert "    no-internal-errors: 1 in 1 slot collision: " in shown
    assert "      … and 1 more event\n" in shown


def _with(variant: VariantVerdict) -> Verdict:
    return msgspec.structs.replace(VERDICT, variants=(variant,))
