"""JUnit XML: what is red, what is skipped, and that any run makes a well-formed document."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import msgspec
import pytest

from chaos.event import HostExited, PhaseBegan, RunBegan, RunEnded
from chaos.gate import against
from chaos.history import History
from chaos.reports import junit
from chaos.verdict import Finding, GateVerdict, Outcome, VariantVerdict
from tests.reports.samples import GUARDED, HISTORY, STOCK, VERDICT

GOLDEN = """\
<?xml version="1.0" encoding="utf-8"?>
<testsuites name="saq-chaos same-key" tests="4" failures="0" errors="0" skipped="0" time="1.401">
  <testsuite name="guarded@0.26.3" tests="3" failures="0" errors="0" skipped="0" time="0.000">
    <properties>
      <property name="outcome" value="VALID" />
      <property name="run" value="r1" />
      <property name="plan" value="same-key" />
      <property name="world" value="live" />
      <property name="seed" value="1" />
      <property name="saq-chaos" value="0.1.0" />
      <property name="history-sha256" value="DIGEST" />
      <property name="repeat" value="saq-chaos soak runs/r1/plan.yaml" />
    </properties>
    <testcase classname="same-key.guarded@0_26_3" name="no-internal-errors" time="0">
      <system-out>0 in 412 slot collisions: at most 0.73 % (95 %)</system-out>
    </testcase>
    <testcase classname="same-key.guarded@0_26_3" name="one-at-a-time" time="0">
      <system-out>0 in 1200 overlaps: at most 0.25 % (95 %)</system-out>
    </testcase>
    <testcase classname="same-key.guarded@0_26_3" name="exposure: slot collisions" time="0">
      <system-out>412 slot collisions (the plan wants 300)</system-out>
    </testcase>
  </testsuite>
  <testsuite name="gate" tests="1" failures="0" errors="0" skipped="0" time="0.000">
    <properties>
      <property name="outcome" value="VALID" />
      <property name="run" value="r1" />
      <property name="plan" value="same-key" />
      <property name="world" value="live" />
      <property name="seed" value="1" />
      <property name="saq-chaos" value="0.1.0" />
      <property name="history-sha256" value="DIGEST" />
      <property name="repeat" value="saq-chaos soak runs/r1/plan.yaml" />
    </properties>
    <testcase classname="same-key.gate" name="strict gate" time="0">
      <system-out>repeat it: saq-chaos soak runs/r1/plan.yaml</system-out>
    </testcase>
  </testsuite>
</testsuites>
""".replace("DIGEST", "ab" * 32)
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
    assert failure.get("type") == "INVALID"
    assert failure.text == (
        "37 in 412 slot collisions: 8.98 %, at most 11.6 % (95 %)\n"
        "KeyError 30, AssertionError 7\n"
        "KeyError out of process() of k1\n"
        "  #4 at 1.300 s stock@0.26.3/worker-1.1 slot-overwritten job=k1 attempt=#1 by=#2\n"
        "  #5 at 1.401 s stock@0.26.3/worker-1.1 slot-missed job=k1 attempt=#2\n"
        "… and 36 more findings: see report.html"
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


def test_unknown_is_an_error_with_its_reason_and_so_is_the_gate_case() -> None:
    gate = GateVerdict(gate="strict", outcome=Outcome.UNKNOWN, reasons=("no overlap was met",))
    error = _case(STOCK, gate, "one-at-a-time").find("error")
    assert error is not None
    assert (error.get("type"), error.get("message"), error.text) == (
        "UNKNOWN",
        "UNKNOWN: no overlap was met",
        "UNKNOWN: no overlap was met",
    )
    error = _case(STOCK, gate, "strict gate").find("error")
    assert error is not None
    assert error.text == (
        "UNKNOWN: the strict gate cannot say\n"
        "exit code 3: UNKNOWN: the danger was not met often enough, or something could not be "
        "seen\nno overlap was met"
    )


def test_what_is_unknown_on_the_baseline_alone_is_skipped_since_the_gate_does_not_ask() -> None:
    skipped = _case(STOCK, VERDICT.gate, "one-at-a-time").find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "UNKNOWN on the baseline: no overlap was met"


def test_a_threshold_that_fails_on_the_baseline_too_is_skipped_not_red() -> None:
    name = "threshold: key_errors == 0"
    skipped = _case(STOCK, VERDICT.gate, name).find("skipped")
    assert skipped is not None
    assert skipped.get("message") == (
        "INVALID on the baseline stock@0.26.3: key_errors == 0: measured 30"
    )
    gate = GateVerdict(
        gate="baseline",
        outcome=Outcome.INVALID,
        baseline="stock@0.26.4",
        reasons=(
            "stock@0.26.3: threshold key_errors == 0 fails with 30; on stock@0.26.4 it holds",
        ),
    )
    assert _case(STOCK, gate, name).find("failure") is not None


def test_a_variant_that_was_cut_short_has_a_red_case_that_says_so() -> None:
    cut = msgspec.structs.replace(GUARDED, incomplete=("the run was cut short: interrupted",))
    error = _case(cut, STRICT, "the run as a whole").find("error")
    assert error is not None
    assert error.text == "UNKNOWN: the run was cut short: interrupted"


def test_an_interrupted_run_is_never_green() -> None:
    verdict = msgspec.structs.replace(VERDICT, ended="interrupted")
    root = ElementTree.fromstring(junit.render(verdict))
    assert root.find("testsuite[@name='gate']/testcase/error") is not None


def test_a_missed_exposure_and_a_broken_threshold_are_cases_of_their_own() -> None:
    few = msgspec.structs.replace(STOCK.exposures[0], count=3)
    variant = msgspec.structs.replace(STOCK, exposures=(few,))
    error = _case(variant, STRICT, "exposure: slot collisions").find("error")
    assert error is not None
    assert error.get("message") == ("UNKNOWN: 3 slot collisions: too few, the plan wants 300")
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
    assert failure.text.splitlines()[2] == "\\x00\\x1b[1m</failure>&\\ud800\\uffff"


def test_a_history_gives_suites_their_time_and_the_moment_at_which_they_began() -> None:
    began = RunBegan(
        run="r1", plan="p", world="live", seed=1, variants=("stock@0.26.3",),
        wall="2026-12-01T00:15:10+00:00",
    )  # fmt: skip
    history = History(
        [began, PhaseBegan(t_us=100, phase="safety", of="stock@0.26.3"),
         RunEnded(t_us=61_250_000, reason="finished", of="stock@0.26.3"),
         HostExited(t_us=62_000_000, target="stock@0.26.3/worker-1.1", code=0)]
    )  # fmt: skip
    root = ElementTree.fromstring(junit.render(VERDICT, history))
    assert root.get("time") == "62.000"
    suite = root.find("testsuite[@name='stock@0.26.3']")
    assert suite is not None
    assert (suite.get("time"), suite.get("timestamp")) == ("61.250", "2026-12-01T00:15:10")


# What common servers read: the attributes of each element, and its children in their order.
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
}
CHILDREN = {
    "testsuites": r"(testsuite )+",
    "testsuite": r"properties (testcase )+",
    "properties": r"(property )+",
    "testcase": r"(failure |error |skipped )?(system-out )?",
}


@pytest.mark.parametrize(
    "gate",
    [
        VERDICT.gate,
        STRICT,
        GateVerdict(gate="strict", outcome=Outcome.UNKNOWN, reasons=("no\x00\ufffe\ud800",)),
    ],
)
def test_every_document_has_the_structure_that_servers_read(gate: GateVerdict) -> None:
    root = ElementTree.fromstring(
        junit.render(msgspec.structs.replace(VERDICT, gate=gate, plan="a.b\x1b"), HISTORY)
    )
    for element in root.iter():
        assert set(element.keys()) <= ATTRIBUTES[element.tag]
        children = "".join(f"{child.tag} " for child in element)
        assert re.fullmatch(CHILDREN.get(element.tag, ""), children), (element.tag, children)
    for suite in (root, *root.findall("testsuite")):
        cases = list(suite.iter("testcase"))
        assert suite.get("tests") == str(len(cases))
        for total, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert suite.get(total) == str(len(list(suite.iter(kind))))
        assert re.fullmatch(r"\d+\.\d{3}", suite.get("time", ""))
    named = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(set(named)) == len(named)
    assert all(str(classname).count(".") == 1 for classname, _ in named)


def test_a_case_that_is_not_valid_is_never_green() -> None:
    root = ElementTree.fromstring(junit.render(VERDICT, HISTORY))
    for variant in VERDICT.variants:
        for promise in variant.promises:
            case = root.find(
                f"testsuite[@name='{variant.variant}']/testcase[@name='{promise.promise}']"
            )
            assert case is not None
            marks = [one for one in case if one.tag in ("failure", "error", "skipped")]
            assert bool(marks) == (promise.outcome is not Outcome.VALID)


def _case(variant: VariantVerdict, gate: GateVerdict, name: str) -> ElementTree.Element:
    verdict = msgspec.structs.replace(VERDICT, variants=(variant,), gate=gate)
    root = ElementTree.fromstring(junit.render(verdict, HISTORY))
    case = root.find(f"testsuite/testcase[@name='{name}']")
    assert case is not None, ElementTree.tostring(root, encoding="unicode")
    return case
