"""JUnit XML for CI servers: a suite per variant, a case per promise, and one suite for the gate.

CI servers fail a build on any `failure` or `error`, so those are kept for what the gate does not
accept: under the baseline gate a defect that the baseline has too is `skipped` with its count and
reason, and so is UNKNOWN (GitLab, Jenkins and GitHub actions show the message of a skipped case).
The case `gate` is red exactly when the exit code is not 0: a run that proved nothing is never
green.
"""

from __future__ import annotations

from xml.etree import ElementTree

from chaos.counters import spoken
from chaos.history import History
from chaos.reports import words
from chaos.reports.escape import xml
from chaos.verdict import Outcome, PromiseVerdict, VariantVerdict, Verdict

NO_WORSE = ": no worse ("  # how the gate words a defect that it accepts
_Element = ElementTree.Element


def render(verdict: Verdict, history: History | None = None) -> str:
    """The XML document. Control characters are escaped: XML 1.0 forbids them outright."""
    root = ElementTree.Element("testsuites", name=f"saq-chaos {xml(verdict.plan)}")
    for variant in verdict.variants:
        root.append(_variant(verdict, variant, history))
    root.append(_gate(verdict))
    _count(root)
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _variant(verdict: Verdict, variant: VariantVerdict, history: History | None) -> _Element:
    suite = ElementTree.Element("testsuite", name=xml(variant.variant))
    for promise in variant.promises:
        _promise(suite, verdict, variant, promise, history)
    for exposure in variant.exposures:
        if exposure.required:
            case = _case(suite, variant.variant, f"exposure: {spoken(exposure.exposure)}")
            if not exposure.met:
                _mark(case, "skipped", f"UNKNOWN: {words.exposure_sentence(exposure)}")
    for threshold in variant.thresholds:
        case = _case(suite, variant.variant, f"threshold: {threshold.threshold}")
        said = words.threshold_sentence(threshold)
        if threshold.outcome is Outcome.UNKNOWN:
            _mark(case, "skipped", f"UNKNOWN: {said}")
        elif threshold.outcome is Outcome.INVALID:
            _mark(case, "failure", said)
    return suite


def _promise(
    suite: _Element,
    verdict: Verdict,
    variant: VariantVerdict,
    promise: PromiseVerdict,
    history: History | None,
) -> None:
    case = _case(suite, variant.variant, promise.promise)
    rate = words.rate_sentence(promise)
    if promise.outcome is Outcome.VALID:
        ElementTree.SubElement(case, "system-out").text = xml(rate)
    elif promise.outcome is Outcome.UNKNOWN:
        _mark(case, "skipped", f"UNKNOWN: {promise.reason or rate}")
    elif _accepted(verdict, variant, promise):
        baseline = verdict.gate.baseline
        own = _is_baseline(verdict, variant)
        known = "INVALID on the baseline" if own else "INVALID, but no worse than on"
        _mark(case, "skipped", f"{known} {baseline}: {rate}")
    else:
        _mark(case, "failure", rate, _details(promise, history))


def _is_baseline(verdict: Verdict, variant: VariantVerdict) -> bool:
    return bool(verdict.gate.baseline) and variant.variant == verdict.gate.baseline


def _accepted(verdict: Verdict, variant: VariantVerdict, promise: PromiseVerdict) -> bool:
    """Whether the gate lets this defect pass: the baseline has it too, and no reason blames it."""
    if not verdict.gate.baseline:
        return False
    blamed = f"{variant.variant}: {promise.promise} "
    named = any(
        reason.startswith(blamed) and NO_WORSE not in reason for reason in verdict.gate.reasons
    )
    return _is_baseline(verdict, variant) or verdict.gate.outcome is Outcome.VALID or not named


def _details(promise: PromiseVerdict, history: History | None) -> str:
    lines = [words.kinds_sentence(promise)]
    for finding in promise.findings:
        lines += [finding.message, *(f"  {line}" for line in words.evidence(finding, history))]
    return "\n".join(lines)


def _gate(verdict: Verdict) -> _Element:
    suite = ElementTree.Element("testsuite", name="gate")
    case = _case(suite, "gate", f"{verdict.gate.gate} gate")
    code = words.exit_code(verdict)
    if code:
        kind = "failure" if verdict.gate.outcome is Outcome.INVALID else "error"
        lines = (f"exit code {code}: {words.EXIT_MEANINGS[code]}", *verdict.gate.reasons)
        _mark(case, kind, words.headline(verdict), "\n".join(lines))
    if verdict.repeat:
        ElementTree.SubElement(case, "system-out").text = xml(f"repeat it: {verdict.repeat}")
    return suite


def _case(suite: _Element, classname: str, name: str) -> _Element:
    return ElementTree.SubElement(suite, "testcase", classname=xml(classname), name=xml(name))


def _mark(case: _Element, kind: str, message: str, details: str = "") -> None:
    ElementTree.SubElement(case, kind, message=xml(message)).text = xml(details) or None


def _count(root: _Element) -> None:
    """Write the totals that servers show; a case has no duration of its own, so time is 0."""
    for suite in root.findall("testsuite"):
        suite.set("tests", str(len(suite.findall("testcase"))))
        for total, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(total, str(len(suite.findall(f"testcase/{kind}"))))
        suite.set("time", "0")
