"""Draws charts as inline SVG: no script, no picture file, readable at any width and in any colours.

    who            strip: time runs to the right                       scale
    stock@0.26.3   ▁▂▅▂▁▁▃▇▅▂▁▁   shaded: a fault, dashed: a phase      31/s
    1305 in all                                                           0

A strip stretches with the window, so all words stand beside it as HTML and keep their size. Lines
differ by their dashes and their width too, never by colour alone; strips of one measure share one
scale. Each strip has a title and a description for whoever cannot see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaos.clock import SECOND_US
from chaos.reports.chart_series import Chart, Charts, FaultLane, Lanes, Line, Panel, Window
from chaos.reports.escape import html as escaped

WIDE, HIGH = 1_000, 100
TICKS_MAX = 6
SHADED_SHARE = 0.6  # a fault that is there most of the time would shade everything
SHADED_COUNT = 40
_TICKS_S = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600,
    1_200, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 172_800,
)  # fmt: skip


def shades(charts: Charts) -> str:
    """What every strip of a variant has behind it: its faults' windows, its phases' boundaries."""
    groups = "".join(
        f'<g id="shade-{place}">{_shade(lanes, charts.until_us)}</g>'
        for place, lanes in enumerate(charts.lanes)
    )
    return f'<svg class="defs" width="0" height="0" aria-hidden="true"><defs>{groups}</defs></svg>'


def is_shaded(lane: FaultLane, until_us: int) -> bool:
    """Whether a fault's windows are few enough to tell something behind the other strips."""
    return lane.active_us <= SHADED_SHARE * until_us and len(lane.windows) <= SHADED_COUNT


def _shade(lanes: Lanes, until_us: int) -> str:
    parts = []
    for lane in lanes.faults:
        if is_shaded(lane, until_us):
            parts += [
                f'<rect class="fault" {_span(one, until_us)} y="0" height="{HIGH}">'
                f"<title>{escaped(spoken(lane.fault))}, {_times(one)}</title></rect>"
                for one in lane.windows
            ]
    edges = [_x(phase.window.from_us, until_us) for phase in lanes.phases[1:]]
    lines = "".join(f"M{x},0V{HIGH}" for x in dict.fromkeys(edges))
    return "".join(parts) + (f'<path class="edge" d="{lines}"/>' if lines else "")


# --- lanes of phases and faults -------------------------------------------------------------------


def lanes_rows(charts: Charts, lanes: Lanes) -> Iterator[str]:
    """A strip for a variant's phases, then one for each kind of fault."""
    yield lane_head(lanes.variant)
    marks = "".join(
        f'<rect class="{escaped(one.name)}" {_span(one.window, charts.until_us)} y="0" '
        f'height="{HIGH}"><title>{escaped(one.name)}, {_times(one.window)}</title></rect>'
        for one in lanes.phases
    )
    told = "; ".join(f"{one.name} {_times(one.window)}" for one in lanes.phases)
    names = "".join(
        f'<i style="left:{_x(one.window.from_us, charts.until_us) / 10:g}%">{escaped(one.name)}</i>'
        for one in lanes.phases
        if one.window.until_us - one.window.from_us > charts.until_us / 4
    )
    title = f"{lanes.variant}: phases"
    yield _row("phases", "", _svg(title, told, marks), css="lane phases", over=names)
    for lane in lanes.faults:
        where = _windows(lane, charts.until_us)
        told = f"{lane.count} times, {seconds(lane.active_us)} in all"
        title = f"{lanes.variant}: {spoken(lane.fault)}"
        yield _row(spoken(lane.fault), f"{lane.count}×", _svg(title, told, where), css="lane")


def _windows(lane: FaultLane, until_us: int) -> str:
    """When a fault was there: each window with its times, or if they are many, in one stroke."""
    if len(lane.windows) > SHADED_COUNT:
        bars = (_bar(one, until_us) for one in lane.windows)
        return f'<path class="many" d="{"".join(dict.fromkeys(bars))}"/>'
    return "".join(
        f'<rect {_span(one, until_us)} y="0" height="{HIGH}">'
        f"<title>{escaped(spoken(lane.fault))}, {_times(one)}</title></rect>"
        for one in lane.windows
    )


def lane_head(variant: str) -> str:
    """The variant's name above its strips."""
    return f'<p class="of">{escaped(variant).replace("@", "@<wbr>")}</p>'


# --- strips of a measure --------------------------------------------------------------------------


def panel_row(chart: Chart, panel: Panel, place: int, until_us: int) -> str:
    """One strip with its name, its total and its scale."""
    top = chart.top
    drawn = [f'<use href="#shade-{place}"/>']
    for number, line in enumerate(panel.lines):
        path = _steps_path(line, chart.step_us, until_us, top)
        if len(panel.lines) == 1 and path:
            drawn.append(f'<path class="area" d="{path}V{HIGH}H0z"/>')
        drawn.append(f'<path class="line l{number + 1}" d="{path}"/>')
    name = panel.part or panel.variant
    title = f"{panel.variant}: {chart.title}{f', {panel.part}' if panel.part else ''}"
    svg = _svg(title, _told(chart, panel), "".join(drawn))
    scale = f"<b>{value(top)}{chart.unit}</b><b>0</b>"
    total = "" if panel.total is None else f"{panel.total:,} in all"
    css = "lane small" if panel.part else ""
    return _row(name, total, svg, css=css, scale="" if panel.part else scale)


def _steps_path(line: Line, step_us: int, until_us: int, top: float) -> str:
    """A line that stays on each step's value. Equal neighbours are one stroke; None is a gap."""
    parts: list[str] = []
    before: float | None = None
    for number, one in enumerate(line.values):
        if one is not None and one != before:
            y = HIGH if not top else round(HIGH - 96 * one / top)
            x = _x(number * step_us, until_us)
            parts.append(f"M{x},{y}" if before is None else f"H{x}V{y}")
        elif one is None and before is not None:
            parts.append(f"H{_x(number * step_us, until_us)}")
        before = one
    if before is not None:
        parts.append(f"H{WIDE}")
    return "".join(parts)


def _told(chart: Chart, panel: Panel) -> str:
    """What a strip shows, in words."""
    said = []
    for line in panel.lines:
        known = [(one, number) for number, one in enumerate(line.values) if one is not None]
        if not known:
            said.append(f"{line.name}: nothing measured")
            continue
        most, number = max(known, key=lambda pair: (pair[0], -pair[1]))
        when = f" at {seconds(number * chart.step_us)}" if most else ""
        said.append(f"{line.name}: at most {value(most)}{chart.unit}{when}")
    return "; ".join(said)


def legend(names: Sequence[str]) -> str:
    """Which line is which: by dashes, width and colour."""
    keys = "".join(
        f'<span><svg viewBox="0 0 30 8" aria-hidden="true"><path class="line l{number}" '
        f'd="M0,4H30"/></svg> {escaped(name)}</span>'
        for number, name in enumerate(names, 1)
    )
    return f'<p class="legend">{keys}</p>'


def axis(until_us: int) -> str:
    """The times below the strips."""
    ticks = tuple(ticks_us(until_us))
    marks = "".join(
        f'<i style="left:{_x(tick, until_us) / 10:g}%">{tick_text(tick, until_us)}</i>'
        for tick in ticks
    )
    return (
        '<div class="strip axis" aria-hidden="true"><div class="who">time since the run began</div>'
        f'<div class="plot">{marks}</div><div class="scale"></div></div>'
    )


def tick_text(tick_us: int, until_us: int) -> str:
    """A tick's time, in one unit all along the axis: seconds up to two minutes."""
    if SECOND_US <= until_us <= 120 * SECOND_US:
        return f"{tick_us / SECOND_US:g} s"
    return seconds(tick_us)


def ticks_us(until_us: int) -> Iterator[int]:
    """Round times from 0 on, a few; none so near the end that its text would stick out."""
    steps = (round(step * SECOND_US) for step in _TICKS_S)
    step_us = next((one for one in steps if until_us <= one * TICKS_MAX), until_us)
    yield from range(0, round(until_us * 0.95) + 1, max(1, step_us))


# --- small things ---------------------------------------------------------------------------------


def _row(name: str, total: str, svg: str, *, css: str = "", scale: str = "", over: str = "") -> str:
    shown = escaped(name).replace("@", "@<wbr>")
    more = f" <span>{total}</span>" if total else ""
    return (
        f'<div class="strip {css}"><div class="who">{shown}{more}</div>'
        f'<div class="plot">{svg}{over}</div><div class="scale" aria-hidden="true">{scale}</div>'
        "</div>"
    )


def _svg(title: str, told: str, inner: str) -> str:
    return (
        f'<svg role="img" aria-label="{escaped(title)}: {escaped(told, 2_000)}" '
        f'viewBox="0 0 {WIDE} {HIGH}" preserveAspectRatio="none">'
        f"<title>{escaped(title)}</title><desc>{escaped(told, 2_000)}</desc>{inner}</svg>"
    )


def _x(t_us: int, until_us: int) -> int:
    return min(WIDE, round(WIDE * t_us / until_us))


def _span(window: Window, until_us: int) -> str:
    first, wide = _place(window, until_us)
    return f'x="{first}" width="{wide}"'


def _bar(window: Window, until_us: int) -> str:
    first, wide = _place(window, until_us)
    return f"M{first},0h{wide}v{HIGH}h-{wide}z"


def _place(window: Window, until_us: int) -> tuple[int, int]:
    """Where a window begins and how wide it is; at least wide enough to be seen."""
    first, last = _x(window.from_us, until_us), _x(window.until_us, until_us)
    wide = max(2, last - first)
    return min(first, WIDE - wide), wide


def _times(window: Window) -> str:
    return f"{seconds(window.from_us)} to {seconds(window.until_us)}"


def spoken(fault: str) -> str:
    """`rolling_restart` is "rolling restart"."""
    return fault.replace("_", " ")


def value(number: float) -> str:
    """At most three digits: 31, 4.5, 0.08, 12,400."""
    if number >= 100 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.3g}"


def seconds(time_us: int) -> str:
    """`0`, `250 ms`, `45.5 s`, `2 min 5 s`, `3 h 20 min`: for axes and descriptions."""
    if time_us < SECOND_US:
        return f"{time_us / 1_000:.3g} ms" if time_us else "0 s"
    if time_us < 60 * SECOND_US:
        return f"{time_us / SECOND_US:.3g} s"
    whole_s = round(time_us / SECOND_US)
    hours, minutes, rest = whole_s // 3_600, whole_s // 60 % 60, whole_s % 60
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"
