"""A board: its variables, the fault windows drawn over every graph, and panels with numbers.

Prometheus answers an annotation query with points; Grafana joins those that follow each other into
one region, from the first point above 0 to the last. So a fault window needs no event of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models

from dashboards.builder.panels import BOTH, DATASOURCE, JOB

Row = tuple[str, Sequence[Any]]  # a title, and its panels
REFRESH = "10s"
TAGS = ["saq", "saq-chaos"]


class Regions(models.AnnotationQuery):
    """An annotation query of the Prometheus datasource, which has fields of its own."""

    def to_json(self) -> dict[str, object]:
        """As Grafana stores it."""
        return {
            **super().to_json(),
            "step": "1s",
            "titleFormat": "{{fault}}",
            "textFormat": "{{fault}} on {{variant}}",
            "tagKeys": "fault,variant",
            "useValueForTime": False,
        }


class FaultWindows(dashboard.AnnotationQuery):
    """While a fault is injected and not healed."""

    def __init__(self) -> None:
        super().__init__()
        self._internal = Regions()


def board(uid: str, title: str, text: str, rows: Sequence[Row]) -> str:
    """The JSON of a board."""
    made = dashboard.Dashboard(title).uid(uid).description(text).tags(TAGS).editable()
    made = made.refresh(REFRESH).time("now-30m", "now").timezone("browser")
    made = made.tooltip(models.DashboardCursorSync.CROSSHAIR)
    for variable in _variables():
        made = made.with_variable(variable)
    made = made.annotation(_fault_windows()).link(_other_boards())
    number = 0
    for row_title, panels in rows:
        number += 1
        made = made.with_row(dashboard.Row(row_title).id(number))
        for panel in panels:
            number += 1
            made = made.with_panel(panel.id(number))
    return JSONEncoder(sort_keys=True, indent=2).encode(made.build()) + "\n"


def _variables() -> tuple[Any, ...]:
    metric = "saqchaos_attempts_begun_total"
    return (
        dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"),
        _variable("job", "Job", f"label_values({metric}, job)"),
        _variable("variant", "Variant", f"label_values({metric}{{{JOB}}}, variant)"),
    )


def _other_boards() -> dashboard.DashboardLink:
    link = dashboard.DashboardLink("saq-chaos boards").type(models.DashboardLinkType.DASHBOARDS)
    return link.tags([TAGS[-1]]).include_vars(True).keep_time(True).as_dropdown(False)


def _variable(name: str, label: str, query: str) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(name)
        .label(label)
        .datasource(DATASOURCE)
        .query(query)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".+")
        .current(models.VariableOption(selected=True, text="All", value="$__all"))
    )


def _fault_windows() -> dashboard.AnnotationQuery:
    return (
        FaultWindows()
        .name("Fault windows")
        .datasource(DATASOURCE)
        .enable(True)
        .icon_color("orange")
        .expr(f"max by (variant, fault) (saqchaos_fault_active{{{BOTH}}}) > 0")
    )
