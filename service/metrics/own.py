"""What the service counts of itself: runs by outcome, its queue, requests, event streams.

A plain `prometheus_client` registry: these belong to this process and to nobody else. Requests are
counted by the template of their route (`/v1/runs/{run}`), never by the path that was asked for,
whose values have no bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from service.models import Outcome

OUTCOMES: tuple[str, ...] = get_args(Outcome)
UNMATCHED = "(none)"  # the route of a request that no route took
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
OTHER_METHOD = "other"
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ServiceMetrics:
    """The service's own families; every outcome of a run exists from the start.

    Attributes:
        registry: where they are.
        queue_length: runs that wait for their turn.
        subscribers: event streams that are open.
        events_dropped: events that a stream did not get since it read too slowly.
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._runs = Counter(
            "saqchaos_runs", "Runs that ended, by outcome.", ["outcome"], registry=registry
        )
        for outcome in OUTCOMES:
            self._runs.labels(outcome)
        self.queue_length = Gauge(
            "saqchaos_queue_length", "Runs that wait for their turn.", registry=registry
        )
        self.subscribers = Gauge(
            "saqchaos_event_subscribers", "Event streams that are open.", registry=registry
        )
        self.events_dropped = Counter(
            "saqchaos_events_dropped",
            "Events not sent to a stream that read too slowly; it was closed and can come back.",
            registry=registry,
        )
        self._requests = Counter(
            "saqchaos_http_requests",
            "Requests answered, by route, method and class of status.",
            ["route", "method", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "saqchaos_http_request_seconds",
            "How long answers took until their first byte, by route and method.",
            ["route", "method"],
            buckets=BUCKETS_S,
            registry=registry,
        )

    def run_ended(self, outcome: str) -> None:
        """A run ended.

        Raises:
            ValueError: there is no such outcome.
        """
        if outcome not in OUTCOMES:
            raise ValueError(f"outcome {outcome!r} is none of {', '.join(OUTCOMES)}")
        self._runs.labels(outcome).inc()

    def requested(self, route: str | None, method: str, status: int, seconds: float) -> None:
        """A request was answered.

        Args:
            route: the template of the route that took it, or None.
            method: as it was asked for.
            status: the status code.
            seconds: until the answer began: an event stream ends when its reader goes away.
        """
        route = route or UNMATCHED
        method = method if method in METHODS else OTHER_METHOD
        self._requests.labels(route, method, f"{status // 100}xx").inc()
        self._seconds.labels(route, method).observe(seconds)

    def read_from(
        self, queue_length: Callable[[], float], subscribers: Callable[[], float]
    ) -> None:
        """Ask for these at each scrape instead of being told of each change."""
        self.queue_length.set_function(queue_length)
        self.subscribers.set_function(subscribers)
