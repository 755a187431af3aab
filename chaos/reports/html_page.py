"""report.html: one file that explains a run to somebody who was not there.

    the answer and why · promises × variants · what the answers are worth · thresholds
    the story of the first finding · charts with fault windows · findings with their events
    counters · versions · plan

Self-contained: no script, no picture, no font, no address of another machine; a content security
policy forbids them, so a report can be attached to a ticket and opened anywhere. It follows the
reader's light or dark setting and prints. Everything that comes from the run is escaped. It stays
under a megabyte however long the run was: charts have so many steps, findings so much room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chaos.counters import COUNTERS, spoken
from chaos.event import HostBegan, RunBegan
from chaos.history import History
from chaos.reports import chart_page, report_findings, words
from chaos.reports.chart_series import SLACK_US
from chaos.reports.escape import html
from chaos.reports.report_style import STYLE
from chaos.reports.story_model import Story
from chaos.verdict import Outcome, PromiseVerdict, VariantVerdict, Verdict

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
_PLAN_MAX = 60_000
_REASONS_MAX = 40
_NAV = "<nav></nav>"  # filled in once it is known which sections there are
_SECTIONS = (
    ("promises", "promises"), ("worth", "what they are worth"), ("story", "how it happens"),
    ("charts", "what happened when"), ("findings", "findings"), ("counters", "counters"),
    ("ran", "versions"), ("plan", "plan"),
)  # fmt: skip


def render(
    verdict: Verdict,
    history: History | None = None,
    *,
    plan_yaml: str = "",
    story: str = "",
    told: Story | None = None,
    slack_us: int = SLACK_US,
) -> str:
    """The page.

    Args:
        history: where charts, evidence and versions come from; without it findings name event
            numbers.
        plan_yaml: the plan as it stands in the run directory.
        story: the file beside the page that tells its first finding, if there is one.
        told: that story; the page has it in short.
        slack_us: the plan's slack, by which the charts are folded as the verdict was.
    """
    body = "\n".join(
        (
            *_head(verdict, history),
            "<main>",
            *_promises(verdict.variants),
            *_exposures(verdict.variants),
            *_thresholds(verdict.variants),
            *report_findings.story_section(told, story),
            *chart_page.section(history, slack_us),
            *report_findings.section(verdict.variants, history),
            *_counters(verdict.variants),
            *_versions(verdict, history),
            *_plan(plan_yaml),
            "</main>",
            *_foot(verdict),
        )
    )
    body = body.replace(_NAV, _nav(body), 1)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html(words.headline(verdict))} - {html(verdict.plan)}</title>\n"
        f"<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _head(verdict: Verdict, history: History | None) -> Iterator[str]:
    code = words.exit_code(verdict)
    yield "<header>"
    yield f'<h1 class="{verdict.gate.outcome}">{html(words.headline(verdict))}</h1>'
    facts = [
        ("plan", html(verdict.plan)),
        ("world", html(verdict.world)),
        ("seed", str(verdict.seed)),
        ("run", html(verdict.run)),
        ("began", html(_began(history))),
        ("events", f"{verdict.events:,}"),
        ("exit code", f"{code}: {words.EXIT_MEANINGS[code]}"),
    ]
    shown = "".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in facts if text)
    yield f'<dl class="facts">{shown}</dl>'
    yield from _reasons(verdict)
    if verdict.repeat:
        yield f'<p>Repeat it:</p><pre class="repeat">{html(verdict.repeat, limit=10_000)}</pre>'
    yield f"{_NAV}</header>"


def _nav(body: str) -> str:
    """Links to the sections that are there."""
    links = "".join(
        f'<a href="#{name}">{title}</a>' for name, title in _SECTIONS if f'id="{name}"' in body
    )
    return f'<nav aria-label="sections of this page">{links}</nav>'


def _began(history: History | None) -> str:
    first = history[0] if history else None
    return first.wall if isinstance(first, RunBegan) else ""


def _reasons(verdict: Verdict) -> Iterator[str]:
    """Why the gate says so; each of the many "no worse" behind the line that sums them up."""
    reasons = words.gate_reasons(verdict.gate)
    if reasons:
        yield _list(reasons)
    if reasons != verdict.gate.reasons:
        each = words.no_worse(verdict.gate)
        yield f"<details><summary>All {len(each)} comparisons</summary>{_list(each)}</details>"


def _list(reasons: tuple[str, ...]) -> str:
    items = [f"<li>{html(reason, 300)}</li>" for reason in reasons[:_REASONS_MAX]]
    rest = len(reasons) - len(items)
    if rest > 0:
        items.append(f"<li>… and {words.many(rest, 'more reason')}: see verdict.json</li>")
    return f"<ul>{''.join(items)}</ul>"


# --- tables ---------------------------------------------------------------------------------------


def _table(head: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    names = "".join(f'<th scope="col">{name}</th>' if name else "<td></td>" for name in head)
    lines = "\n".join(f'<tr><th scope="row">{row[0]}</th>{"".join(row[1:])}</tr>' for row in rows)
    return (
        f'<div class="wide" tabindex="0"><table><thead><tr>{names}</tr></thead>'
        f"<tbody>\n{lines}\n</tbody></table></div>"
    )


def _section(name: str, title: str) -> str:
    return f'<section aria-labelledby="{name}"><h2 id="{name}">{title}</h2>'


def _heading(variant: str) -> str:
    """A variant over a column: a narrow window may break it behind the patch."""
    return html(variant).replace("@", "@<wbr>")


def _promises(variants: tuple[VariantVerdict, ...]) -> Iterator[str]:
    yield _section("promises", "Promises")
    rows = [("all in all", *(f"<td>{_badge(one.outcome)}</td>" for one in variants))]
    for name in words.promise_names(variants):
        cells = (f"<td>{_promise(one, at, name)}</td>" for at, one in enumerate(variants))
        rows.append((html(name), *cells))
    yield _table(("", *(_heading(one.variant) for one in variants)), rows)
    yield "</section>"


def _badge(outcome: Outcome, text: str = "") -> str:
    return f'<b class="{outcome}">{html(text or str(outcome))}</b>'


def _promise(variant: VariantVerdict, at: int, name: str) -> str:
    promise = words.promise_of(variant, name)
    if promise is None:
        return "not judged"
    badge = _badge(promise.outcome, words.cell(promise))
    if promise.count:
        place = variant.promises.index(promise)
        badge = f'<a href="#{report_findings.anchor(at, place)}">{badge}</a>'
    said = _because(promise)
    return badge + (f'<span class="small">{html(said, 160)}</span>' if said else "")


def _because(promise: PromiseVerdict) -> str:
    if promise.outcome is Outcome.UNKNOWN:
        return promise.reason
    return words.kinds_sentence(promise)


def _number(text: str) -> str:
    return f'<td class="number">{html(text)}</td>'


def _exposures(variants: tuple[VariantVerdict, ...]) -> Iterator[str]:
    """Per promise and variant: in how many chances how many failures, and the bound on the rate."""
    if not any(one.promises or one.exposures for one in variants):
        return
    yield _section("worth", "What these answers are worth")
    yield (
        "<p>A promise that was never put at risk is not proved. For each: how often it was broken, "
        "how often the danger was met, and how high the true rate can still be (95 %).</p>"
    )
    rows = [
        (html(name), *(f"<td>{_rate(words.promise_of(one, name))}</td>" for one in variants))
        for name in words.promise_names(variants)
    ]
    for name in dict.fromkeys(each.exposure for one in variants for each in one.exposures):
        cells = (f"<td>{_met(one, name)}</td>" for one in variants)
        rows.append((html(f"{spoken(name)} met"), *cells))
    yield _table(("", *(_heading(one.variant) for one in variants)), rows)
    yield "</section>"


def _rate(promise: PromiseVerdict | None) -> str:
    if promise is None:
        return "not judged"
    return html(words.rate_sentence(promise)).replace(" %", "&nbsp;%")


def _met(variant: VariantVerdict, name: str) -> str:
    for each in variant.exposures:
        if each.exposure == name:
            said = html(words.exposure_sentence(each))
            return said if each.met else f'<b class="UNKNOWN">{said}</b>'
    return "-"


def _thresholds(variants: tuple[VariantVerdict, ...]) -> Iterator[str]:
    items = "".join(
        f"<li>{html(one.variant)}: {_badge(each.outcome)} "
        f"{html(words.threshold_sentence(each))}</li>"
        for one in variants
        for each in one.thresholds
    )
    if items:
        yield f"{_section('thresholds', 'Thresholds')}<ul>{items}</ul></section>"


def _counters(variants: tuple[VariantVerdict, ...]) -> Iterator[str]:
    names = words.counter_names(variants)
    firsts = [one.first_key_error_us for one in variants]
    if not names and not any(first is not None for first in firsts):
        return
    yield _section("counters", "Counters")
    rows: list[tuple[str, ...]] = []
    for name in names:
        shown = (words.counter(name, one.counters.get(name)) for one in variants)
        rows.append((_named(name), *(_number(text) for text in shown)))
    if any(first is not None for first in firsts):
        shown = ("-" if first is None else words.seconds(first) for first in firsts)
        rows.append(("first KeyError after", *(_number(text) for text in shown)))
    yield _table(("", *(_heading(one.variant) for one in variants)), rows)
    yield "</section>"


def _named(counter: str) -> str:
    """A counter's name; what it counts stands in its tooltip."""
    what = COUNTERS.get(counter, "")
    return f'<span title="{html(what)}">{html(spoken(counter))}</span>'


# --- what ran -------------------------------------------------------------------------------------


def _versions(verdict: Verdict, history: History | None) -> Iterator[str]:
    yield _section("ran", "What ran")
    rows = [(html(one.variant), f"<td>{html(_ran(one, history))}</td>") for one in verdict.variants]
    yield _table(("variant", "versions"), rows)
    yield "</section>"


def _ran(variant: VariantVerdict, history: History | None) -> str:
    for event in history or ():
        if isinstance(event, HostBegan) and event.saq and event.variant == variant.variant:
            parts = [f"saq {event.saq}", f"redis-py {event.redis_py}", f"Python {event.python}"]
            return ", ".join([*parts, variant.server] if variant.server else parts)
    return variant.server or "not recorded"


def _plan(plan_yaml: str) -> Iterator[str]:
    if not plan_yaml:
        return
    yield _section("plan", "Plan")
    lines = [html(line) for line in plan_yaml.splitlines()]
    shown, left = 0, _PLAN_MAX
    while shown < len(lines) and len(lines[shown]) < left:
        left -= len(lines[shown]) + 1
        shown += 1
    text = "\n".join(lines[:shown])
    if shown < len(lines):
        text += f"\n… and {words.many(len(lines) - shown, 'more line')}: see plan.yaml"
    yield f"<details><summary>The whole plan</summary><pre>{text}</pre></details></section>"


def _foot(verdict: Verdict) -> Iterator[str]:
    yield (
        f'<footer><p class="small">saq-chaos {html(verdict.version)}; history of '
        f"{verdict.events:,} events, SHA-256 <code>{html(verdict.history_digest)}</code></p>"
        "</footer>"
    )
