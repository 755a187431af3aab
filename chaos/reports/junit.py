"""JUnit XML for CI servers: a suite per variant, a case per promise, and one suite for the gate.

    testsuites
      testsuite  stock@0.26.4                       a variant; properties, time and timestamp
        testcase   same-key.stock@0_26_4            no-internal-errors
        testcase   same-key.stock@0_26_4            exposure: slot collisions
      testsuite  gate                               one case: red if the exit code is not 0

CI servers fail a build on any `failure` or `error`, and show nothing of a passed case, so

    passed    VALID, and what the plan wanted was met
    failure   INVALID, and the gate does not accept it
    error     UNKNOWN: what was not seen is never green
    skipped   what the baseline gate accepts: a defect that the baseline has as often, and what is
              UNKNOWN on the baseline alone

Jenkins takes what stands before the last dot of a class name for its package, hence no dots in a
variant's; GitLab shows the text of a failure and not its message, hence both say it.
"""

from __future__ import annotations

from xml.etree import ElementTree

import msgspec

from chaos.clock import SECOND_US
from chaos.counters import spoken
from chaos.event import PhaseBegan, RunBegan, RunEnded
from chaos.history import History
from chaos.reports import words
from chaos.reports.escape import terminal, xml
from chaos.verdict import Outcome, PromiseVerdict, ThresholdVerdict, VariantVerdict, Verdict

FINDINGS_SHOWN = 5
_LINE_MAX = 400
_Element = ElementTree.Element


class _Mark(msgspec.Struct, frozen=True):
    """What a case is instead of passed: failure, error or skipped."""

    kind: str
    message: str
    details: str = ""


def render(verdict: Verdict, history: History | None = None) -> str:
    """The XML document. Control characters are escaped: XML 1.0 forbids them outright."""
    root = ElementTree.Element("testsuites", name=xml(f"saq-chaos {verdict.plan}"))
    for variant in verdict.variants:
        root.append(_variant(verdict, variant, history))
    root.append(_gate(verdict))
    _count(root, verdict, history)
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


# --- a variant ------------------------------------------------------------------------------------


def _variant(verdict: Verdict, variant: VariantVerdict, history: History | None) -> _Element:
    suite = _suite(verdict, variant.variant, outcome=variant.outcome, server=variant.server)
    classname = _classname(verdict, variant.variant)
    if variant.incomplete:
        said = f"UNKNOWN: {'; '.join(variant.incomplete)}"
        _case(suite, classname, "the run as a whole", _Mark("error", said))
    for promise in variant.promises:
        mark = _promise(verdict, variant, promise, history)
        rate = words.rate_sentence(promise)
        _case(suite, classname, promise.promise, mark, said="" if mark else rate)
    for exposure in variant.exposures:
        if exposure.required:
            said = words.exposure_sentence(exposure)
            few = None if exposure.met else _Mark("error", f"UNKNOWN: {said}")
            name = f"exposure: {spoken(exposure.exposure)}"
            _case(suite, classname, name, few, said=said if exposure.met else "")
    for threshold in variant.thresholds:
        mark = _threshold(verdict, variant, threshold)
        said = words.threshold_sentence(threshold)
        name = f"threshold: {threshold.threshold}"
        _case(suite, classname, name, mark, said="" if mark else said)
    return suite


def _promise(
    verdict: Verdict, variant: VariantVerdict, promise: PromiseVerdict, history: History | None
) -> _Mark | None:
    if promise.outcome is Outcome.VALID:
        return None
    rate = words.rate_sentence(promise)
    if promise.outcome is Outcome.UNKNOWN:
        return _unknown(verdict, variant, promise.reason or rate)
    details = _details(promise, history)
    if _is_accepted(verdict, variant, f"{promise.promise} "):
        return _Mark("skipped", f"{_known(verdict, variant)}: {rate}", details)
    return _Mark("failure", rate, details)


def _threshold(
    verdict: Verdict, variant: VariantVerdict, threshold: ThresholdVerdict
) -> _Mark | None:
    said = words.threshold_sentence(threshold)
    if threshold.outcome is Outcome.VALID:
        return None
    if threshold.outcome is Outcome.UNKNOWN:
        return _unknown(verdict, variant, said)
    if _is_accepted(verdict, variant, f"threshold {threshold.threshold} "):
        return _Mark("skipped", f"{_known(verdict, variant)}: {said}")
    return _Mark("failure", said)


def _unknown(verdict: Verdict, variant: VariantVerdict, reason: str) -> _Mark:
    """The gate does not ask what nobody saw on the baseline, unless a candidate depends on it."""
    if _is_baseline(verdict, variant):
        return _Mark("skipped", f"UNKNOWN on the baseline: {reason}")
    return _Mark("error", f"UNKNOWN: {reason}")


def _known(verdict: Verdict, variant: VariantVerdict) -> str:
    if _is_baseline(verdict, variant):
        return f"INVALID on the baseline {verdict.gate.baseline}"
    return f"INVALID, but no worse than on {verdict.gate.baseline}"


def _is_baseline(verdict: Verdict, variant: VariantVerdict) -> bool:
    return bool(verdict.gate.baseline) and variant.variant == verdict.gate.baseline


def _is_accepted(verdict: Verdict, variant: VariantVerdict, what: str) -> bool:
    """Whether the gate lets a defect pass: the baseline has it too, and no reason blames it."""
    if not verdict.gate.baseline:
        return False
    blamed = f"{variant.variant}: {what}"
    named = any(
        reason.startswith(blamed) and words.NO_WORSE not in reason
        for reason in verdict.gate.reasons
    )
    return _is_baseline(verdict, variant) or verdict.gate.outcome is Outcome.VALID or not named


def _details(promise: PromiseVerdict, history: History | None) -> str:
    lines = [words.kinds_sentence(promise)]
    for finding in promise.findings[:FINDINGS_SHOWN]:
        lines += [finding.message, *(f"  {line}" for line in words.evidence(finding, history))]
    rest = promise.count - min(promise.count, len(promise.findings), FINDINGS_SHOWN)
    if rest:
        lines.append(f"… and {words.many(rest, 'more finding')}: see report.html")
    return "\n".join(terminal(line)[:_LINE_MAX] for line in lines)


# --- the gate -------------------------------------------------------------------------------------


def _gate(verdict: Verdict) -> _Element:
    suite = _suite(verdict, "gate", outcome=verdict.gate.outcome)
    code = words.exit_code(verdict)
    reasons = words.gate_reasons(verdict.gate)
    mark = None
    if code:
        kind = "failure" if verdict.gate.outcome is Outcome.INVALID else "error"
        lines = (f"exit code {code}: {words.EXIT_MEANINGS[code]}", *reasons)
        mark = _Mark(kind, words.headline(verdict), "\n".join(lines))
    repeat = f"repeat it: {verdict.repeat}" if verdict.repeat else ""
    said = "\n".join(filter(None, (*(() if mark else reasons), repeat)))
    name = f"{verdict.gate.gate} gate"
    _case(suite, _classname(verdict, "gate"), name, mark, said=said)
    return suite


# --- elements -------------------------------------------------------------------------------------


def _suite(verdict: Verdict, name: str, *, outcome: Outcome, server: str = "") -> _Element:
    """A suite with what a reader needs to find this run again."""
    suite = ElementTree.Element("testsuite", name=xml(name))
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in (
        ("outcome", str(outcome)),
        ("run", verdict.run),
        ("plan", verdict.plan),
        ("world", verdict.world),
        ("seed", str(verdict.seed)),
        ("server", server),
        ("saq-chaos", verdict.version),
        ("history-sha256", verdict.history_digest),
        ("repeat", verdict.repeat),
    ):
        if value:
            ElementTree.SubElement(properties, "property", name=key, value=xml(value))
    return suite


def _classname(verdict: Verdict, name: str) -> str:
    return xml(".".join(part.replace(".", "_") for part in (verdict.plan, name)))


def _case(
    suite: _Element, classname: str, name: str, mark: _Mark | None, *, said: str = ""
) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=classname, name=xml(name), time="0")
    if mark is not None:
        text = "\n".join(filter(None, (mark.message, mark.details)))
        element = ElementTree.SubElement(
            case, mark.kind, message=xml(mark.message.replace("\n", " "))
        )
        if mark.kind != "skipped":
            element.set("type", "UNKNOWN" if mark.kind == "error" else "INVALID")
        element.text = xml(text)
    if said:
        ElementTree.SubElement(case, "system-out").text = xml(said)


def _count(root: _Element, verdict: Verdict, history: History | None) -> None:
    """Write the totals that servers show. A case has no time of its own; its suite has the run's.

    `tests` and its like are counted from what is there, so that they cannot disagree with it.
    """
    stamp, seconds = _began(history), _seconds(history, verdict)
    for element, path in (
        *((suite, "testcase") for suite in root.findall("testsuite")),
        (root, "testsuite/testcase"),
    ):
        element.set("tests", str(len(element.findall(path))))
        for total, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            element.set(total, str(len(element.findall(f"{path}/{kind}"))))
        name = element.get("name", "") if element is not root else ""
        element.set("time", f"{seconds.get(name, 0.0):.3f}")
        if stamp and element is not root:
            element.set("timestamp", stamp)


def _began(history: History | None) -> str:
    """When the run began: ISO 8601 in UTC without a zone, as the format has it."""
    first = history[0] if history else None
    return xml(first.wall[:19]) if isinstance(first, RunBegan) else ""


def _seconds(history: History | None, verdict: Verdict) -> dict[str, float]:
    """How long each variant was led, by suite name; under "" how long the run was."""
    seconds = {xml(variant.variant): 0.0 for variant in verdict.variants}
    for event in history or ():
        if isinstance(event, PhaseBegan | RunEnded):
            named = [xml(event.of)] if event.of else list(seconds)
            for name in named:
                seconds[name] = event.t_us / SECOND_US
    seconds[""] = history[-1].t_us / SECOND_US if history else 0.0
    return seconds
