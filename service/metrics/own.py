"""What the service counts of itself: runs by outcome, its queue, requests, event streams.

A plain `prometheus_client` registry: these belong to this process and to nobody else. Requests are
counted by the template of their route (`/v1/runs/{run}`), never by the path that was asked for,
whose values have no bound.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from service.models import Outcome

OUTCOMES: tuple[str, ...] = get_args(Outcome)
UNMATCHED = "(none)"  # the route of a request that no route took
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
OTHER_METHOD = "other"
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Figures(NamedTuple):
    """What the runs of this process come to: `ended` by outcome, and streams taken from readers."""

    waiting: int
    subscribers: int
    streams_dropped: int
    ended: Mapping[str, int]


class ServiceMetrics:
    """The service's own families; every outcome of a run exists from the start.

    Attributes:
        registry: where they are.
        queue_length: runs that wait for their turn.
        subscribers: event streams that are open.
        streams_dropped: event streams taken from whoever read too slowly.
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._lock = threading.Lock()
        self._figures: Callable[[], Figures] | None = None
        self._seen: dict[str, int] = {}
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
        self.streams_dropped = Counter(
            "saqchaos_event_streams_dropped",
            "Event streams taken from readers that were too slow; no event is lost, they resume.",
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

    def follow(self, figures: Callable[[], Figures]) -> None:
        """Ask for these at each scrape instead of being told of each change."""
        with self._lock:
            self._figures, self._seen = figures, {}

    def read(self) -> None:
        """Bring what is followed up to date. Safe from any thread."""
        with self._lock:
            if self._figures is None:
                return
            now = self._figures()
            self.queue_length.set(now.waiting)
            self.subscribers.set(now.subscribers)
            self.streams_dropped.inc(self._risen("", now.streams_dropped))
            for outcome in OUTCOMES:
                self._runs.labels(outcome).inc(self._risen(outcome, now.ended.get(outcome, 0)))

    def _risen(self, name: str, count: int) -> int:
        risen = count - self._seen.get(name, 0)
        self._seen[name] = count
        return max(0, risen)
