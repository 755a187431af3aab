"""Where the families go: a port on loopback while a run goes on, and the file after it."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from prometheus_client import CollectorRegistry, generate_latest, start_http_server

from chaos.errors import WorldError
from chaos.judge import Judged
from chaos.metrics.collector import TimelineCollector
from chaos.metrics.findings import LiveFindings
from chaos.plan import Plan
from chaos.timeline import Timeline

ADDRESS = "127.0.0.1"


def exposition(plan: Plan, judged: Judged) -> bytes:
    """The text form of a judged run: what `metrics.prom` holds."""
    findings = {
        verdict.variant: {promise.promise: promise.count for promise in verdict.promises}
        for verdict in judged.variants
    }
    registry = CollectorRegistry(auto_describe=False)
    registry.register(TimelineCollector(judged.timelines, plan.promises, lambda: findings, plan))
    return generate_latest(registry)


class MetricsServer:
    """Serves the counters of running timelines on loopback while it is entered.

    Args:
        plan: the plan of the run; its promises and faults are the label values.
        timelines: one per variant; they may be fed from another thread.
        port: where to listen; 0 for a free port. `port` then says which.

    Raises:
        WorldError: the port is taken; raised on entering.
    """

    def __init__(self, plan: Plan, timelines: Iterable[Timeline], port: int) -> None:
        self.port = port
        timelines = tuple(timelines)
        live = LiveFindings(plan)
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(
            TimelineCollector(timelines, plan.promises, lambda: live.counts(timelines), plan)
        )

    def __enter__(self) -> Self:
        try:
            self._server, self._thread = start_http_server(self.port, ADDRESS, self._registry)
        except OSError as error:
            raise WorldError(
                f"cannot serve metrics on {ADDRESS}:{self.port}: {error.strerror}; "
                "name another --metrics-port, or 0 for a free one"
            ) from error
        self.port = self._server.server_port
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
