"""Which file holds what the builder makes."""

from __future__ import annotations

from pathlib import Path

from dashboards.builder import provisioning, rules
from dashboards.builder.chaos_board import chaos_board
from dashboards.builder.queue_board import queue_board

FOLDER = Path(__file__).parents[1]


def files() -> dict[str, str]:
    """Every file, by its path below dashboards/."""
    return {
        "grafana/boards/chaos-runs.json": chaos_board(),
        "grafana/boards/queue-health.json": queue_board(),
        "grafana/provisioning/datasources/prometheus.yml": provisioning.datasource(),
        "grafana/provisioning/dashboards/boards.yml": provisioning.boards(),
        "prometheus/prometheus.yml": rules.configuration(token=False),
        "prometheus/prometheus-token.yml": rules.configuration(token=True),
        "prometheus/rules/recording.yml": rules.recording_rules(),
        "prometheus/rules/alerts.yml": rules.alert_rules(),
    }


def write() -> None:
    """Write every file."""
    for name, text in files().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
