"""saq's Worker with one of the repairs: public classes, for production as well.

    from saq_chaos_worker import GuardedWorker
    worker = GuardedWorker(queue, functions=[...])     # everything else as with saq.Worker

Each installs its mapping (`contexts.py`) as `job_task_contexts`; `process()` is saq's own, with the
attempt's begin and end marked. They work on unmodified saq wheels. What each repair leaves open is
part of the idea and is left open: an attempt that was overwritten is out of ByKeyWorker's and
GuardedWorker's `abort()`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from saq.job import Status
from saq.utils import cancel_tasks, millis
from saq.worker import Worker

from .contexts import ByIdContexts, ByKeyContexts, GuardedContexts

logger = logging.getLogger("saq")


class ByKeyWorker(Worker):  # type: ignore[misc, type-arg, unused-ignore]
    """Contexts keyed by `job.key`. Still a single slot a key: does not cure the KeyError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.job_task_contexts: Any = ByKeyContexts()


class ByIdWorker(Worker):  # type: ignore[misc, type-arg, unused-ignore]
    """One context an attempt; `abort()` reaches every local attempt of a key."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._attempts = ByIdContexts()
        self.job_task_contexts: Any = self._attempts

    async def process(self) -> bool:
        """saq's `process()`, known to the mapping as one attempt."""
        with self._attempts.attempt():
            return bool(await super().process())

    async def abort(self, abort_threshold: float) -> None:
        """Cancel every local attempt of each aborted key that has run for the threshold.

        saq's own looks up a deserialised Job, which is none of the attempts' Jobs. As there, a key
        is due once an attempt of it has run for `abort_threshold` seconds, and a body that goes on
        after its cancel is waited for.
        """
        due = [
            job.key
            for job in self._attempts
            if (job.duration("running") or 0) >= millis(abort_threshold)  # type: ignore[attr-defined]
        ]
        if not due:
            return
        for job in await self.queue.jobs(list(dict.fromkeys(due))):
            if job and job.status in (Status.ABORTING, Status.ABORTED):
                await self._abort_attempts(job)

    async def _abort_attempts(self, job: Any) -> None:
        contexts = self._attempts.of(job.key)
        if not contexts:
            logger.warning("No task data found for job %s", job.id)
            return
        logger.info("Aborting %s", job.id)
        running = [context for context in contexts if not context["task"].done()]
        for context in running:
            context["aborted"] = "abort" if job.error is None else job.error
        if running:
            await cancel_tasks([context["task"] for context in running], None)
        await self.queue.finish_abort(job)


class GuardedWorker(Worker):  # type: ignore[misc, type-arg, unused-ignore]
    """Each attempt reads its own context and removes only its own slot, as in saq 0.26.4."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._attempts = GuardedContexts()
        self.job_task_contexts: Any = self._attempts

    async def process(self) -> bool:
        """saq's `process()`, known to the mapping as one attempt.

        An attempt that is cancelled before it has a context has nothing to clean up: saq 0.26.3
        asserts that it has one, 0.26.4 returns False, and so does this.
        """
        with self._attempts.attempt():
            try:
                return bool(await super().process())
            except AssertionError as error:
                cancelled = isinstance(error.__context__, asyncio.CancelledError)
                if cancelled and self._attempts.own() is None:
                    return False
                raise
