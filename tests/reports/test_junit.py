"""JUnit XML: what is red, what is skipped, and that any run makes a well-formed document."""

from __future__ import annotations

from xml.etree import ElementTree

import msgspec

from chaos.gate import against
from chaos.reports import junit
from chaos.verdict import Finding, GateVerdict, Outcome, VariantVerdict
from tests.reports.samples import GUARDED, HISTORY, STOCK, VERDICT

GOLDEN = """\
<?xml version="1.0" encoding="utf-8"?>
<testsuites name="saq-chaos same-key">
  <testsuite name="guarded@0.26.3" tests="3" failures="0" errors="0" skipped="0" time="0">
    <testcase classname="guarded@0.26.3" name="no-internal-errors">
      <system-out>0 in 412 slot collisions: at most 0.73 % (95 %)</system-out>
    </testcase>
    <testcase classname="guarded@0.26.3" name="one-at-a-time">
      <system-out>0 in 1200 overlaps: at most 0.25 % (95 %)</system-out>
    </testcase>
    <testcase classname="guarded@0.26.3" name="exposure: slot collisions" />
  </testsuite>
  <testsuite name="gate" tests="1" failures="0" errors="0" skipped="0" time="0">
    <testcase classname="gate" name="strict gate">
      <system-out>repeat it: saq-chaos soak runs/r1/plan.yaml</system-out>
    </testcase>
  </testsuite>
</testsuites>
"""
STRICT = GateVerdict(gate="strict", outcome=Outcome.INVALID, reasons=("stock@0.26.3: bad",))


def test_a_valid_variant_is_green_with_its_bounds() -> None:
    gate = GateVerdict(gate="strict", outcome=Outcome.VALID)
    verdict = msgspec.structs.replace(VERDICT, variants=(GUARDED,), gate=gate)
    assert junit.render(verdict, HISTORY) == GOLDEN


def test_a_broken_promise_is_a_failure_with_its_evidence_under_the_strict_gate() -> None:
    case = _case(STOCK, STRICT, "no-internal-errors")
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == ("37 in 412 slot collisions: 8.98 %, at most 11.6 % (95 %)")
    assert failure.text == (
        "KeyError 30, AssertionError 7\n"
        "KeyError out of process() of k1\n"
        "  #4 at 1.300 s stock@0.26.3/worker-1.1 slot-overwritten job=k1 attempt=#1 by=#2\n"
        "  #5 at 1.401 s stock@0.26.3/worker-1.1 slot-missed job=k1 attempt=#2"
    )


def test_a_defect_that_the_baseline_has_itself_is_skipped_not_red() -> None:
    case = _case(STOCK, VERDICT.gate, "no-internal-errors")
    skipped = case.find("skipped")
    assert skipped is not None
    assert skipped.get("message") == (
        "INVALID on the baseline stock@0.26.3: "
        "37 in 412 slot collisions: 8.98 %, at most 11.6 % (95 %)"
    )
    assert case.find("failure") is None


def test_a_defect_that_is_worse_than_the_baseline_is_red() -> None:
    gate = GateVerdict(
        gate="baseline",
        outcome=Outcome.INVALID,
        baseline="stock@0.26.4",
        reasons=("stock@0.26.3: no-internal-errors is broken 37 times in 412: more often",),
    )
    assert _case(STOCK, gate, "no-internal-errors").find("failure") is not None


def test_a_defect_that_is_no_worse_stays_accepted_where_the_gate_fails_for_another_one() -> None:
    other = msgspec.structs.replace(VERDICT.gate, baseline="stock@0.26.4")
    broken = msgspec.structs.replace(STOCK, variant="stock@0.26.4")
    accepted = against("stock@0.26.4", (broken, STOCK)).reasons
    (said,) = (one for one in accepted if "no-internal-errors" in one)
    assert said == (
        "stock@0.26.3: no-internal-errors is broken 37 times in 412 slot collisions, "
        "on stock@0.26.4 37 times in 412: no worse (p = 0.55)"
    )
    gate = msgspec.structs.replace(
        other, outcome=Outcome.INVALID, reasons=("stock@0.26.3: recovers is broken", *accepted)
    )
    skipped = _case(STOCK, gate, "no-internal-errors").find("skipped")
    assert skipped is not None
    assert str(skipped.get("message")).startswith("INVALID, but no worse than on stock@0.26.4: ")


def test_unknown_is_skipped_with_its_reason_and_the_gate_case_is_red() -> None:
    gate = GateVerdict(gate="strict", outcome=Outcome.UNKNOWN, reasons=("no overlap was met",))
    skipped = _case(STOCK, gate, "one-at-a-time").find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "UNKNOWN: no overlap was met"
    error = _case(STOCK, gate, "strict gate").find("error")
    assert error is not None
    assert error.text == (
        "exit code 3: UNKNOWN: the danger was not met often enough, or something could not be "
        "seen\nno overlap was met"
    )


def test_an_interrupted_run_is_never_green() -> None:
    verdict = msgspec.structs.replace(VERDICT, ended="interrupted")
    root = ElementTree.fromstring(junit.render(verdict))
    assert root.find("testsuite[@name='gate']/testcase/error") is not None


def test_a_missed_exposure_and_a_broken_threshold_are_cases_of_their_own() -> None:
    few = msgspec.structs.replace(STOCK.exposures[0], count=3)
    variant = msgspec.structs.replace(STOCK, exposures=(few,))
    skipped = _case(variant, STRICT, "exposure: slot collisions").find("skipped")
    assert skipped is not None
    assert skipped.get("message") == ("UNKNOWN: 3 slot collisions: too few, the plan wants 300")
    failure = _case(STOCK, STRICT, "threshold: key_errors == 0").find("failure")
    assert failure is not None
    assert failure.get("message") == "key_errors == 0: measured 30"


def test_control_characters_and_markup_from_a_run_stay_well_formed() -> None:
    finding = Finding(kind="x", message="\x00\x1b[1m</failure>&\ud800\uffff", events=())
    promise = msgspec.structs.replace(STOCK.promises[0], findings=(finding,))
    variant = msgspec.structs.replace(STOCK, promises=(promise,))
    failure = _case(variant, STRICT, "no-internal-errors").find("failure")
    assert failure is not None
    assert failure.text is not None
    assert failure.text.splitlines()[1] == "\\x00\\x1b[1m</failure>&\\ud800\\uffff"


def _case(variant: VariantVerdict, gate: GateVerdict, name: str) -> ElementTree.Element:
    verdict = msgspec.structs.replace(VERDICT, variants=(variant,), gate=gate)
    root = ElementTree.fromstring(junit.render(verdict, HISTORY))
    case = root.find(f"testsuite/testcase[@name='{name}']")
    assert case is not None, ElementTree.tostring(root, encoding="unicode")
    return case
