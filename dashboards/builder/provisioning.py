"""What Grafana reads when it starts: where Prometheus is, and where the boards are.

Mounted as /etc/grafana/provisioning, with the boards as /var/lib/grafana/boards.
"""

from __future__ import annotations

import yaml

FOLDER = "saq-chaos"
BOARDS = "/var/lib/grafana/boards"
SAID = "# Written by `python -m dashboards.builder`: change it there.\n"


def datasource() -> str:
    """provisioning/datasources/prometheus.yml."""
    prometheus = {
        "name": "Prometheus",
        "uid": "prometheus",
        "type": "prometheus",
        "access": "proxy",
        "url": "http://prometheus:9090",
        "isDefault": True,
        "jsonData": {"timeInterval": "5s", "httpMethod": "POST"},
    }
    return SAID + yaml.safe_dump({"apiVersion": 1, "datasources": [prometheus]}, sort_keys=False)


def boards() -> str:
    """provisioning/dashboards/boards.yml."""
    provider = {
        "name": FOLDER,
        "folder": FOLDER,
        "type": "file",
        "disableDeletion": True,
        "allowUiUpdates": False,
        "options": {"path": BOARDS},
    }
    return SAID + yaml.safe_dump({"apiVersion": 1, "providers": [provider]}, sort_keys=False)
