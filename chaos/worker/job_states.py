"""What Redis holds of each job of a queue, read while the queue is in use.

Lists are read in one transaction and records in batches after it, so that thousands of jobs do not
stop the server. A job that moves in between would look lost, or finished and still queued; so
whatever looks wrong is read once more, its lists and its record in one transaction, and only that
second look is told. Records are read through the queue, an app's own `load` included.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

BATCH = 500
UNREADABLE = "unreadable"
_TERMINAL = ("complete", "failed", "aborted")


@dataclasses.dataclass(frozen=True)
class JobState:
    """One job, with the fields of the event `job-state` (`chaos.event.JobState`)."""

    job: str
    status: str
    enqueue: int
    worker_id: str
    queued: int
    active: int
    score: float | None
    ttl_us: int

    @property
    def looks_wrong(self) -> bool:
        """Whether the record and the lists contradict each other."""
        listed = self.queued or self.active or self.score is not None
        over = self.status in ("", *_TERMINAL)
        return bool(listed) == over


async def read_states(queue: Any, keys: Iterable[str]) -> AsyncIterator[JobState]:
    """The state of each job asked for, and of each other job that the queue's lists hold."""
    lists = await _read_lists(queue)
    asked = (queue.job_id(key) for key in keys)
    ids = list(dict.fromkeys((*asked, *lists.queued, *lists.active, *lists.scores)))
    doubtful: list[str] = []
    for start in range(0, len(ids), BATCH):
        for state in await _read_batch(queue, ids[start : start + BATCH], lists):
            if state.looks_wrong:
                doubtful.append(queue.job_id(state.job))
            else:
                yield state
    for start in range(0, len(doubtful), BATCH):
        for state in await _read_batch(queue, doubtful[start : start + BATCH], None):
            yield state


@dataclasses.dataclass(frozen=True)
class _Lists:
    """What the queue's lists hold at one moment, by job id: times in a list, score in the zset."""

    queued: dict[str, int]
    active: dict[str, int]
    scores: dict[str, float]


async def _read_lists(queue: Any) -> _Lists:
    async with queue.redis.pipeline(transaction=True) as pipe:
        _ask_for_lists(queue, pipe)
        return _as_lists(await pipe.execute())


async def _read_batch(queue: Any, ids: Sequence[str], lists: _Lists | None) -> list[JobState]:
    """The records of a batch; without `lists`, these too, in the same transaction."""
    async with queue.redis.pipeline(transaction=lists is None) as pipe:
        for job_id in ids:
            pipe.get(job_id).pttl(job_id)
        if lists is None:
            _ask_for_lists(queue, pipe)
        replies = await pipe.execute()
    if lists is None:
        lists = _as_lists(replies[2 * len(ids) :])
    return [
        _state(queue, job_id, lists, replies[2 * place], replies[2 * place + 1])
        for place, job_id in enumerate(ids)
    ]


def _ask_for_lists(queue: Any, pipe: Any) -> None:
    pipe.lrange(queue._queued, 0, -1).lrange(queue._active, 0, -1)
    pipe.zrange(queue._incomplete, 0, -1, withscores=True)


def _as_lists(replies: Sequence[Any]) -> _Lists:
    queued, active, scores = replies
    return _Lists(
        queued=_count(queued),
        active=_count(active),
        scores={_text(job_id): float(score) for job_id, score in scores},
    )


def _count(ids: Iterable[Any]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for job_id in map(_text, ids):
        counts[job_id] = counts.get(job_id, 0) + 1
    return counts


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "backslashreplace")


def _state(queue: Any, job_id: str, lists: _Lists, payload: Any, ttl_ms: int) -> JobState:
    status, enqueue, worker_id = _record(queue, payload)
    return JobState(
        job=queue.job_key_from_id(job_id),
        status=status,
        enqueue=enqueue,
        worker_id=worker_id,
        queued=lists.queued.get(job_id, 0),
        active=lists.active.get(job_id, 0),
        score=lists.scores.get(job_id),
        ttl_us=ttl_ms * 1_000 if ttl_ms >= 0 else ttl_ms,
    )


def _record(queue: Any, payload: Any) -> tuple[str, int, str]:
    """Status, `queued` stamp and worker of a record; the status is empty if there is none."""
    try:
        job = queue.deserialize(payload)
    except Exception:
        return UNREADABLE, 0, ""
    if job is None:
        return "", 0, ""
    status = str(getattr(job.status, "value", job.status))
    return status, int(job.queued), getattr(job, "worker_id", None) or ""
