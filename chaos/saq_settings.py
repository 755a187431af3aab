"""What a plan says about workers, as saq's Worker is told it: in seconds.

An application has its own settings: of those only what the plan says in so many words is replaced.
"""

from __future__ import annotations

from typing import Any

from chaos.clock import SECOND_US
from chaos.plan import Workers


def saq_settings(workers: Workers, *, own: bool) -> dict[str, Any]:
    """concurrency, timers, grace_s and deadline_s of `chaos.worker.config.Config`.

    Args:
        workers: the plan's.
        own: whether an application's own values stand where the plan says nothing.

    Returns:
        None for what is left as it is.
    """
    said = workers.model_fields_set
    values = {
        "concurrency": ("concurrency", workers.concurrency),
        "grace_s": ("grace_us", workers.grace_us / SECOND_US),
        "deadline_s": ("deadline_us", workers.deadline_us / SECOND_US),
    }
    told = {
        name: value if not own or field in said else None for name, (field, value) in values.items()
    }
    return {**told, "timers": _timers(workers, own=own)}


def _timers(workers: Workers, *, own: bool) -> dict[str, float] | None:
    timers = workers.timers
    said = timers.model_fields_set
    names = [name for name in type(timers).model_fields if not own or name in said]
    seconds = {name.removesuffix("_us"): getattr(timers, name) / SECOND_US for name in names}
    return seconds or None
