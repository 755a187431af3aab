"""Counts in a production worker what a soak counts: errors of saq's own, orphans, collisions.

    from saq_chaos_worker import instrument
    watched = instrument(worker)          # before worker.start(), or in its startup hook
    watched.close()                       # everything is as it was

    saq Worker ─► probe ─► Counting.record() ─► prometheus-client counters

The probe is the one of a soak, and the families have the names of its chaos view. Only numbers are
kept: an attempt is forgotten once its `process()` and its body are over, so memory is bounded by
what runs at once. prometheus-client is imported when somebody asks for it, not before.

A worker knows nothing of other hosts. What became of an abort is told from the cancelled side
alone: `honoured`, `ignored` or `stray`.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from .counting import METRICS, Counting


class MissingPrometheus(ImportError):
    """prometheus-client is not installed where the worker runs."""


class Instrumented:
    """A worker that is being watched. `close()` takes everything off again."""

    def __init__(self, counting: Counting, close: Any) -> None:
        self._counting = counting
        self._close = close

    def live(self) -> int:
        """How many attempts are kept in mind: those that are not over."""
        return self._counting.live()

    def close(self) -> None:
        """Stop counting; what was counted stays. More than once does no harm."""
        close, self._close = self._close, None
        if close is not None:
            close()


def instrument(worker: Any, registry: Any = None, variant: str = "production") -> Instrumented:
    """Count what goes wrong inside a saq worker.

    Args:
        worker: a saq Worker that has not been started, or is in its startup hooks.
        registry: a prometheus_client CollectorRegistry; none: the process's own.
        variant: the value of that label.

    Raises:
        MissingPrometheus: prometheus-client is not installed.
        ValueError: its queue object is watched for another worker already.
    """
    families = _families(registry)
    from . import probe as probing
    from .probe import install_worker

    before = vars(worker.queue).get(probing._PROBE)
    if before is not None and before.worker not in (None, worker):
        raise ValueError(
            "this worker's queue object is watched for another worker already; "
            "give each worker a Queue of its own"
        )
    counting = Counting(families, variant)
    if before is None:
        probe = install_worker(worker, counting, variant)
        return Instrumented(counting, probe.close)
    install_worker(worker, counting, variant)
    return Instrumented(counting, _listen_too(before, counting))


def _listen_too(probe: Any, counting: Counting) -> Any:
    """Somebody watches this worker already, such as a soak: hear what it hears."""
    first = probe.record

    def both(*args: Any, **kwargs: Any) -> None:
        first(*args, **kwargs)
        counting.record(*args, **kwargs)

    def close() -> None:
        if probe.record is both:
            probe.record = first

    probe.record = both
    return close


# --- the families ---------------------------------------------------------------------------------

_KNOWN: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def _families(registry: Any) -> dict[str, Any]:
    """The families of a registry: made once, however many workers count into them."""
    try:
        import prometheus_client  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise MissingPrometheus(
            "instrument() needs prometheus-client: pip install 'saq-chaos-worker[metrics]'"
        ) from error
    registry = prometheus_client.REGISTRY if registry is None else registry
    if registry not in _KNOWN:
        kinds = {"counter": prometheus_client.Counter, "gauge": prometheus_client.Gauge}
        _KNOWN[registry] = {
            one.name: kinds[one.kind](one.name, one.help, one.labels, registry=registry)
            for one in METRICS
        }
    return _KNOWN[registry]
