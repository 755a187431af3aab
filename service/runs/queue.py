"""The queue: whose turn it is, and the one run that goes on.

    Store (queued, oldest first) ──┐
    standing soak, if nobody waits ┴─► Carrying ─► ended ─► judged, if it was cut off

One run at a time, first come, first served: a live run uses the whole machine, and two at once
would measure each other. A run that waited is held against the settings again when its turn comes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from chaos.clock import SECOND_US
from service.errors import ServiceError
from service.models import Run, RunRequest
from service.ports import Trigger
from service.runs import resolve
from service.runs.carrying import Carrying, Metrics
from service.runs.journal import Journal
from service.runs.judging import Judging
from service.runs.standing import BY, StandingSoak
from service.runs.store import Store
from service.settings import Settings

LOOK_SECONDS = 5.0
_LOG = logging.getLogger("service.runs")


class Asked(msgspec.Struct, frozen=True):
    """What a run was asked for, as the index keeps it: no secret is in it."""

    request: str
    plan: str


@dataclass
class RunQueue:
    """Makes one run after the other.

    Attributes:
        settings: what may run.
        store: who waits.
        journal: where runs' events go.
        judging: takes runs that were cut off.
        standing: what is made when nobody waits.
        metrics: is told what runs measure.
        runs_dir: where runs make their directories.
        logs: where runners' stderr goes.
        stop_s: how long a run may take to end once it was told to stop.
        why_not: empty if a run may begin now.
        submit: puts a standing run into the queue.
        after: is done after each run.
        current: the run that goes on.
    """

    settings: Settings
    store: Store
    journal: Journal
    judging: Judging
    standing: StandingSoak
    metrics: Metrics | None
    runs_dir: Path
    logs: Path
    stop_s: float
    why_not: Callable[[], str]
    submit: Callable[[RunRequest, Trigger], Run]
    after: Callable[[], Awaitable[None]]
    current: Carrying | None = None
    _closing: bool = False
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        """There may be something to do."""
        self._wake.set()

    def close(self) -> None:
        """End the run that goes on, in good order if it lets us, and begin no other."""
        self._closing = True
        if self.current is not None:
            self.current.stop("", "the service was shut down", "closing")
        self.wake()

    def asked(self, run: str) -> tuple[RunRequest, str]:
        """What a run was asked for, and its plan.

        Raises:
            msgspec.DecodeError: that is not known: the run was found by its directory.
        """
        asked = msgspec.json.decode(self.store.request(run), type=Asked)
        return RunRequest.model_validate_json(asked.request), asked.plan

    async def work(self) -> None:
        """Make one run after the other until the service goes."""
        while not self._closing:
            self._wake.clear()
            try:
                run = self._next()
            except ServiceError as error:
                _LOG.error("the queue cannot go on: %s", error)
                run = None
            if run is None:
                await self._sleep()
            else:
                await self._make_safely(run)

    def _next(self) -> Run | None:
        """The run whose turn it is, if there is one."""
        if self.why_not():
            return None
        waiting = self.store.in_state("queued")
        if waiting:
            return waiting[0]
        if self.standing.due_in_us() == 0:
            try:
                return self.submit(self.standing.request(), Trigger("standing", BY))
            except ServiceError as error:
                self.standing.failed()
                problems = "; ".join(error.problems) or error.detail
                _LOG.error("the standing soak cannot be made: %s", problems)
        return None

    async def _sleep(self) -> None:
        """Until something happens that may give the queue work."""
        due_us = self.standing.due_in_us()
        seconds = LOOK_SECONDS if due_us is None else min(LOOK_SECONDS, due_us / SECOND_US + 0.01)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)

    async def _make_safely(self, run: Run) -> None:
        """Make it; whatever is wrong with one run, the next one has its turn."""
        try:
            await self._make(run)
        except Exception as error:  # noqa: BLE001 - one broken run must not end the queue
            _LOG.exception("run %s", run.id)
            if self.store.get(run.id).state != "ended":
                self._refuse(run, error)

    async def _make(self, run: Run) -> None:
        try:
            request, plan = self.asked(run.id)
            start = resolve.again(request, plan, self.settings).start(run.id, self.runs_dir)
        except (ServiceError, msgspec.DecodeError) as error:
            self._refuse(run, error)
            return
        self.current = Carrying(
            run=run, start=start, journal=self.journal, folder=self.runs_dir / run.id,
            log=self.logs / f"{run.id}.log", run_s=self.settings.limits.run_s,
            stop_s=self.stop_s, metrics=self.metrics,
        )  # fmt: skip
        try:
            run = await self.current.carry()
            if self.current.is_cut_off:
                self.judging.add(run.id)
        finally:
            self.current = None
        if run.trigger == "standing":
            self.standing.ended(run)
        await self.after()

    def _refuse(self, run: Run, error: Exception) -> None:
        """A run that cannot be made, perhaps as settings are others than when it was asked for."""
        detail = error.detail if isinstance(error, ServiceError) else repr(error)
        text = f"it can no longer be made: {detail}"
        ended = {"state": "ended", "outcome": "error", "exit_code": 2, "error": text}
        ended_at = datetime.now(UTC)
        self.journal.conclude(run.model_copy(update={**ended, "ended_at": ended_at}), text)
        if run.trigger == "standing":
            self.standing.failed()
