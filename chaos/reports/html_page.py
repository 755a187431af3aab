"""report.html: one file that explains a run to somebody who was not there.

Self-contained: no script, no picture, no font and no address of another machine; a content security
policy forbids them, so a report can be attached to a ticket and opened anywhere. It follows the
reader's light or dark setting and prints. Everything that comes from the run is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chaos.event import HostBegan
from chaos.history import History
from chaos.reports import words
from chaos.reports.escape import html
from chaos.verdict import Finding, Outcome, PromiseVerdict, VariantVerdict, Verdict

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881;
  --VALID: #17803d; --UNKNOWN: #9a6700; --INVALID: #c0262d; }
@media (prefers-color-scheme: dark) {
  :root { --VALID: #4cc772; --UNKNOWN: #e3b341; --INVALID: #ff7b72; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; border-left: .5rem solid currentColor; padding-left: .8rem; }
h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; display: block; overflow-x: auto; }
th, td { text-align: left; padding: .3rem 1.6rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
thead th { white-space: nowrap; }
.story { font-size: 1.1rem; border-left: .25rem solid var(--INVALID); padding-left: .8rem; }
.VALID { color: var(--VALID); } .UNKNOWN { color: var(--UNKNOWN); }
.INVALID { color: var(--INVALID); }
b.VALID, b.UNKNOWN, b.INVALID { white-space: nowrap; }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; font-size: .85rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin: .6rem 0; } .more { margin-left: 1rem; } summary { cursor: pointer; }
.small { opacity: .75; font-size: .9rem; }
@media (max-width: 42rem) { body { margin: 1rem auto; padding: 0 .6rem; } h1 { font-size: 1.3rem; }
  th, td { padding-right: .7rem; font-size: .82rem; } .small { font-size: .78rem; }
  thead th, b.VALID, b.UNKNOWN, b.INVALID { white-space: normal; } tbody th { min-width: 6rem; } }
@media print { :root { --VALID: #000; --UNKNOWN: #000; --INVALID: #000; }
  body { max-width: none; margin: 0; font-size: 11px; } h2, tr, pre { break-inside: avoid; } }
"""
_FINDINGS_SHOWN = 3
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render(
    verdict: Verdict, history: History | None = None, *, plan_yaml: str = "", story: str = ""
) -> str:
    """The page.

    Args:
        history: where evidence and versions come from; without it findings name event numbers.
        plan_yaml: the plan as it stands in the run directory.
        story: the file beside the page that tells its first finding, if there is one.
    """
    body = "\n".join(
        (
            *_head(verdict),
            *_promises(verdict.variants),
            *_findings(verdict.variants, history, story),
            *_exposures(verdict.variants),
            *_thresholds(verdict.variants),
            *_counters(verdict.variants),
            *_versions(verdict, history),
            *_plan(plan_yaml),
        )
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html(words.headline(verdict))} - {html(verdict.plan)}</title>\n"
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _head(verdict: Verdict) -> Iterator[str]:
    code = words.exit_code(verdict)
    yield f'<h1 class="{verdict.gate.outcome}">{html(words.headline(verdict))}</h1>'
    yield (
        f"<p>Plan <b>{html(verdict.plan)}</b> in the {html(verdict.world)} world, seed "
        f"{verdict.seed}, run {html(verdict.run)}, {verdict.events} events. "
        f"Exit code {code}: {words.EXIT_MEANINGS[code]}.</p>"
    )
    if verdict.gate.reasons:
        reasons = "".join(f"<li>{html(reason)}</li>" for reason in verdict.gate.reasons)
        yield f"<ul>{reasons}</ul>"
    if verdict.repeat:
        yield f"<p>Repeat it:</p><pre>{html(verdict.repeat, limit=10_000)}</pre>"


def _table(head: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    names = "".join(f'<th scope="col">{name}</th>' for name in head)
    lines = "\n".join(f'<tr><th scope="row">{row[0]}</th>{"".join(row[1:])}</tr>' for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>\n{lines}\n</tbody></table>"


def _heading(variant: str) -> str:
    """A variant over a column: a narrow window may break it behind the patch."""
    return html(variant).replace("@", "@<wbr>")


def _promises(variants: tuple[VariantVerdict, ...]) -> Iterator[str]:
    yield "<h2>Promises</h2>"
    rows = [("all in all", *(f"<td>{_badge(one.outcome)}</td>" for one in variants))]
    for name in words.promise_names(variants):
        cells = (f"<td>{_promise(words.promise_of(one, name))}</td>" for one in variants)
        rows.append((html(name), *cells))
    yield _table(("", *(_heading(one.variant) for one in variants)), rows)


def _badge(outcome: Outcome, text: str = "") -> str:
    return f'<b class="{outcome}">{html(text or str(outcome))}</b>'


def _promise(promise: PromiseVerdict | None) -> str:
    if promise is None:
        return "not judged"
    said = promise.reason if promise.outcome is Outcome.UNKNOWN else words.kinds_sentence(promise)
    small = f'<br><span class="small">{html(said)}</span>' if said else ""
    return _badge(promise.outcome, words.cell(promise)) + small


def _counters(variants: tuple[VariantVerdict, ...]) -> Iterator[str]:
    names = words.counter_names(variants)
    firsts = [one.first_key_error_us for one in variants]
    if not names and not any(first is not None for first in firsts):
        return
    yield "<h2>Counters</h2>"
    rows: list[tuple[str, ...]] = []
    for name in names:
        shown = (words.counter(name, one.counters.get(name)) for one in variants)
        rows.append((html(words.spoken(name)), *(_number(text) for text in shown)))
    if any(first is not None for first in firsts):
        shown = ("-" if first is None else words.seconds(first) for first in firsts)
        rows.append(("first KeyError after", *(_number(text) for text in shown)))
    yield _table(("", *(_heading(one.variant) for one in variants)), rows)


def _number(text: str) -> str:
    return f'<td class="number">{html(text)}</td>'


def _exposures(variants: tuple[VariantVerdict, ...]) -> Iterator[str]:
    yield "<h2>How much these answers are worth</h2>"
    yield (
        "<p>A promise that was never put at risk is not proved. For each: how often the danger was "
        "met, and how high the true rate of failures can still be (95 %).</p>"
    )
    for one in variants:
        lines = [f"{each.promise}: {words.rate_sentence(each)}" for each in one.promises]
        lines += [words.exposure_sentence(each) for each in one.exposures]
        items = "".join(f"<li>{html(line)}</li>" for line in lines)
        yield f"<h3>{html(one.variant)}</h3><ul>{items}</ul>"


def _thresholds(variants: tuple[VariantVerdict, ...]) -> Iterator[str]:
    items = "".join(
        f"<li>{html(one.variant)}: {_badge(each.outcome)} "
        f"{html(words.threshold_sentence(each))}</li>"
        for one in variants
        for each in one.thresholds
    )
    if items:
        yield f"<h2>Thresholds</h2><ul>{items}</ul>"


def _findings(
    variants: tuple[VariantVerdict, ...], history: History | None, story: str
) -> Iterator[str]:
    broken = [(one, each) for one in variants for each in one.promises if each.count]
    yield "<h2>Findings</h2>"
    if not broken:
        yield "<p>None.</p>"
    elif story:
        yield (
            '<p class="story">How that happens, step by step and with a picture: '
            f'<a href="{html(story)}">{html(story)}</a></p>'
        )
    for one, promise in broken:
        kinds = words.kinds_sentence(promise)
        yield f"<h3>{html(one.variant)}: {html(promise.promise)}, {promise.count}×</h3>"
        yield f"<p>{html(kinds)}</p>" if kinds else ""
        if len(promise.findings) < promise.count:
            yield f'<p class="small">The first {len(promise.findings)} of {promise.count}.</p>'
        yield from _first_and_rest(promise, history)


def _first_and_rest(promise: PromiseVerdict, history: History | None) -> Iterator[str]:
    """The first few findings, the very first one opened; the others behind one line."""
    shown, rest = promise.findings[:_FINDINGS_SHOWN], promise.findings[_FINDINGS_SHOWN:]
    for place, finding in enumerate(shown):
        yield _finding(finding, history, opened=place == 0)
    if rest:
        yield f'<details class="more"><summary>{len(rest)} more</summary>'
        yield from (_finding(finding, history, opened=False) for finding in rest)
        yield "</details>"


def _finding(finding: Finding, history: History | None, *, opened: bool) -> str:
    lines = "\n".join(html(line) for line in words.evidence(finding, history))
    return (
        f"<details{' open' if opened else ''}><summary>{html(finding.message)}</summary>"
        f"<pre>{lines}</pre></details>"
    )


def _versions(verdict: Verdict, history: History | None) -> Iterator[str]:
    yield "<h2>What ran</h2>"
    rows = [(html(one.variant), f"<td>{html(_ran(one, history))}</td>") for one in verdict.variants]
    yield _table(("variant", "versions"), rows)
    yield (
        f'<p class="small">saq-chaos {html(verdict.version)}; history of {verdict.events} events, '
        f"SHA-256 {html(verdict.history_digest)}</p>"
    )


def _ran(variant: VariantVerdict, history: History | None) -> str:
    for event in history or ():
        if isinstance(event, HostBegan) and event.saq and event.variant == variant.variant:
            parts = [f"saq {event.saq}", f"redis-py {event.redis_py}", f"Python {event.python}"]
            return ", ".join([*parts, variant.server] if variant.server else parts)
    return variant.server or "not recorded"


def _plan(plan_yaml: str) -> Iterator[str]:
    if plan_yaml:
        yield "<h2>Plan</h2>"
        text = "\n".join(html(line) for line in plan_yaml.splitlines())
        yield f"<details><summary>the whole plan</summary><pre>{text}</pre></details>"
