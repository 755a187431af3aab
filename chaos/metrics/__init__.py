"""Prometheus: the counters of all variants, during the run over HTTP and after it as a file.

    Timeline per variant ──values(), checkers──► families ──┬─ MetricsServer   http://…/metrics
                                                            ├─ exposition()    metrics.prom
                                                            └─ Snapshots       to a service

`saqchaos_…` is the chaos view: what was done to a saq build, and what broke. `saq_…` is the queue
view: what a board of queue health shows of any queue. Both are read from the same fold.
"""

from chaos.metrics.collector import TimelineCollector
from chaos.metrics.findings import LiveFindings
from chaos.metrics.server import MetricsServer, exposition
from chaos.metrics.snapshot import Snapshot, Snapshots, decode, encode, snapshot

__all__ = [
    "LiveFindings",
    "MetricsServer",
    "Snapshot",
    "Snapshots",
    "TimelineCollector",
    "decode",
    "encode",
    "exposition",
    "snapshot",
]
