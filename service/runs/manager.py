"""The runs of this service: what the API asks (`service.ports.Runs`), and the queue of them.

    submit ─► Store ─► RunQueue ─► Carrying ─► ended ─► retention

Everything that changes is done on the service's own loop; reads may come from any thread.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from pydantic import ValidationError

from chaos import plan_file, variants
from chaos.clock import SECOND_US, MonotonicClock
from chaos.errors import UsageError
from chaos.plan import FaultSpec, Plan
from service.errors import Conflict, Invalid, Locked, ServiceError, TooMany, Unavailable
from service.metrics.own import Figures
from service.models import (
    Event,
    EventData,
    FaultAccepted,
    FaultRequest,
    Lock,
    Preview,
    Run,
    RunPage,
    RunRequest,
)
from service.ports import Caller, RunFilter, Trigger
from service.runs import recovery, resolve, retention
from service.runs.carrying import STOP_SECONDS, Carrying, Metrics
from service.runs.feed import Feeds
from service.runs.journal import Journal
from service.runs.judging import Judging
from service.runs.queue import Asked, RunQueue
from service.runs.retention import Today
from service.runs.standing import StandingSoak
from service.security.policy import check_fault
from service.settings import Settings

KEY_HOURS = 24
TIDY_SECONDS = 5.0
RETAIN_SECONDS = 600.0
CLOSE_SECONDS = 30.0
COME_AGAIN_S = 30
_LOG = logging.getLogger("service.runs")


class RunManager:
    """Implements `service.ports.Runs`. `start` it on the loop that it is used on.

    Args:
        settings: what may run, where it is kept, and the limits.
        metrics: is told what runs measure.
        stop_s: how long a run may take to end once it was told to stop.
        on_end: told each run that has ended, once.
    """

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics | None = None,
        *,
        stop_s: float = STOP_SECONDS,
        on_end: Callable[[Run], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._on_end = on_end
        self._metrics = metrics
        self._stop_s = stop_s
        self._data_dir = settings.data_dir.resolve()
        self._runs_dir = self._data_dir / "runs"
        self._logs = self._data_dir / "logs"
        self._clock = MonotonicClock()
        self._today = Today(datetime.now(UTC).timestamp(), self._clock.now_us())
        self._closing = False
        self._started = False
        self._disk = ""
        self._tasks: list[asyncio.Task[None]] = []

    # --- the service's life -----------------------------------------------------------------------

    async def start(self) -> None:
        """Recover what an earlier process left, and begin with the queue.

        Raises:
            Unavailable: the data directory or the index cannot be used.
            VersionTooNew: a later saq-chaos wrote the index.
        """
        try:
            for folder in (self._data_dir, self._runs_dir, self._logs):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise Unavailable(f"the data directory cannot be made: {error.strerror}") from error
        self._store = recovery.open_store(self._data_dir, self._runs_dir)
        self._feeds = Feeds(self._store.events, self._settings.limits.subscribers)
        self._journal = Journal(self._store, self._feeds, self._on_end)
        self._judging = Judging(self._store, self._runs_dir, self._logs)
        self._queue = RunQueue(
            settings=self._settings, store=self._store, journal=self._journal,
            judging=self._judging, standing=StandingSoak(self._settings.standing, self._clock),
            metrics=self._metrics, runs_dir=self._runs_dir, logs=self._logs, stop_s=self._stop_s,
            why_not=self._why_not, submit=self.submit, after=self._retain,
        )  # fmt: skip
        recovery.recover(self._store, self._journal, self._judging, self._runs_dir)
        for run in self._store.in_state("queued"):
            self._feeds.open(run.id)
        self._started = True
        self._tasks = [
            asyncio.create_task(self._queue.work(), name="runs"),
            asyncio.create_task(self._tidy(), name="tidying runs"),
        ]

    async def close(self) -> None:
        """End the run that goes on, in good order if it lets us, and stop."""
        if not self._started:
            return
        self._closing = True
        working, tidying = self._tasks
        self._queue.close()
        await asyncio.wait([working], timeout=CLOSE_SECONDS)
        for task in (working, tidying):
            task.cancel()
        await asyncio.gather(working, tidying, return_exceptions=True)
        await self._judging.close()
        self._feeds.close()
        self._store.close()
        self._started = False

    def ready(self) -> str:
        """Empty when runs can be made; else why not."""
        if self._closing or not self._started:
            return "the service is starting, or shutting down"
        return self._journal.trouble or self._disk

    def _why_not(self) -> str:
        """Why no run may begin now; empty if one may."""
        return self.ready() or ("locked" if self.locked().locked else "")

    # --- asking for runs --------------------------------------------------------------------------

    def preview(self, request: RunRequest) -> Preview:
        """What the request would run."""
        return resolve.preview(resolve.resolve(request, self._settings))

    def submit(self, request: RunRequest, trigger: Trigger, key: str | None = None) -> Run:
        """Put a run into the queue."""
        digest = hashlib.sha256(request.model_dump_json().encode()).hexdigest()
        if key is not None:
            not_before = datetime.now(UTC).timestamp() - KEY_HOURS * 3_600
            before = self._store.run_of_key(trigger.by, key, digest, not_before)
            if before is not None:
                return self.get(before)
        self._check_open()
        plan = resolve.resolve(request, self._settings).plan
        run = _fresh(request, plan, trigger)
        asked = Asked(request=request.model_dump_json(), plan=plan_file.dump(plan))
        kept = (trigger.by, key, digest) if key is not None else None
        try:
            self._store.add(run, msgspec.json.encode(asked).decode(), kept)
        except Unavailable as error:
            self._journal.failed(error)
            raise
        self._feeds.open(run.id)
        self._journal.say(run.id, "state", EventData(state="queued", by=trigger.by))
        self._queue.wake()
        return self.get(run.id)

    def _check_open(self) -> None:
        """Whether a run may be asked for now."""
        if reason := self.ready():
            raise Unavailable(reason, retry_after_s=COME_AGAIN_S)
        lock = self.locked()
        if lock.locked:
            raise Locked(f"{lock.by} locked the service: {lock.reason}")
        most = self._settings.limits.waiting_runs
        if self._store.waiting() >= most:
            raise TooMany(
                f"{most} runs wait already, which is the limit (SAQCHAOS_LIMITS__WAITING_RUNS)",
                retry_after_s=COME_AGAIN_S,
            )

    def get(self, run: str) -> Run:
        """A run as it is now."""
        return self._journal.overlaid(self._store.get(run))

    def webhooks(self, run: str) -> tuple[str, ...]:
        """The webhooks that its request named; none where the request is not known."""
        try:
            return tuple(self._queue.asked(run)[0].webhooks)
        except (msgspec.DecodeError, ValidationError):
            return ()

    def find(self, which: RunFilter, cursor: str | None, limit: int) -> RunPage:
        """Newest first; a cursor is the number of the last run of a page."""
        if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
            raise Invalid(f"{cursor[:50]!r} is no cursor: take `next` of an earlier page")
        page = self._store.find(which, int(cursor) if cursor else None, limit)
        return page.model_copy(update={"runs": [self._journal.overlaid(r) for r in page.runs]})

    def folder(self, run: str) -> Path:
        """The run directory."""
        return self._runs_dir / self._store.get(run).id

    # --- changing runs ----------------------------------------------------------------------------

    async def stop(self, run: str, caller: Caller) -> Run:
        """End a run: at once if it waits, in good order if it goes on."""
        found = self.get(run)
        if found.state == "ended":
            raise Conflict(f"run {run} has ended")
        current = self._queue.current
        if current is not None and current.run.id == run:
            current.stop(caller.name, f"{caller.name} stopped it")
        else:
            self._stop_waiting(found, f"{caller.name} stopped it before it began")
        return self.get(run)

    def _stop_waiting(self, run: Run, text: str) -> None:
        ended = run.model_copy(
            update={
                "state": "ended",
                "outcome": "stopped",
                "exit_code": 130,
                "error": text,
                "ended_at": datetime.now(UTC),
            }
        )
        self._journal.conclude(ended, text)

    async def delete(self, run: str, caller: Caller) -> None:
        """Remove an ended run and its files."""
        if self.get(run).state != "ended":
            raise Conflict(f"run {run} has not ended: stop it first")
        if self._judging.is_at(run):
            raise Conflict(f"what run {run} recorded is being judged: come again in a moment")
        _LOG.info("run %s: %s deletes it", run, caller.name)
        await self._remove(run)

    async def _remove(self, run: str) -> None:
        try:
            await asyncio.to_thread(retention.remove, self._store, self._runs_dir, self._logs, run)
        except OSError as error:
            raise Unavailable(f"run {run} cannot be deleted: {error.strerror}") from error
        self._feeds.forget(run)

    async def inject(self, run: str, request: FaultRequest, caller: Caller) -> FaultAccepted:
        """Inject one fault now into a live run that is in its phase SAFETY."""
        found = self.get(run)
        current = self._queue.current
        if current is None or current.run.id != run:
            raise Conflict(f"run {run} does not go on now: it is {found.state}")
        lock = self.locked()
        if lock.locked:
            raise Locked(f"{lock.by} locked the service: {lock.reason}")
        fault, labels = self._fault_of(current, request)
        reached = await current.inject(request.fault, labels, caller.name)
        texts = {variants.parse(text).label: text for text in found.variants}
        name = str(getattr(fault, "fault", ""))
        return FaultAccepted(run=run, fault=name, variants=[texts[one] for one in reached])

    def _fault_of(
        self, current: Carrying, request: FaultRequest
    ) -> tuple[FaultSpec, tuple[str, ...] | None]:
        try:
            fault = plan_file.fault(request.fault)
        except UsageError as error:
            raise Invalid(str(error)) from error
        plan = plan_file.loads(current.start.plan, "plan")
        redis = self._queue.asked(current.run.id)[0].redis
        check_fault(fault, plan, self._settings, redis=redis)
        if request.variants is None:
            return fault, None
        there = current.run.variants
        for text in request.variants:
            if text not in there:
                raise Invalid(f"{text[:100]!r} is no variant of this run: {', '.join(there)}")
        return fault, tuple(variants.parse(text).label for text in request.variants)

    # --- following runs ---------------------------------------------------------------------------

    def events(self, run: str, after: int) -> AsyncIterator[Event]:
        """Events above `after`: from the store, then as they come, to the last one."""
        self._store.get(run)
        self._feeds.check_room()
        return self._feeds.follow(run, after)

    # --- the lock ---------------------------------------------------------------------------------

    async def lock(self, reason: str, caller: Caller) -> Lock:
        """End what runs and what waits, and start nothing until it is released."""
        lock = Lock(locked=True, reason=reason, by=caller.name, at=datetime.now(UTC))
        self._store.put_lock(lock)
        text = f"{caller.name} locked the service: {reason}"
        for run in self._store.in_state("queued"):
            self._stop_waiting(run, text)
        if self._queue.current is not None:
            self._queue.current.stop(caller.name, text)
        return lock

    async def release(self, caller: Caller) -> Lock:
        """Let runs be made again."""
        _LOG.info("%s released the lock", caller.name)
        self._store.put_lock(Lock(locked=False))
        self._queue.wake()
        return self.locked()

    def locked(self) -> Lock:
        """Whether the service is locked, by whom and why."""
        return self._store.lock()

    def figures(self) -> Figures:
        """What the metrics of the service ask for at each scrape, from any thread."""
        if not self._started:
            return Figures(0, 0, 0, {})
        waiting = len(self._store.in_state("queued"))
        feeds = self._feeds
        return Figures(waiting, len(feeds), feeds.dropped, dict(feeds.ended))

    # --- keeping house ----------------------------------------------------------------------------

    async def _tidy(self) -> None:
        next_us = 0
        while not self._closing:
            self._feeds.drop_the_slow()
            self._journal.try_again()
            self._disk = _problem_of(self._runs_dir)
            if self._clock.now_us() >= next_us:
                next_us = self._clock.now_us() + int(RETAIN_SECONDS * SECOND_US)
                await self._retain()
            await asyncio.sleep(TIDY_SECONDS)

    async def _retain(self) -> None:
        """Delete what need not be kept."""
        try:
            self._store.forget_keys(datetime.now(UTC).timestamp() - KEY_HOURS * 3_600)
            now_s = self._today.now_s(datetime.now(UTC).timestamp(), self._clock.now_us())
            ended = self._store.ended()
            for run in retention.surplus(ended, self._settings.retention, now_s):
                if not self._judging.is_at(run):
                    _LOG.info("run %s is deleted: older or larger than what is kept", run)
                    await self._remove(run)
        except ServiceError as error:
            _LOG.error("old runs cannot be deleted: %s", error)


def _fresh(request: RunRequest, plan: Plan, trigger: Trigger) -> Run:
    now = datetime.now(UTC)
    return Run.model_validate(
        {
            "id": f"{now:%Y%m%d-%H%M%S}-{plan.plan}-{secrets.token_hex(4)}",
            "state": "queued",
            "plan": plan.plan,
            "world": request.world,
            "seed": plan.seed,
            "variants": list(plan.variants),
            "gate": plan.gate,
            "labels": request.labels,
            "trigger": trigger.kind,
            "schedule": trigger.schedule,
            "requested_by": trigger.by,
            "created_at": now,
        }
    )


def _problem_of(runs_dir: Path) -> str:
    """Why a run could not write its directory; empty if it could."""
    probe = runs_dir / ".probe"
    try:
        probe.write_bytes(b"\0" * 4_096)
        probe.unlink()
    except OSError as error:
        return f"run directories cannot be written: {error.strerror}"
    return ""
