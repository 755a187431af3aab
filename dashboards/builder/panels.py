"""Panels: what every one of them must have (a title, a description, a unit, a legend) is asked for.

The types are Grafana's own (`grafana-foundation-sdk`); this adds nothing but our defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    heatmap,
    prometheus,
    stat,
    statetimeline,
    table,
    timeseries,
)
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
    VisibilityMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import DataSourceRef, Threshold, ThresholdsMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

DATASOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
JOB = 'job=~"$job"'
BOTH = f'{JOB}, variant=~"$variant"'
RATE = "$__rate_interval"
HALF, THIRD, FULL = 12, 8, 24
RED_FROM_ONE = (Threshold(value=None, color="green"), Threshold(value=1, color="red"))
ON_AND_OFF = (Threshold(value=None, color="transparent"), Threshold(value=1, color="orange"))
PLAIN = (Threshold(value=None, color="blue"),)


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel. `legend` is a template over labels, or a plain name."""

    expr: str
    legend: str
    instant: bool = False
    exemplars: bool = False
    kind: PromQueryFormat = PromQueryFormat.TIME_SERIES


def lines(
    title: str, text: str, unit: str, *queries: Query, span: int = HALF, stacked: bool = False
) -> Any:
    """A graph over time."""
    panel = timeseries.Panel().unit(unit).line_width(1).fill_opacity(8).axis_soft_min(0)
    legend = common.VizLegendOptions().display_mode(LegendDisplayMode.TABLE)
    legend = (
        legend.placement(LegendPlacement.BOTTOM).show_legend(True).calcs(["lastNotNull", "max"])
    )
    tooltip = common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING)
    panel = panel.legend(legend).tooltip(tooltip)
    if stacked:
        panel = panel.stacking(common.StackingConfig().mode(StackingMode.NORMAL)).fill_opacity(30)
    return _finished(panel, title, text, queries, span, height=8)


def number(
    title: str,
    text: str,
    unit: str,
    *queries: Query,
    span: int = THIRD,
    steps: Sequence[Threshold] = PLAIN,
) -> Any:
    """One big number for each series."""
    panel = stat.Panel().unit(unit).color_mode(BigValueColorMode.VALUE)
    panel = panel.graph_mode(BigValueGraphMode.NONE).thresholds(_thresholds(steps))
    panel = panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    return _finished(panel, title, text, queries, span, height=5)


def bars(
    title: str,
    text: str,
    unit: str,
    *queries: Query,
    span: int = HALF,
    steps: Sequence[Threshold] = PLAIN,
) -> Any:
    """One bar for each series."""
    panel = bargauge.Panel().unit(unit).orientation(VizOrientation.HORIZONTAL)
    panel = panel.thresholds(_thresholds(steps)).min(0)
    panel = panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    return _finished(panel, title, text, queries, span, height=8)


def states(title: str, text: str, unit: str, *queries: Query, span: int = FULL) -> Any:
    """What was on and off when."""
    panel = statetimeline.Panel().unit(unit).show_value(VisibilityMode.NEVER).row_height(0.8)
    panel = panel.thresholds(_thresholds(ON_AND_OFF))
    panel = panel.legend(common.VizLegendOptions().show_legend(False))
    return _finished(panel, title, text, queries, span, height=7)


def heat(title: str, text: str, unit: str, *queries: Query, span: int = HALF) -> Any:
    """A histogram over time, from its buckets."""
    panel = heatmap.Panel().unit(unit).calculate(False)
    return _finished(panel, title, text, queries, span, height=8)


def rows(title: str, text: str, *queries: Query, span: int = FULL) -> Any:
    """A table of the labels of what there is."""
    return _finished(table.Panel().unit("none"), title, text, queries, span, height=5)


def _thresholds(steps: Sequence[Threshold]) -> dashboard.ThresholdsConfig:
    return dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(list(steps))


def _finished(
    panel: Any, title: str, text: str, queries: Sequence[Query], span: int, height: int
) -> Any:
    panel = panel.title(title).description(text).datasource(DATASOURCE).span(span).height(height)
    for place, query in enumerate(queries):
        panel = panel.with_target(_target(query, chr(ord("A") + place)))
    return panel


def _target(query: Query, name: str) -> prometheus.Dataquery:
    target = prometheus.Dataquery().datasource(DATASOURCE).ref_id(name).expr(query.expr)
    target = target.legend_format(query.legend).format(query.kind).exemplar(query.exemplars)
    return target.instant() if query.instant else target.range()
