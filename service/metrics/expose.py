"""`/metrics`: the runs and the service itself, in the format that the reader asks for.

OpenMetrics has exemplars, and Prometheus asks for it when it stores them; anybody else gets the
plain text format.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from service.metrics.collector import RunsCollector
from service.metrics.own import ServiceMetrics

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


class WithoutCreated(Collector):
    """What another collector shows, but for the times at which its counters were made.

    The plain text format would make a gauge of each, twice as many series for nobody.
    """

    def __init__(self, inner: Collector) -> None:
        self._inner = inner

    def collect(self) -> Iterator[Metric]:
        for metric in self._inner.collect():
            metric.samples = [one for one in metric.samples if not one.name.endswith("_created")]
            yield metric


class Metrics:
    """Everything that `/metrics` shows.

    Args:
        variants: those that the service offers.
    """

    def __init__(self, variants: tuple[str, ...]) -> None:
        self.runs = RunsCollector(variants)
        self.service = ServiceMetrics()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self.runs)
        self._registry.register(WithoutCreated(self.service.registry))

    def exposition_for(self, accept_header: str) -> tuple[bytes, str]:
        """The answer's body and its content type, for what the reader accepts."""
        self.service.read()
        encode, content_type = choose_encoder(accept_header)
        return encode(self._registry), content_type
