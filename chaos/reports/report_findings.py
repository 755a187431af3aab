"""The findings of report.html: per promise and variant the first few, each with its events.

An event is told by its number in history.jsonl, when, where, its kind, and in plain words; what
the history itself says stands below it. However many findings there are, the section stays near
`BUDGET` characters: of what comes after that only the counts are told, and it says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaos.event import Event
from chaos.history import History
from chaos.reports import words
from chaos.reports.escape import html as escaped
from chaos.reports.story_model import Story
from chaos.reports.story_names import Names, shortened
from chaos.reports.story_words import Words
from chaos.verdict import Finding, PromiseVerdict, VariantVerdict

SHOWN = 3
EVENTS_SHOWN = 12
BUDGET = 350_000
_RAW_LIMIT = 300


def anchor(variant: int, promise: int) -> str:
    """The id of one promise's findings on one variant, by their places in the verdict."""
    return f"finding-{variant}-{promise}"


def section(variants: Sequence[VariantVerdict], history: History | None) -> Iterator[str]:
    """The whole section; the first finding of each promise stands open where it is seen first."""
    broken = [
        (anchor(at, place), one, promise)
        for at, one in enumerate(variants)
        for place, promise in enumerate(one.promises)
        if promise.count
    ]
    yield '<section aria-labelledby="findings"><h2 id="findings">Findings</h2>'
    if not broken:
        yield "<p>None.</p>"
    left, seen = BUDGET, set[str]()
    for name, one, promise in broken:
        first = promise.promise not in seen
        seen.add(promise.promise)
        told = "\n".join(_promise(name, one, promise, history, opened=first))
        if len(told) <= left:
            left -= len(told)
            yield told
        else:
            left = 0
            yield _heading(name, one, promise)
            yield '<p class="small">No room here: verdict.json has its findings.</p>'
    yield "</section>"


def story_section(story: Story | None, page: str) -> Iterator[str]:
    """How the first finding came about, in short; `page` is the file with the whole of it."""
    if story is None or not story.summary:
        return
    yield '<section class="told" aria-labelledby="story">'
    yield f'<h2 id="story">{escaped(story.title)}</h2>'
    yield f'<p class="small">The first finding on {escaped(story.variant)}, in short.</p>'
    yield f"<ol>{''.join(f'<li>{escaped(one, 1_000)}</li>' for one in story.summary[:12])}</ol>"
    means = f" {escaped(story.means, 1_000)}" if story.means else ""
    yield f'<p><b class="INVALID">What is wrong:</b> {escaped(story.why, 1_000)}{means}</p>'
    if page:
        link = f'<a href="{escaped(page)}">{escaped(page)}</a>'
        yield f"<p>Step by step, with a picture: {link}, beside this file.</p>"
    yield "</section>"


def _promise(
    name: str,
    variant: VariantVerdict,
    promise: PromiseVerdict,
    history: History | None,
    *,
    opened: bool,
) -> Iterator[str]:
    """One promise on one variant. `opened`: its first finding is, where it is seen first."""
    yield _heading(name, variant, promise)
    kinds = words.kinds_sentence(promise)
    shown = promise.findings[:SHOWN]
    rest = promise.count - len(shown)
    there = len(promise.findings)
    kept = f"; {there} {'is' if there == 1 else 'are'} kept in verdict.json"
    more = f"The first {len(shown)} of {promise.count:,}{kept}." if rest > 0 else ""
    said = " ".join(filter(None, (f"{escaped(kinds, 300)}." if kinds else "", more)))
    yield f'<p class="small">{said}</p>' if said else ""
    for place, finding in enumerate(shown):
        yield _finding(finding, history, opened=opened and place == 0)


def _heading(name: str, variant: VariantVerdict, promise: PromiseVerdict) -> str:
    title = f"{escaped(variant.variant)}: {escaped(promise.promise)}, {promise.count:,}×"
    return f'<h3 id="{name}">{title}</h3>'


def _finding(finding: Finding, history: History | None, *, opened: bool) -> str:
    message = escaped(finding.message)
    if history is None or not finding.events:
        numbers = ", ".join(f"#{n}" for n in finding.events[:EVENTS_SHOWN])
        told = f'<p class="small">Events {numbers}.</p>' if numbers else ""
        return f'<div class="finding">{message}{told}</div>'
    return (
        f'<details class="finding"{" open" if opened else ""}><summary>{message}</summary>'
        f"{_events(finding, history)}</details>"
    )


def _events(finding: Finding, history: History) -> str:
    known = [history[n - 1] for n in sorted(set(finding.events)) if 0 < n <= len(history)]
    shown = known[:EVENTS_SHOWN]
    names = Names(_attempts(known), [event.host for event in known])
    told = Words(known, names)
    rows = "".join(_row(event, told, names) for event in shown)
    rest = len(set(finding.events)) - len(shown)
    more = f'<p class="small">… and {words.many(rest, "more event")}.</p>' if rest else ""
    head = "".join(f'<th scope="col">{one}</th>' for one in ("#", "time", "host", "event", "what"))
    return (
        f'<div class="wide" tabindex="0"><table class="events"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{more}"
    )


def _attempts(events: Sequence[Event]) -> list[str]:
    """The attempts that the events name, in the order in which they are first named."""
    named = (getattr(event, field, "") for event in events for field in ("attempt", "by"))
    return [one for one in dict.fromkeys(named) if one]


def _row(event: Event, told: Words, names: Names) -> str:
    said = told.of(event)
    text = ""
    if said is not None:
        sentence = f"{told.actor(said.actor)} {said.says}"
        text = escaped(sentence[:1].upper() + sentence[1:])
    raw = escaped(words.event_fields(event), _RAW_LIMIT)
    tag = str(type(event).__struct_config__.tag)
    host = f'<td title="{escaped(event.host)}">{escaped(shortened(names.host(event.host), 30))}'
    return (
        f"<tr><td>{event.n}</td><td>{words.seconds(event.t_us)}</td>{host}</td>"
        f"<td>{escaped(tag)}</td><td>{text}<code>{raw}</code></td></tr>"
    )
