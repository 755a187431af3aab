"""What findings share: the numbers of the events that prove them, and durations in words."""

from __future__ import annotations

from chaos.event import Event
from chaos.timeline import Timeline


def numbers(*events: Event | None) -> tuple[int, ...]:
    """The numbers of these events, in order, each once; missing ones are left out."""
    return tuple(sorted({event.n for event in events if event is not None}))


def milliseconds(time_us: int) -> str:
    """A duration in words."""
    return f"{time_us / 1_000:.1f} ms"


def collisions_or(timeline: Timeline, name: str, count: int) -> tuple[str, int]:
    """Slot collisions if the run met any, else the wider exposure `name`.

    The danger of the seed bug is the slot collision, so "0 failures" is worth as much as the number
    of collisions it was met over, and a rate per collision compares two variants that collide
    differently often. A run without collisions still says something about everything else that it
    did, so there the exposure is the wider one; a plan that wants collisions names them among its
    exposures, and is UNKNOWN without them.
    """
    collisions = len(timeline.attempts.collisions)
    return ("slot_collisions", collisions) if collisions else (name, count)
