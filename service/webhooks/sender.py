"""Sends what is due, and decides whether an attempt was the last.

    due ──► POST, signed ──► 2xx: delivered
                         └─► else: again after 5 s, 30 s, 2 min, 10 min, 30 min, 2 h; then failed

No redirect is followed: the address is the one that the settings name, and no answer can send us to
another. Nothing of an answer is read but its status. The environment's proxies are not used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Literal

import httpx

from service.api.shapes import Delivery
from service.errors import Unavailable
from service.settings import AllowedWebhook
from service.webhooks import signing
from service.webhooks.store import DeliveryStore

TIMEOUT_S = 10.0
AT_ONCE = 4
BACKOFF_S = (5, 30, 120, 600, 1_800, 7_200)
ERROR_MAX = 300
Now = Callable[[], datetime]
Ended = Literal["pending", "delivered", "failed"]


class Sender:
    """Sends to the addresses of the settings.

    Args:
        store: where deliveries wait.
        webhooks: addresses and keys by name.
        now: the time, UTC.
        client: an open HTTP client; it is closed with this sender.
    """

    def __init__(
        self,
        store: DeliveryStore,
        webhooks: Mapping[str, AllowedWebhook],
        now: Now,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self._store = store
        self._webhooks = webhooks
        self._unstored: dict[str, Callable[[], None]] = {}
        self._now = now
        self._client = client or httpx.AsyncClient(
            follow_redirects=False, timeout=TIMEOUT_S, trust_env=False
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def send_due(self) -> int:
        """Send what is due now, a few at once. Returns how many attempts were made.

        Nothing is sent while the end of an earlier attempt cannot be stored: it would be sent again
        and again.

        Raises:
            Unavailable: the database cannot be used now.
        """
        for delivery, end in list(self._unstored.items()):
            end()
            del self._unstored[delivery]
        due = self._store.due(self._now(), AT_ONCE)
        await asyncio.gather(*(self._attempt(delivery, body) for delivery, body in due))
        return len(due)

    async def _attempt(self, delivery: Delivery, body: bytes) -> None:
        target = self._webhooks.get(delivery.webhook)
        if target is None:
            gone = f"the settings have no webhook {delivery.webhook!r} any more"
            self._over(delivery, None, gone, last=True)
            return
        status, error = await self._post(delivery, target, body)
        self._over(delivery, status, error, last=delivery.attempts >= len(BACKOFF_S))

    async def _post(
        self, delivery: Delivery, target: AllowedWebhook, body: bytes
    ) -> tuple[int | None, str | None]:
        """The status that came back, and what is wrong, if anything is."""
        key = target.secret.get_secret_value().encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "saq-chaos",
            signing.EVENT: "run.ended",
            signing.DELIVERY: delivery.id,
            signing.SIGNATURE: signing.sign(key, body, int(self._now().timestamp())),
        }
        try:
            async with asyncio.timeout(TIMEOUT_S):
                request = self._client.stream("POST", target.url, content=body, headers=headers)
                async with request as answer:
                    status = answer.status_code
        except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError) as error:
            return None, f"{type(error).__name__}: {error}"[:ERROR_MAX].rstrip(": ")
        if answer.is_redirect:
            return status, f"it answered {status}, a redirect: those are not followed"
        return status, None if answer.is_success else f"it answered {status}"

    def _over(self, delivery: Delivery, status: int | None, error: str | None, last: bool) -> None:
        now = self._now()
        again = None
        if error is None:
            state: Ended = "delivered"
        elif last:
            state = "failed"
        else:
            state, again = "pending", now + timedelta(seconds=BACKOFF_S[delivery.attempts])
        store = partial(
            self._store.tried, delivery.id, state, now, status=status, error=error, next_at=again
        )
        try:
            store()
        except Unavailable:
            self._unstored[delivery.id] = store
            raise
