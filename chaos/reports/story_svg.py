"""The drawing of a story: one strip of lanes for each step, which together make the picture.

    strip of a step          │     ┆ a host     ▌ attempt is there   █ its function runs
      ●────────►█            │     ● acts       ✗ here it breaks     (A1) what the slot holds

Each strip is an SVG as high as the sentence beside it needs, so that the browser wraps the text and
the lanes still run through. Places are shares of the width, hence the picture fits a narrow window.
Colours are CSS classes: the page knows light, dark and print.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from chaos.reports.escape import html as escaped
from chaos.reports.story_model import ALIVE, ATTEMPT, RUNS, SLOT, Arrow, Lane, Step, Story

FIRST_Y = 19  # where a step's mark is: the middle of its first line of text
ARROW_DY = 15
COLOURS = 6


def strips(story: Story) -> Iterator[str]:
    """One SVG a step, in order."""
    bars: Sequence[str] = [""] * len(story.lanes)
    slots: Sequence[str] = [""] * len(story.slot_lanes)
    for place, step in enumerate(story.steps):
        yield _strip(story, step, bars, slots, breaks=place == story.breaks_at)
        bars, slots = step.bars, step.slots


def gap(story: Story, place: int) -> str:
    """The strip beside a note of what is left out before step `place`."""
    before = story.steps[place - 1] if place else None
    bars = before.bars if before is not None else [""] * len(story.lanes)
    slots = before.slots if before is not None else [""] * len(story.slot_lanes)
    parts = (*_tints(story.lanes), *_lines(story, bars, slots, 0, dashed=True))
    return f'<svg aria-hidden="true">{"".join(parts)}</svg>'


def height(step: Step) -> int:
    """The least height of a step's row, in pixels: room for its arrows."""
    return 2 * FIRST_Y + ARROW_DY * max(0, len(step.arrows) - 1)


def colour(lane_or_holder: str) -> str:
    """The class of an attempt's colour, by the number in its name."""
    number = re.search(r"\d+", lane_or_holder)
    return f"a{(int(number[0]) - 1) % COLOURS + 1}" if number else "a0"


def _strip(
    story: Story, step: Step, bars: Sequence[str], slots: Sequence[str], *, breaks: bool
) -> str:
    parts = [
        f"<title>{escaped(_spoken(story, step))}</title>",
        *_tints(story.lanes),
        *_lines(story, bars, slots, 0, until=FIRST_Y),
        *_lines(story, step.bars, step.slots, FIRST_Y),
    ]
    for number, arrow in enumerate(step.arrows):
        parts.append(_arrow(story, arrow, _arrow_y(number)))
    parts.append(_mark(story, step, breaks=breaks))
    for place, before, after in zip(story.slot_lanes, slots, step.slots, strict=True):
        if before != after:
            parts.append(_held(story, place, after, _reached_y(step, place)))
    return f'<svg role="img">{"".join(parts)}</svg>'


def _spoken(story: Story, step: Step) -> str:
    """What the strip shows, for whoever cannot see it."""
    said = [_full(story.lanes[step.lane])]
    said += [f"arrow to {_full(story.lanes[arrow.end])}" for arrow in step.arrows]
    for place, holder in zip(story.slot_lanes, step.slots, strict=True):
        said.append(f"slot of {story.lanes[place].group}: {holder or 'empty'}")
    return "; ".join(said)


def _full(lane: Lane) -> str:
    name = f"{lane.group}, {lane.label}" if lane.group not in ("", lane.label) else lane.label
    return f"{name} ({lane.full})" if lane.full else name


# --- parts ----------------------------------------------------------------------------------------


def _x(story_lanes: int, place: float) -> str:
    return f"{100 * (place + 0.5) / story_lanes:.3f}%"


def _tints(lanes: Sequence[Lane]) -> Iterator[str]:
    """A background behind the lanes of each worker."""
    share = 100 / len(lanes)
    for place, lane in enumerate(lanes):
        if lane.group:
            first = place == 0 or lanes[place - 1].group != lane.group
            css = "tint first" if first else "tint"
            yield (
                f'<rect class="{css}" x="{place * share:.3f}%" y="0" width="{share:.3f}%" '
                'height="100%"/>'
            )
            if first:
                x = f"{place * share:.3f}%"
                yield f'<line class="edge" x1="{x}" y1="0" x2="{x}" y2="100%"/>'


def _lines(
    story: Story,
    bars: Sequence[str],
    slots: Sequence[str],
    top: int,
    *,
    until: int | None = None,
    dashed: bool = False,
) -> Iterator[str]:
    """Every lane from `top` down: hosts as lines, attempts and slots as bars."""
    high = "100%" if until is None else str(until - top)
    holders = dict(zip(story.slot_lanes, slots, strict=True))
    for place, lane in enumerate(story.lanes):
        x = _x(len(story.lanes), place)
        end = "100%" if until is None else str(until)
        if lane.kind not in (ATTEMPT, SLOT):
            yield f'<line class="host" x1="{x}" y1="{top}" x2="{x}" y2="{end}"/>'
            continue
        state = bars[place] if lane.kind == ATTEMPT else (RUNS if holders[place] else "")
        name = lane.label if lane.kind == ATTEMPT else holders[place]
        if not state:
            if lane.kind == SLOT:
                yield f'<line class="empty" x1="{x}" y1="{top}" x2="{x}" y2="{end}"/>'
            continue
        wide = {ALIVE: 6, RUNS: 14}[state]
        css = f"{lane.kind} {state} {colour(name)}{' dashed' if dashed else ''}"
        yield _at(x, f'<rect class="{css}" x="{-wide / 2:g}" y="{top}" width="{wide}" '
                  f'height="{high}"/>')  # fmt: skip


def _at(x: str, shape: str) -> str:
    return f'<svg x="{x}" overflow="visible">{shape}</svg>'


def _arrow_y(number: int) -> int:
    return FIRST_Y + number * ARROW_DY


def _reached_y(step: Step, place: int) -> int:
    """Where an arrow of this step reaches a lane."""
    ys = [_arrow_y(number) for number, arrow in enumerate(step.arrows) if arrow.end == place]
    return ys[-1] if ys else FIRST_Y


def _arrow(story: Story, arrow: Arrow, y: int) -> str:
    lanes = len(story.lanes)
    away = -1 if arrow.end > arrow.start else 1
    tip = away * (20 if story.lanes[arrow.end].kind == SLOT else 8)
    line = (
        f'<line class="arrow{" missed" if arrow.missed else ""}" x1="{_x(lanes, arrow.start)}" '
        f'y1="{y}" x2="{_x(lanes, arrow.end)}" y2="{y}"/>'
    )
    if arrow.missed:
        shape = f'<path class="arrow nothing" d="M{tip - 5},{y - 5} l10,10 m0,-10 l-10,10"/>'
    else:
        shape = f'<path class="head" d="M{tip},{y} l{away * 9},-5 v10 z"/>'
    return line + _at(_x(lanes, arrow.end), shape)


def _mark(story: Story, step: Step, *, breaks: bool) -> str:
    x = _x(len(story.lanes), step.lane)
    if breaks:
        shape = (
            f'<circle class="broken" cx="0" cy="{FIRST_Y}" r="11"/>'
            f'<path class="cross" d="M-5,{FIRST_Y - 5} l10,10 m0,-10 l-10,10"/>'
        )
    else:
        shape = f'<circle class="mark" cx="0" cy="{FIRST_Y}" r="6"/>'
    return _at(x, shape)


def _held(story: Story, place: int, holder: str, y: int) -> str:
    """What a slot holds from here on, in a pill where the arrow that changed it ends."""
    text = short_holder(holder)
    wide = 12 + 8 * len(text)
    return _at(
        _x(len(story.lanes), place),
        f'<g class="held {colour(holder)}"><rect x="{-wide / 2:g}" y="{y - 10}" width="{wide}" '
        f'height="20" rx="10"/><text x="0" y="{y + 4}">{escaped(text)}</text></g>',
    )


def short_holder(holder: str) -> str:
    """`attempt 1 and attempt 2` as A1+2; nothing as `empty`."""
    short = holder.replace("another attempt", "?").replace("attempt ", "A").replace(" and A", "+")
    return short or "–"
