"""A summary in GitHub's Markdown: for a job summary, a pull request comment, a chat message."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.history import History
from chaos.reports import words
from chaos.reports.escape import markdown, terminal
from chaos.verdict import Outcome, PromiseVerdict, VariantVerdict, Verdict

_ICONS = {Outcome.VALID: "✅", Outcome.UNKNOWN: "❔", Outcome.INVALID: "❌"}


def render(verdict: Verdict, history: History | None = None) -> str:
    """Headline, table, bounds, reasons and evidence; everything from the run is escaped."""
    parts = [
        f"### {_ICONS[verdict.gate.outcome]} saq-chaos: {markdown(words.headline(verdict))}",
        "",
        _place(verdict),
        "",
        *_table(verdict),
        "",
        *(f"- {markdown(reason)}" for reason in verdict.gate.reasons),
        *_bounds(verdict),
        *_findings(verdict, history),
    ]
    if verdict.repeat:
        parts += ["", f"Repeat it: `{_code(verdict.repeat)}`"]
    return "\n".join(parts) + "\n"


def _place(verdict: Verdict) -> str:
    code = words.exit_code(verdict)
    return (
        f"plan `{_code(verdict.plan)}` · {verdict.world} world · seed {verdict.seed} · "
        f"exit code {code}: {words.EXIT_MEANINGS[code]}"
    )


def _code(text: str) -> str:
    """Inside a code span nothing is markup but the backtick, which is left out."""
    return terminal(text).replace("`", "'")


def _table(verdict: Verdict) -> Iterator[str]:
    names = words.promise_names(verdict.variants)
    yield "| | " + " | ".join(markdown(one.variant) for one in verdict.variants) + " |"
    yield "|---|" + "---|" * len(verdict.variants)
    yield "| **all in all** | " + " | ".join(_outcome(one) for one in verdict.variants) + " |"
    for name in names:
        cells = (_cell(words.promise_of(one, name)) for one in verdict.variants)
        yield f"| {name} | " + " | ".join(cells) + " |"


def _outcome(variant: VariantVerdict) -> str:
    return f"{_ICONS[variant.outcome]} {variant.outcome}"


def _cell(promise: PromiseVerdict | None) -> str:
    return "not judged" if promise is None else f"{_ICONS[promise.outcome]} {words.cell(promise)}"


def _bounds(verdict: Verdict) -> Iterator[str]:
    yield from ("", "<details><summary>How much these answers are worth</summary>", "")
    for one in verdict.variants:
        for promise in one.promises:
            said = markdown(words.rate_sentence(promise))
            yield f"- {markdown(one.variant)}, {promise.promise}: {said}"
        for exposure in one.exposures:
            yield f"- {markdown(one.variant)}: {markdown(words.exposure_sentence(exposure))}"
    yield from ("", "</details>")


def _findings(verdict: Verdict, history: History | None) -> Iterator[str]:
    for one in verdict.variants:
        for promise in one.promises:
            for finding in promise.findings[:1]:
                start = f"**{markdown(one.variant)}, {promise.promise}**, {promise.count}×"
                yield from ("", f"{start}: {markdown(finding.message)}", "")
                yield from (f"    {line}" for line in words.evidence(finding, history))
