"""The part that the app starts: looks for runs that have ended, and lets the sender send.

A look is two short statements, once a second while anything is waited for; the runs are asked, not
told, so that a run which ended while the service was away is found as well.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime

import httpx

from service.api.shapes import Delivery
from service.background import Background
from service.errors import NotFound, Unavailable
from service.models import Run, State
from service.ports import RunFilter, Runs
from service.settings import Settings
from service.webhooks.sender import Now, Sender
from service.webhooks.store import DeliveryStore

LOOK_S = 1.0
RUNS_MAX = 10_000
UNENDED: tuple[State, ...] = ("queued", "running")
_LOG = logging.getLogger("service.webhooks")


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Webhooks:
    """Tells the webhooks of ended runs.

    Args:
        settings: addresses, keys, the data directory.
        runs: asked whether a run has ended.
        now: the time, UTC.
        client: an HTTP client of a test's own.
    """

    def __init__(
        self,
        settings: Settings,
        runs: Runs,
        now: Now = _utc_now,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self._runs = runs
        self._now = now
        self._store = DeliveryStore(settings.data_dir)
        self._sender = Sender(self._store, settings.webhooks, now, client)
        self._work = Background()
        self._closing = False
        self._unnoted: dict[str, tuple[str, ...]] = {}
        self._trouble = ""

    def start(self) -> None:
        """Begin; whoever was killed between a run's start and `watch` is made up for."""
        for state in UNENDED:
            for run in self._runs.find(RunFilter(state=state), None, RUNS_MAX).runs:
                self.watch(run.id, self._runs.webhooks(run.id))
        self._work.start(self._go_on(), "webhooks")

    async def close(self) -> None:
        """Stop sending. What has not been delivered is sent by the next process."""
        self._closing = True
        await self._work.end()
        await self._sender.close()
        self._store.close()

    def watch(self, run: str, webhooks: Sequence[str]) -> None:
        """Tell these when the run ends. What cannot be noted now is noted later.

        The run is there already: to refuse its request now would have it made twice. Its request
        names the webhooks too, so that they are not forgotten with this process either.
        """
        if not webhooks:
            return
        try:
            self._store.watch(run, webhooks)
        except Unavailable as error:
            _LOG.error("the webhooks of run %s are noted later: %s", run, error)
            self._unnoted[run] = tuple(webhooks)

    def deliveries(self, run: str | None, limit: int) -> list[Delivery]:
        """The newest first."""
        return self._store.find(run, limit)

    async def look(self) -> int:
        """Find runs that have ended, send what is due. Returns how many attempts were made.

        Raises:
            Unavailable: the database cannot be used now.
        """
        for run, names in list(self._unnoted.items()):
            self._store.watch(run, names)
            del self._unnoted[run]
        for run in self._store.watched():
            try:
                found = self._runs.get(run)
            except NotFound:
                self._store.forget(run)
                continue
            if found.state == "ended":
                self._store.ended(run, body_of(found), self._now())
        return await self._sender.send_due()

    async def _go_on(self) -> None:
        while not self._closing:
            try:
                await self.look()
                self._trouble = ""
            except Unavailable as error:
                self._failed(error)
            except Exception:  # noqa: BLE001 - it must go on, and the log tells
                _LOG.exception("webhooks could not be looked after; trying again")
            await asyncio.sleep(LOOK_S)

    def _failed(self, error: Unavailable) -> None:
        """Say it once: a full disk stays full for a while."""
        if not self._trouble:
            _LOG.error("webhooks are told later: %s", error)
        self._trouble = error.detail


def body_of(run: Run) -> bytes:
    """What is told: the run as the API shows it, with its verdict in short."""
    said = {"event": "run.ended", "run": run.model_dump(mode="json")}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()
