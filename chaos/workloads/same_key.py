"""K keys, enqueued again and again: jobs of one key meet each other's sweeps, retries and aborts.

Each enqueue has a stream of its own, `("workload", i)`, and draws its key, whether it is scheduled
ahead, whether it is a job for a thread, and one body for each attempt it may need. A job has one
function, so a job is all thread or not at all: a share of the jobs by weight runs
`saq_chaos_body_sync` with thread bodies only, the others run `saq_chaos_body` with the rest.

An enqueue that saq refuses, since its key is still in the queue, is part of the workload.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from chaos.plan import Body, JobOptions, SameKey
from chaos.seed import Seed
from chaos.workloads.workload import saq_seconds
from chaos.world import Enqueue

FUNCTION = "saq_chaos_body"
FUNCTION_SYNC = "saq_chaos_body_sync"
EXTRA_ATTEMPTS = 2  # a graceful cancel gives a job an attempt that `retries` does not count
BODIES_MAX = 12  # what a job's record carries; the last body serves all later attempts


class SameKeyWorkload:
    """The workload `same_key`."""

    summary = "K keys enqueued again and again, with a body for each attempt drawn from the seed"

    def __init__(self, spec: SameKey, jobs_max: int) -> None:
        self._spec = spec
        self._jobs_max = jobs_max
        self._attempts = min(max(1, spec.job.retries) + EXTRA_ATTEMPTS, BODIES_MAX)
        self._options = _options(spec.job)
        self._thread = tuple(body for body in spec.bodies if body.profile == "thread")
        self._rest = tuple(body for body in spec.bodies if body.profile != "thread")

    def commands(self, seed: Seed, duration_us: int) -> Iterator[tuple[int, Enqueue]]:
        """See `Workload`."""
        wanted = -(-duration_us // self._spec.interval_us)
        for i in range(min(wanted, self._jobs_max)):
            yield i * self._spec.interval_us, self._enqueue(i, seed.stream("workload", i))

    def known_keys(self) -> tuple[str, ...] | None:
        """See `Workload`."""
        if self._spec.keys == 0:
            return None
        return tuple(f"key-{number}" for number in range(self._spec.keys))

    def _enqueue(self, i: int, stream: random.Random) -> Enqueue:
        keys = self._spec.keys
        key = f"key-{stream.randrange(keys)}" if keys else f"job-{i}"
        ahead = stream.random() < self._spec.scheduled_share
        bodies = self._bodies_for_one_job(stream)
        drawn = [_as_kwargs(_draw(stream, bodies), stream) for _ in range(self._attempts)]
        return Enqueue(
            function=FUNCTION_SYNC if bodies is self._thread else FUNCTION,
            key=key,
            kwargs={"bodies": drawn},
            options=self._options,
            scheduled_in_us=self._spec.scheduled_ahead_us if ahead else 0,
        )

    def _bodies_for_one_job(self, stream: random.Random) -> tuple[Body, ...]:
        """The bodies that its attempts draw from: the thread ones, or the others."""
        is_thread = _draw(stream, self._spec.bodies).profile == "thread"
        return self._thread if is_thread else self._rest


def _draw(stream: random.Random, bodies: tuple[Body, ...]) -> Body:
    return stream.choices(bodies, [body.weight for body in bodies])[0]


def _as_kwargs(body: Body, stream: random.Random) -> dict[str, Any]:
    """The body as it travels in a job (`chaos.worker.bodies`), without what it ignores."""
    takes_us = body.takes_us + stream.randint(0, body.spread_us)
    kwargs: dict[str, Any] = {"profile": body.profile, "takes_us": takes_us}
    if body.profile == "heartbeat":
        kwargs["beat_us"] = body.beat_us
    if body.profile == "stubborn":
        kwargs["winds_down_us"] = body.winds_down_us
    if body.profile == "raising":
        kwargs["error"] = body.error
    return kwargs


def _options(job: JobOptions) -> dict[str, Any]:
    return {
        "timeout": saq_seconds(job.timeout_us),
        "heartbeat": saq_seconds(job.heartbeat_us),
        "retries": job.retries,
        "ttl": saq_seconds(job.ttl_us),
        "retry_delay": saq_seconds(job.retry_delay_us),
    }
