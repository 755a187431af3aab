"""A story on a terminal: its summary, then one line a step beside a picture of the lanes.

              time  P   R   S   A1  A2
            0.0 ms  ·   ●──────►┃        Attempt 1 of the job starts on worker 1 …
                    │ host acts   ┊ attempt is there   ┃ its function runs   A1 in S: who holds it

Where the width does not allow that picture the steps are a list. Whatever comes from the run is
made harmless for a terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from chaos.reports.escape import terminal
from chaos.reports.story_model import ALIVE, ATTEMPT, RUNS, SLOT, WORKER, Lane, Step, Story
from chaos.reports.story_names import stamp

_TIME = 10
_TEXT_MIN = 38
_RED, _BOLD, _PLAIN = "\x1b[31;1m", "\x1b[1m", "\x1b[0m"
_BARS = {ALIVE: "┊", RUNS: "┃", "": " "}


def text(story: Story, width: int = 100, *, colour: bool = False) -> str:
    """The story, ending with a newline; no line is longer than `width` (40 at least)."""
    width = max(40, width)
    lines = [
        *_head(story, width, colour),
        *_summary(story, width, colour),
        *_picture(story, width, colour),
        *_foot(story, width),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _head(story: Story, width: int, colour: bool) -> Iterator[str]:
    for line in _wrapped(story.title, width):
        yield f"{_BOLD}{line}{_PLAIN}" if colour else line
    said = f"{story.variant}, promise {story.promise}" if story.promise else story.variant
    yield from _wrapped(f"{said}: {story.claim}." if story.claim else said, width)
    yield ""


def _summary(story: Story, width: int, colour: bool) -> Iterator[str]:
    yield "In short"
    for number, one in enumerate(story.summary, 1):
        yield from _wrapped(one, width, first=f"{number:3}. ", rest="     ")
    lines = _wrapped(f"What is wrong: {story.why}", width, first="  ✗  ", rest="     ")
    yield from (f"{_RED}{line}{_PLAIN}" if colour else line for line in lines)
    if story.means:
        yield from _wrapped(story.means, width, first="     ", rest="     ")
    yield ""


def _foot(story: Story, width: int) -> Iterator[str]:
    for note in story.notes:
        yield from _wrapped(note, width)
    if story.notes:
        yield ""
    if story.words:
        yield "Words"
        longest = max(len(word) for word, _ in story.words)
        for word, meaning in story.words:
            first = f"  {word.ljust(longest)}  "
            yield from _wrapped(meaning, width, first=first, rest=" " * len(first))


# --- the picture ----------------------------------------------------------------------------------


def _picture(story: Story, width: int, colour: bool) -> Iterator[str]:
    if not story.steps:
        yield "The history holds none of the events that the finding points at."
        yield ""
        return
    column = max([4, *(len(_code(lane)) + 2 for lane in story.lanes)])
    left = _TIME + 2 + column * len(story.lanes)
    if width - left < _TEXT_MIN:
        yield from _list(story, width, colour)
        return
    yield "Step by step"
    yield from _legend(story.lanes, width)
    codes = "".join(_code(lane).ljust(column) for lane in story.lanes)
    yield f"{'time'.rjust(_TIME)}  {codes}"
    bars: Sequence[str] = [""] * len(story.lanes)
    slots: Sequence[str] = [""] * len(story.slot_lanes)
    for place, step in enumerate(story.steps):
        if step.left_out:
            for line in _wrapped(f"… left out: {step.left_out}", width - left):
                yield _row("", _bars(story, bars, slots, column), line)
        breaks = place == story.breaks_at
        lines = _wrapped(_marked(story, step, breaks), width - left)
        drawn = _drawn(story, step, breaks, bars, slots, column)
        after = _bars(story, step.bars, step.slots, column)
        for number, line in enumerate(lines):
            time = "" if number else stamp(step.t_us)
            row = _row(time, after if number else drawn, line)
            yield f"{_RED}{row}{_PLAIN}" if colour and breaks else row
        bars, slots = step.bars, step.slots
    yield ""


def _legend(lanes: Sequence[Lane], width: int) -> Iterator[str]:
    said: list[str] = []
    for group, together in groupby(lanes, lambda lane: lane.group):
        parts = [f"{_code(lane)} {_named(lane)}" for lane in together]
        said.append(f"{terminal(group)}: {', '.join(parts)}" if group else "; ".join(parts))
    yield from _wrapped("; ".join(said), width, first="  ", rest="  ")
    if any(lane.kind == ATTEMPT for lane in lanes):
        signs = "┊ the attempt is there   ┃ its function runs   ● it acts   ✗ here it breaks"
        yield from _wrapped(signs, width, first="  ", rest="  ")


def _named(lane: Lane) -> str:
    if lane.kind == SLOT:
        return "whose context its slot holds"
    return "itself" if lane.kind == WORKER else terminal(lane.label)


def _row(time: str, drawn: str, said: str) -> str:
    return f"{time.rjust(_TIME)}  {drawn}{said}"


def _marked(story: Story, step: Step, breaks: bool) -> str:
    if not breaks:
        return step.text
    because = "" if story.why == step.text else f" ({story.why})"
    return f"✗ HERE IT BREAKS: {step.text}{because}"


def _code(lane: Lane) -> str:
    return terminal(lane.code, 12)


def _bars(story: Story, bars: Sequence[str], slots: Sequence[str], column: int) -> str:
    return "".join(_cells(story, bars, slots, column))


def _cells(story: Story, bars: Sequence[str], slots: Sequence[str], column: int) -> list[str]:
    holders = dict(zip(story.slot_lanes, slots, strict=True))
    cells: list[str] = []
    for place, lane in enumerate(story.lanes):
        if lane.kind == SLOT:
            cell = _holder(holders[place])
        else:
            cell = _BARS[bars[place]] if lane.kind == ATTEMPT else "·"
        cells.append(cell[: column - 1].ljust(column))
    return cells


def _holder(slot: str) -> str:
    """`attempt 1 and attempt 2` as A1+2, nothing as a dash."""
    return (
        slot.replace("another attempt", "?").replace("attempt ", "A").replace(" and A", "+") or "-"
    )


def _drawn(
    story: Story, step: Step, breaks: bool, bars: Sequence[str], slots: Sequence[str], column: int
) -> str:
    """The lanes at this step: a mark where it happens, and its first arrow."""
    after = _cells(story, step.bars, step.slots, column)
    before = _cells(story, bars, slots, column)
    cells = [old if new.isspace() else new for old, new in zip(before, after, strict=True)]
    drawn = list("".join(cells))
    for arrow in step.arrows[:1]:
        start, end = arrow.start * column, arrow.end * column
        low, high = min(start, end), max(start, end)
        holder_ends = high if high == start else high - 1
        for at in range(low + 1, holder_ends + 1):
            drawn[at] = "─" if not arrow.missed else "╌"
        if end > start:
            drawn[end - 1] = "►"
        else:
            width = len("".join(cells)[end : end + column].rstrip())
            drawn[end + max(1, width)] = "◄"
            for at in range(end + 1, end + width):
                drawn[at] = cells[arrow.end][at - end]
    drawn[step.lane * column] = "✗" if breaks else "●"
    return "".join(drawn)


def _list(story: Story, width: int, colour: bool) -> Iterator[str]:
    yield "Step by step"
    slots = [story.lanes[place] for place in story.slot_lanes]
    for place, step in enumerate(story.steps):
        if step.left_out:
            gap, indent = f"… left out: {step.left_out}", " " * (_TIME + 2)
            yield from _wrapped(gap, width, first=indent, rest=indent)
        breaks = place == story.breaks_at
        first, rest = f"{stamp(step.t_us).rjust(_TIME)}  ", " " * (_TIME + 2)
        lines = _wrapped(_marked(story, step, breaks), width, first=first, rest=rest)
        yield from (f"{_RED}{line}{_PLAIN}" if colour and breaks else line for line in lines)
        for lane, holder in zip(slots, step.slots, strict=True):
            held = f"[slot of {lane.group}: {holder or 'empty'}]"
            yield from _wrapped(held, width, first=rest, rest=rest)
    yield ""


def _wrapped(said: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        terminal(said, 2_000), width, initial_indent=first, subsequent_indent=rest
    ) or [first]
