"""What findings share: the numbers of the events that prove them, and durations in words."""

from __future__ import annotations

from chaos.event import Event


def numbers(*events: Event | None) -> tuple[int, ...]:
    """The numbers of these events, in order, each once; missing ones are left out."""
    return tuple(sorted({event.n for event in events if event is not None}))


def milliseconds(time_us: int) -> str:
    """A duration in words."""
    return f"{time_us / 1_000:.1f} ms"
