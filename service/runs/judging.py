"""Judges what a run left that was cut off: a killed runner, a service that died.

    hosts/*.events ──merge──► history.jsonl ──judge──► verdict.json, reports ──► the run's row

It happens in a process of its own, as a run does, since judging takes the processor for a while;
one at a time. The run has ended before, and stays what it was: its verdict is added. What cannot
be judged is left as it is, with a line in the log.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from chaos import stored
from service.errors import ServiceError
from service.models import GateSummary, Run, VariantSummary
from service.run_files import is_own, size_of
from service.runs import messages
from service.runs.process import RunnerProcess
from service.runs.store import Store

JUDGE_SECONDS = 600.0
_LOG = logging.getLogger("service.runs")


class Judging:
    """Runs that wait to be judged, and the one that is."""

    def __init__(self, store: Store, runs_dir: Path, logs: Path) -> None:
        self._store = store
        self._runs_dir = runs_dir
        self._logs = logs
        self._waiting: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, run: str) -> bool:
        """Judge a run soon; false if it left nothing to be judged."""
        folder = self._runs_dir / run
        if not is_own(folder) or not stored.is_run(folder):  # it would be written through a link
            return False
        if (folder / stored.VERDICT_FILE).exists():
            return False
        self._waiting[run] = None
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="judging")
        return True

    def is_at(self, run: str) -> bool:
        """Whether it waits to be judged, or is being judged: its files are in use."""
        return run in self._waiting

    async def done(self) -> None:
        """Wait until nothing is left to be judged."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def close(self) -> None:
        """Give up; the next start tries again."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _work(self) -> None:
        while self._waiting:
            run = next(iter(self._waiting))
            try:
                await self._judge(run)
            except (OSError, TimeoutError, ServiceError) as error:
                _LOG.warning("run %s could not be judged: %s", run, error or "it took too long")
            finally:
                self._waiting.pop(run, None)

    async def _judge(self, run: str) -> None:
        start = messages.Start(run=run, plan="", runs_dir=str(self._runs_dir), world="", judge=True)
        process = await RunnerProcess.start(start, self._logs / f"{run}.log")
        try:
            async with asyncio.timeout(JUDGE_SECONDS):
                async for message in process.messages():
                    if isinstance(message, messages.Ended):
                        self._judged(run, message)
        finally:
            await asyncio.shield(process.close())

    def _judged(self, run: str, ended: messages.Ended) -> None:
        if ended.verdict is None:
            _LOG.warning("run %s could not be judged: %s", run, ended.error)
            return
        found = self._store.get(run)
        self._store.put(with_verdict(found, ended), size_of(self._runs_dir / run))
        _LOG.info("run %s: what it had recorded is judged", run)


def with_verdict(run: Run, ended: messages.Ended) -> Run:
    """The run with a verdict that was made after its end."""
    verdict = [VariantSummary.model_validate(one) for one in ended.verdict or ()]
    gate = GateSummary.model_validate(ended.gate) if ended.gate else None
    return run.model_copy(update={"verdict": verdict, "gate_answer": gate})
