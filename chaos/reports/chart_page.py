"""The charts of report.html: lanes of faults and phases, then each measure on every variant.

What is drawn stands below each figure as a table too, in wider steps, for whoever cannot see it or
wants the numbers. What a figure means, and its unit, is said above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaos.history import History
from chaos.reports import chart_svg as draw
from chaos.reports.chart_series import Chart, Charts, Panel, series
from chaos.reports.escape import html as escaped

ROWS_MAX = 24  # of a figure's table


def section(history: History | None, slack_us: int) -> Iterator[str]:
    """The section, if there is a history and something ran in it."""
    charts = series(history, slack_us) if history is not None else None
    if charts is None or not charts.charts:
        return
    yield '<section aria-labelledby="charts"><h2 id="charts">What happened when</h2>'
    yield (
        "<p>All strips share one axis of time, and the strips of one measure share one scale, so "
        f"variants can be compared.{_shaded(charts)} A dashed line is the beginning of a phase: "
        "after <i>safety</i> (load and faults) everything heals, then the queue drains "
        "(<i>liveness</i>).</p>"
    )
    yield draw.shades(charts)
    yield from _lanes(charts)
    for chart in charts.charts:
        yield from _figure(chart, charts)
    yield "</section>"


def _shaded(charts: Charts) -> str:
    """Which faults are shaded behind the strips, and which would have shaded everything."""
    kinds = {
        lane.fault: draw.is_shaded(lane, charts.until_us)
        for lanes in charts.lanes
        for lane in lanes.faults
    }
    if not kinds:
        return " No fault was injected."
    shown = [escaped(draw.spoken(name)) for name, is_shown in kinds.items() if is_shown]
    rest = [escaped(draw.spoken(name)) for name, is_shown in kinds.items() if not is_shown]
    said = f" Shaded: {', '.join(shown)}." if shown else ""
    if rest:
        said += f" Too frequent to be shaded, and in the lanes alone: {', '.join(rest)}."
    return said


def _lanes(charts: Charts) -> Iterator[str]:
    yield '<figure class="chart"><figcaption><h3>Faults and phases</h3></figcaption>'
    for lanes in charts.lanes:
        yield from draw.lanes_rows(charts, lanes)
    yield draw.axis(charts.until_us)
    head = ("variant", "what", "times", "first", "last", "in all")
    yield _table(head, list(_lane_cells(charts)), numbers_from=2)
    yield "</figure>"


def _lane_cells(charts: Charts) -> Iterator[tuple[str, ...]]:
    for lanes in charts.lanes:
        for phase in lanes.phases:
            window = phase.window
            ends = (draw.seconds(window.from_us), draw.seconds(window.until_us))
            whole = draw.seconds(window.until_us - window.from_us)
            yield (lanes.variant, f"phase {phase.name}", "1", *ends, whole)
        for lane in lanes.faults:
            ends = (
                draw.seconds(lane.windows[0].from_us),
                draw.seconds(lane.windows[-1].until_us),
            )
            whole = draw.seconds(lane.active_us)
            yield (lanes.variant, draw.spoken(lane.fault), str(lane.count), *ends, whole)


def _figure(chart: Chart, charts: Charts) -> Iterator[str]:
    unit = {"/s": ", per second", " s": ", seconds", "": ""}[chart.unit]
    yield f'<figure class="chart"><figcaption><h3>{escaped(chart.title)}{unit}</h3>'
    high = f" The height of a strip is {draw.value(chart.top)}{chart.unit}."
    what = chart.what + (high if chart.panels[0].part else "")
    yield f'<p class="small">{escaped(what)}</p></figcaption>'
    names = [line.name for line in chart.panels[0].lines]
    if len(names) > 1:
        yield draw.legend(names)
    places = {lanes.variant: place for place, lanes in enumerate(charts.lanes)}
    before = ""
    for panel in chart.panels:
        if panel.part and panel.variant != before:
            yield draw.lane_head(panel.variant)
        before = panel.variant
        yield draw.panel_row(chart, panel, places[panel.variant], charts.until_us)
    yield draw.axis(charts.until_us)
    yield _data(chart)
    yield "</figure>"


def _data(chart: Chart) -> str:
    columns = [
        (" ".join(filter(None, (panel.variant, panel.part, _named(panel, line.name)))), line.values)
        for panel in chart.panels
        for line in panel.lines
    ]
    count = len(columns[0][1])
    joined = -(-count // ROWS_MAX)
    rows = []
    for first in range(0, count, joined):
        parts = [values[first : first + joined] for _, values in columns]
        cells = (_joined(part, chart) for part in parts)
        rows.append((draw.seconds(first * chart.step_us), *cells))
    how = "mean" if chart.unit == "/s" else "largest"
    head = ("from", *(name for name, _ in columns))
    return _table(head, rows, numbers_from=0, note=f"the {how} of each stretch")


def _named(panel: Panel, line: str) -> str:
    return line if len(panel.lines) > 1 else ""


def _joined(part: Sequence[float | None], chart: Chart) -> str:
    """Rates are averaged, everything else is the largest."""
    known = [one for one in part if one is not None]
    if not known:
        return "-"
    return draw.value(sum(known) / len(known) if chart.unit == "/s" else max(known))


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers_from: int, note: str = ""
) -> str:
    heads = "".join(f'<th scope="col">{escaped(one)}</th>' for one in head)
    lines = "\n".join(
        "<tr>"
        + "".join(
            f"<td{' class=number' if place >= numbers_from else ''}>{escaped(cell)}</td>"
            for place, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    said = f"The numbers ({escaped(note)})" if note else "The numbers"
    return (
        f'<details class="data"><summary>{said}</summary><div class="wide" tabindex="0">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>\n{lines}\n</tbody></table></div></details>"
    )
