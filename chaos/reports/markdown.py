"""A summary in GitHub's Markdown: for a job summary, a pull request comment, a chat message.

    ### ✅ headline
    where it ran · promises × variants · the gate's reasons
    ▸ each broken promise with its first finding and its events     folded away
    ▸ what the answers are worth                                    folded away
    the command that repeats it

A comment may have 65,536 characters, so this has at most `LIMIT`: the answer, its table and its
reasons always, then as many findings as there is room for, and how many there was none for.
Whatever comes from the run is shown literally: no markup, no link, and no mention of anybody.
"""

from __future__ import annotations

from collections.abc import Iterator

from chaos.history import History
from chaos.reports import words
from chaos.reports.escape import html, markdown, markdown_block, markdown_code
from chaos.verdict import Outcome, PromiseVerdict, VariantVerdict, Verdict

LIMIT = 60_000
REASONS_SHOWN = 20
_ICONS = {Outcome.VALID: "✅", Outcome.UNKNOWN: "❔", Outcome.INVALID: "❌"}


def render(verdict: Verdict, history: History | None = None) -> str:
    """The summary. With a history the findings are shown with their events."""
    start = "\n".join(
        (
            f"### {_ICONS[verdict.gate.outcome]} saq-chaos: {markdown(words.headline(verdict))}",
            "",
            _place(verdict),
            "",
            *_table(verdict),
            "",
            *_reasons(verdict),
        )
    )
    end = _repeat(verdict)
    room = LIMIT - len(start) - len(end) - 200
    worth = "\n".join(_worth(verdict))
    if len(worth) > room:
        worth = ""
    middle = "\n".join((*_findings(verdict, history, room - len(worth)), worth))
    return f"{start}\n{middle}\n{end}"


def _place(verdict: Verdict) -> str:
    code = words.exit_code(verdict)
    return (
        f"plan {markdown_code(verdict.plan)} · {markdown(verdict.world)} world · "
        f"seed {verdict.seed} · {words.many(verdict.events, 'event')} · "
        f"exit code {code}: {words.EXIT_MEANINGS[code]}"
    )


def _table(verdict: Verdict) -> Iterator[str]:
    names = words.promise_names(verdict.variants)
    heads = (markdown_code(one.variant, in_table=True, limit=80) for one in verdict.variants)
    yield "| | " + " | ".join(heads) + " |"
    yield "|---|" + "---|" * len(verdict.variants)
    yield "| **all in all** | " + " | ".join(_outcome(one) for one in verdict.variants) + " |"
    for name in names:
        cells = (_cell(words.promise_of(one, name)) for one in verdict.variants)
        yield f"| {markdown(name)} | " + " | ".join(cells) + " |"


def _outcome(variant: VariantVerdict) -> str:
    return f"{_ICONS[variant.outcome]} {variant.outcome}"


def _cell(promise: PromiseVerdict | None) -> str:
    return "not judged" if promise is None else f"{_ICONS[promise.outcome]} {words.cell(promise)}"


def _reasons(verdict: Verdict) -> Iterator[str]:
    reasons = words.gate_reasons(verdict.gate)
    for reason in reasons[:REASONS_SHOWN]:
        yield f"- {markdown(reason)}"
    rest = len(reasons) - REASONS_SHOWN
    if rest > 0:
        yield f"- … and {words.many(rest, 'more reason')}: see report.html"


def _findings(verdict: Verdict, history: History | None, room: int) -> Iterator[str]:
    """A folded block for each broken promise, until there is no room; the rest is counted."""
    left_out = 0
    for variant in verdict.variants:
        for promise in variant.promises:
            if not promise.findings:
                continue
            block = _finding(variant, promise, history)
            room -= len(block) + 1
            if left_out or room < 0:
                left_out += 1
            else:
                yield block
    if left_out:
        which = "broken promise is" if left_out == 1 else "broken promises are"
        yield f"\n{left_out} more {which} left out here: see report.html."


def _finding(variant: VariantVerdict, promise: PromiseVerdict, history: History | None) -> str:
    finding = promise.findings[0]
    kinds = words.kinds_sentence(promise)
    told = f": <code>{html(kinds, 200)}</code>" if kinds else ""
    lines = (finding.message, *(f"  {line}" for line in words.evidence(finding, history)))
    return (
        f"\n<details><summary>{_ICONS[promise.outcome]} <code>{html(variant.variant)}</code> "
        f"{html(promise.promise)}, {promise.count:,}×{told}</summary>\n\n"
        f"{markdown_block(lines)}\n\n</details>"
    )


def _worth(verdict: Verdict) -> Iterator[str]:
    yield from ("", "<details><summary>What these answers are worth</summary>", "")
    for one in verdict.variants:
        name = markdown_code(one.variant)
        for promise in one.promises:
            said = markdown(words.rate_sentence(promise))
            yield f"- {name} {markdown(promise.promise)}: {said}"
        for exposure in one.exposures:
            yield f"- {name}: {markdown(words.exposure_sentence(exposure))}"
        for threshold in one.thresholds:
            said = markdown(words.threshold_sentence(threshold))
            yield f"- {name} threshold {threshold.outcome}: {said}"
    yield from ("", "</details>")


def _repeat(verdict: Verdict) -> str:
    if not verdict.repeat:
        return ""
    return f"\nRepeat it:\n\n{markdown_block([verdict.repeat], 'sh', 4_000)}\n"
