"""The keeper: starts what is due, keeps to each schedule's policy, and sleeps until the next.

    tick(now): for each enabled schedule that is due
        forbid   a run of it goes on  ──► this time is left out, and said
        replace  a run of it goes on  ──► it is stopped, the new one waits for its turn
        allow    ──► the new one waits for its turn
      then the next time after now is set, and older ended runs beyond `keep` are removed

A time that passed while the service was away is caught up once, however many passed. A refusal
(locked, the queue is full, a variant is no longer allowed) is kept as the schedule's last error;
the next time is tried as usual. The next time is stored before the run is made: a service that is
killed in between leaves one out, and never makes one twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from service import errors
from service.background import Background
from service.errors import Conflict, Invalid, ServiceError, Unavailable
from service.models import Run, Schedule, ScheduleRequest
from service.ports import Caller, RunFilter, Runs, Trigger
from service.schedules.cron import next_after
from service.schedules.store import ScheduleStore, moved
from service.settings import Settings

KIND = "schedule"
SLEEP_MAX_S = 30.0
AGAIN_S = 5.0
BACK = timedelta(days=1)
PAGE = 200
PAGES_MAX = 50
_LOG = logging.getLogger("service.schedules")
Watch = Callable[[str, list[str]], None]


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Keeper:
    """All schedules.

    Args:
        settings: limits, and what a request may name.
        runs: where runs are made.
        watch: told the run and its webhooks, for each run that a schedule made.
        now: the time, UTC.
    """

    def __init__(
        self, settings: Settings, runs: Runs, watch: Watch, now: Callable[[], datetime] = _utc_now
    ) -> None:
        self._settings = settings
        self._runs = runs
        self._watch = watch
        self._now = now
        self._store = ScheduleStore(settings.data_dir)
        self._changed = asyncio.Event()
        self._work = Background()
        self._closing = False

    def start(self) -> None:
        self._work.start(self._go_on(), "schedules")

    async def close(self) -> None:
        """Start nothing more. Runs that go on are not the keeper's."""
        self._closing = True
        await self._work.end()
        self._store.close()

    # --- what the API asks ---

    def all(self) -> list[Schedule]:
        """By name."""
        return self._store.all()

    def get(self, name: str) -> Schedule:
        """One. Raises NotFound."""
        return self._store.get(name)

    def create(self, request: ScheduleRequest, caller: Caller) -> Schedule:
        """A new schedule.

        Raises:
            Conflict: there is one of that name.
            TooMany: there are as many as the settings allow.
            Invalid, NotAllowed: what it would run is wrong, or its cron is.
        """
        if self._store.has(request.name):
            raise Conflict(f"a schedule is called {request.name!r} already: change it with PUT")
        limit = self._settings.limits.schedules
        if len(self._store.all()) >= limit:
            raise errors.TooMany(f"there are {limit} schedules, as many as this server keeps")
        now = self._now()
        self._check(request)
        made = Schedule(
            request=request,
            created_by=caller.name,
            created_at=now,
            next_at=self._next(request, now),
        )
        return self._stored(made)

    def change(self, name: str, request: ScheduleRequest) -> Schedule:
        """Put another request in the place of a schedule's own; what became of it is kept."""
        before = self._store.get(name)
        if request.name != name:
            raise Invalid(f"the body names {request.name!r} and the path {name!r}: a schedule "
                          f"keeps its name")  # fmt: skip
        self._check(request)
        after = before.model_copy(
            update={"request": request, "next_at": self._next(request, self._now())}
        )
        return self._stored(after)

    def delete(self, name: str) -> None:
        """Remove one; its runs stay. Raises NotFound."""
        self._store.delete(name)
        self._changed.set()

    def _check(self, request: ScheduleRequest) -> None:
        """Refuse now what would be refused at three in the morning."""
        if request.run.dry_run:
            raise Invalid("a schedule with `dry_run` would never run anything: leave it out")
        self._next(request, self._now())
        self._runs.preview(request.run)

    def _next(self, request: ScheduleRequest, now: datetime) -> datetime | None:
        after = next_after(request.cron, now)
        return after if request.enabled else None

    def _stored(self, schedule: Schedule) -> Schedule:
        self._store.put(schedule)
        self._changed.set()
        return schedule

    # --- the clock ---

    async def tick(self) -> list[str]:
        """Start what is due now. Returns the runs that were made."""
        now = self._now()
        self._follow_clock(now)
        due = [one for one in self._store.all() if one.next_at is not None and one.next_at <= now]
        made: list[str] = []
        for schedule in due:
            planned = moved(schedule, next_at=self._next(schedule.request, now))
            self._store.put(planned)
            after = await self._start(planned, now)
            if self._store.has(schedule.request.name):
                self._store.put(after)
            if after.last_run != schedule.last_run and after.last_run is not None:
                made.append(after.last_run)
            await self._prune(schedule.request)
        return made

    def _follow_clock(self, now: datetime) -> None:
        """A clock that was days ahead and was set right must not keep a schedule waiting for it.

        After a smaller step back the times that were served already are not served again.
        """
        for one in self._store.all():
            if one.next_at is None or one.last_at is None or one.last_at - now < BACK:
                continue
            planned = self._next(one.request, now)
            if planned is not None and planned < one.next_at:
                _LOG.warning("schedule %s: the clock went back, so it is planned anew",
                             one.request.name)  # fmt: skip
                self._store.put(moved(one, next_at=planned))

    async def _start(self, schedule: Schedule, now: datetime) -> Schedule:
        """Make one run of a schedule, as its policy says; what became of it is in the answer."""
        request = schedule.request
        caller = Caller(f"schedule {request.name}", "operator")
        try:
            going = [run for run in self._of(request.name) if run.state != "ended"]
            if going and request.concurrency == "forbid":
                return moved(schedule, last_error=f"left out: run {going[0].id} still goes on")
            if request.concurrency == "replace":
                for run in going:
                    with suppress(Conflict):  # it has ended meanwhile
                        await self._runs.stop(run.id, caller)
            by = schedule.created_by
            run = self._runs.submit(request.run, Trigger(KIND, by, request.name))
        except ServiceError as error:
            return moved(schedule, last_at=now, last_error=f"{error.title}: {error.detail}")
        self._watch(run.id, list(request.run.webhooks))
        return moved(schedule, last_run=run.id, last_at=now, last_error=None)

    async def _prune(self, request: ScheduleRequest) -> None:
        """Remove ended runs of a schedule beyond those that it keeps."""
        caller = Caller(f"schedule {request.name}", "admin")
        ended = [run for run in self._of(request.name) if run.state == "ended"]
        for run in ended[request.keep :]:
            with suppress(ServiceError):
                await self._runs.delete(run.id, caller)

    def _of(self, name: str) -> list[Run]:
        """The runs of a schedule, the newest first."""
        found: list[Run] = []
        cursor: str | None = None
        for _ in range(PAGES_MAX):
            page = self._runs.find(RunFilter(trigger=KIND), cursor, PAGE)
            found += [run for run in page.runs if run.schedule == name]
            cursor = page.next
            if cursor is None:
                break
        return found

    async def _go_on(self) -> None:
        trouble = ""
        while not self._closing:
            try:
                await self.tick()
                trouble, left_s = "", self._left_s()
            except Unavailable as error:  # a full disk stays full for a while: it is said once
                if not trouble:
                    _LOG.error("schedules wait: %s", error)
                trouble, left_s = error.detail, AGAIN_S
            except Exception:  # noqa: BLE001 - it must go on, and the log tells
                _LOG.exception("schedules could not be looked after; trying again")
                left_s = AGAIN_S
            await self._rest(left_s)

    def _left_s(self) -> float:
        """Seconds until the next time that one is due."""
        times = [one.next_at for one in self._store.all() if one.next_at is not None]
        return (min(times) - self._now()).total_seconds() if times else SLEEP_MAX_S

    async def _rest(self, left_s: float) -> None:
        """So long, or until a schedule changes."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.05, min(left_s, SLEEP_MAX_S))):
                await self._changed.wait()
        self._changed.clear()
