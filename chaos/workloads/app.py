"""The functions of a user's own saq settings, enqueued as the plan says.

Each call has its own pace and its own streams, `("workload", call, i)`; the calls are merged by
time, the first in the plan first where two fall together. In a key or in an argument's text `{i}`
is the number of the call, and `{n}` a number drawn from 0 to `spread` - 1: with a small spread the
same key comes again and again. Other braces stay as they are, so that a text may hold JSON.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice
from typing import Any

from chaos.plan import App, AppCall, AppJob
from chaos.seed import Seed
from chaos.workloads.workload import whole_as_int
from chaos.world import Enqueue

KNOWN_KEYS_MAX = 100_000


class AppWorkload:
    """The workload `app`."""

    summary = "functions of your own saq settings, with templates for keys and arguments"

    def __init__(self, spec: App, jobs_max: int) -> None:
        self._calls = spec.calls
        self._jobs_max = jobs_max

    def commands(self, seed: Seed, duration_us: int) -> Iterator[tuple[int, Enqueue]]:
        """See `Workload`."""
        paced = [
            _commands_of(call, place, seed, duration_us) for place, call in enumerate(self._calls)
        ]
        merged = heapq.merge(*paced, key=lambda timed: timed[0])
        return islice(merged, self._jobs_max)

    def known_keys(self) -> tuple[str, ...] | None:
        """See `Workload`."""
        keys: dict[str, None] = {}
        for call in self._calls:
            if call.key is None or "{i}" in call.key or call.spread > KNOWN_KEYS_MAX:
                return None
            numbers = range(call.spread if "{n}" in call.key else 1)
            keys.update((call.key.replace("{n}", str(n)), None) for n in numbers)
        return tuple(keys)


def _commands_of(
    call: AppCall, place: int, seed: Seed, duration_us: int
) -> Iterator[tuple[int, Enqueue]]:
    options = _options(call.job)
    for i in range(-(-duration_us // call.interval_us)):
        n = seed.stream("workload", place, i).randrange(call.spread)
        yield (
            i * call.interval_us,
            Enqueue(
                function=call.function,
                key=None if call.key is None else fill(call.key, i, n),
                kwargs={name: fill(value, i, n) for name, value in call.kwargs.items()},
                options=options,
                scheduled_in_us=call.scheduled_ahead_us,
            ),
        )


def fill(value: Any, i: int, n: int) -> Any:
    """`value` with `{i}` and `{n}` filled in, in every text at any depth."""
    if isinstance(value, str):
        return value.replace("{i}", str(i)).replace("{n}", str(n))
    if isinstance(value, list | tuple):
        return [fill(item, i, n) for item in value]
    if isinstance(value, dict):
        return {name: fill(item, i, n) for name, item in value.items()}
    return value


def _options(job: AppJob) -> dict[str, Any]:
    given = {name: value for name, value in job if value is not None}
    return {
        name: whole_as_int(value) if isinstance(value, float) else value
        for name, value in given.items()
    }
