"""story.html: one self-contained page that tells a failure to somebody who does not know saq.

The summary, the picture (time downwards, one lane per host and attempt, the sentence beside it),
the words that need explaining, and the same steps as a table with event numbers. No script, no
picture file, no address of another machine; light, dark and print. Everything from the run is
escaped.
"""

from __future__ import annotations

from collections.abc import Iterator

from chaos.reports import story_svg
from chaos.reports.escape import html as escaped
from chaos.reports.story_model import ALIVE, ATTEMPT, RUNS, SLOT, Lane, Step, Story
from chaos.reports.story_names import shortened, stamp
from chaos.reports.story_style import STYLE

_MANY = 8  # more lanes than that are drawn narrow, their names upright
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def html(story: Story) -> str:
    """The whole page."""
    body = "\n".join(
        (*_head(story), *_summary(story), *_picture(story), *_words(story), *_table(story))
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(story.title)}</title>\n"
        f"<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _head(story: Story) -> Iterator[str]:
    yield f"<h1>{escaped(story.title)}</h1>"
    yield f"<p>Seen on <b>{escaped(story.variant)}</b>."
    if story.promise:
        claim = f": {story.claim}." if story.claim else "."
        yield f" The promise <b>{escaped(story.promise)}</b>{escaped(claim)}"
    yield "</p>"


def _summary(story: Story) -> Iterator[str]:
    yield "<h2>In short</h2>"
    items = "".join(f"<li>{escaped(one, 2_000)}</li>" for one in story.summary)
    yield f'<ol class="short">{items}</ol>' if items else ""
    means = f"<br>{escaped(story.means)}" if story.means else ""
    yield (
        f'<p class="wrong"><b><span aria-hidden="true">✗</span> What is wrong:</b> '
        f"{escaped(story.why, 2_000)}{means}</p>"
    )
    for note in story.notes:
        lines = "<br>".join(escaped(line, 2_000) for line in note.splitlines())
        yield f'<p class="small">{lines}</p>'


# --- the picture ----------------------------------------------------------------------------------


def _picture(story: Story) -> Iterator[str]:
    yield "<h2>Step by step</h2>"
    if not story.steps:
        yield "<p>The history holds none of the events that the finding points at.</p>"
        return
    yield _key(story)
    many = " many" if len(story.lanes) > _MANY else ""
    yield f'<div class="story{many}" style="--lanes: {len(story.lanes)}">'
    yield from _lane_names(story)
    yield '<ol class="steps">'
    for place, (step, strip) in enumerate(zip(story.steps, story_svg.strips(story), strict=True)):
        if step.left_out:
            yield (
                f'<li class="gap"><span class="time"></span><span class="strip">'
                f"{story_svg.gap(story, place)}</span>"
                f'<span class="said">… left out: {escaped(step.left_out)}</span></li>'
            )
        why = story.why if place == story.breaks_at else ""
        yield _row(step, strip, why)
    yield "</ol></div>"


def _row(step: Step, strip: str, why: str) -> str:
    css = ' class="breaks"' if why else ""
    here = '<b class="here">✗ Here it breaks.</b> ' if why else ""
    because = "" if why in ("", step.text) else f"<br><i>{escaped(why, 2_000)}</i>"
    detail = f'<code title="in saq">{escaped(step.detail)}</code>' if step.detail else ""
    return (
        f'<li{css} style="--high: {story_svg.height(step)}px">'
        f'<span class="time">{escaped(stamp(step.t_us))}</span>'
        f'<span class="strip">{strip}</span>'
        f'<span class="said">{here}{escaped(step.text, 2_000)}{because}{detail}</span></li>'
    )


def _lane_names(story: Story) -> Iterator[str]:
    yield '<div class="head"><span class="time">time</span><span class="names">'
    before = ""
    for lane in story.lanes:
        yield _lane_name(lane, first=bool(lane.group) and lane.group != before)
        before = lane.group
    yield "</span><span></span></div>"


def _lane_name(lane: Lane, *, first: bool) -> str:
    css = "lane" + (" tinted" if lane.group else "") + (" first" if first else "")
    group = f"<small>{escaped(lane.group)}</small> " if lane.group != lane.label else ""
    dot = f' <i class="{story_svg.colour(lane.label)}"></i>' if lane.kind == ATTEMPT else ""
    return (
        f'<span class="{css}" title="{escaped(lane.full)}"><span>{group if lane.group else ""}'
        f"<b>{escaped(shortened(lane.label, 24))}</b>{dot}</span></span>"
    )


def _key(story: Story) -> str:
    """How to read the picture: only the signs that are in it."""
    states = {bar for step in story.steps for bar in step.bars}
    parts = ["Time runs downwards. <i class='dot'></i> who acts"]
    if ALIVE in states:
        parts.append("<i class='thin'></i> the attempt is there")
    if RUNS in states:
        parts.append("<i class='thick'></i> its function runs")
    if any(lane.kind == SLOT for lane in story.lanes):
        parts.append("<i class='pill'>A1</i> the slot holds attempt 1's context, "
                     "<i class='pill none'>–</i> nothing")  # fmt: skip
    if story.breaks_at >= 0:
        parts.append("<i class='cross'>✗</i> here it breaks")
    return f'<p class="key">{"; ".join(parts)}.</p>'


# --- words and table ------------------------------------------------------------------------------


def _words(story: Story) -> Iterator[str]:
    if story.words:
        yield "<h2>Words</h2><dl>"
        for word, meaning in story.words:
            yield f"<div><dt>{escaped(word)}</dt><dd>{escaped(meaning)}</dd></div>"
        yield "</dl>"


def _table(story: Story) -> Iterator[str]:
    """The same for whoever cannot see the picture, and for looking things up in the history."""
    if not story.steps:
        return
    slots = [f"slot of {story.lanes[place].group} holds" for place in story.slot_lanes]
    heads = "".join(
        f'<th scope="col">{escaped(one)}</th>'
        for one in ("time", "who", "what", *slots, "in saq", "events")
    )
    yield "<h2>The same as a table</h2>"
    yield '<p class="small">Event numbers are those of history.jsonl.</p>'
    yield f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>'
    for place, step in enumerate(story.steps):
        yield _table_row(story, step, breaks=place == story.breaks_at)
    yield "</tbody></table></div>"
    yield "<h2>Full names</h2><dl>"
    for lane in story.lanes:
        if lane.full and lane.kind != SLOT:
            full = escaped(lane.full, 2_000)
            yield f"<div><dt>{escaped(lane.label)}</dt><dd><code>{full}</code></dd></div>"
    yield "</dl>"


def _table_row(story: Story, step: Step, *, breaks: bool) -> str:
    lane = story.lanes[step.lane]
    who = f"{lane.label}, {lane.group}" if lane.group not in ("", lane.label) else lane.label
    cells = [
        escaped(stamp(step.t_us)),
        escaped(who),
        ("<b class='here'>✗ Here it breaks.</b> " if breaks else "") + escaped(step.text, 2_000),
        *(escaped(one or "nothing") for one in step.slots),
        f"<code>{escaped(step.detail)}</code>" if step.detail else "",
        escaped(", ".join(str(n) for n in step.events)),
    ]
    css = ' class="breaks"' if breaks else ""
    return f"<tr{css}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
