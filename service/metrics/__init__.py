"""What the service shows Prometheus: its runs, never falling, and itself.

snapshots of running soaks ─► RunsCollector ─┐
                                             ├─► Metrics.exposition_for(Accept) ─► /metrics
requests, queue, subscribers ─► ServiceMetrics┘
"""

from service.metrics.collector import RunsCollector
from service.metrics.expose import Metrics
from service.metrics.own import OUTCOMES, ServiceMetrics

__all__ = ["OUTCOMES", "Metrics", "RunsCollector", "ServiceMetrics"]
