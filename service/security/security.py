"""All of the security of one service, made from its settings; the app keeps it as its state."""

from __future__ import annotations

import logging

from service.errors import TooMany
from service.ports import Caller
from service.security import exposure, folders
from service.security.audit import AuditLog
from service.security.identity import Identifier
from service.security.rates import Rate, peer_key
from service.security.sessions import Sessions
from service.settings import Settings

LOGINS_PER_MINUTE = 10
REFUSALS_PER_MINUTE = 10

logger = logging.getLogger("service.security")


class Security:
    """What the guard, the dependencies and the routers of this package share.

    Attributes:
        settings: the operator's.
        sessions: the console's.
        identifier: finds out who asks.
        audit: the log of who did what.
    """

    def __init__(self, settings: Settings) -> None:
        exposure.check_exposure(settings)
        folders.make_private(settings.data_dir)
        limits = settings.limits
        self.settings = settings
        self.sessions = Sessions(settings.data_dir)
        self.identifier = Identifier(settings, self.sessions)
        self.audit = AuditLog(settings.data_dir)
        self.exposed = not exposure.is_loopback(settings.host)
        self._requests = Rate(limits.requests_per_s, limits.requests_burst)
        self._writes = Rate(limits.writes_per_minute / 60, limits.writes_per_minute)
        self._logins = Rate(LOGINS_PER_MINUTE / 60, LOGINS_PER_MINUTE)
        self._refusals = Rate(REFUSALS_PER_MINUTE / 60, REFUSALS_PER_MINUTE)
        self._unrecorded = 0

    def check_rate(self, caller: Caller | None, peer: str, *, changes: bool) -> None:
        """Raises TooMany for a caller, or a peer without credentials, that asks too much."""
        key = f"caller {caller.name}" if caller else f"peer {peer_key(peer)}"
        wait_s = self._requests.take(key)
        what = f"{self.settings.limits.requests_per_s} requests in a second"
        if not wait_s and changes:
            wait_s = self._writes.take(key)
            what = f"{self.settings.limits.writes_per_minute} changes in a minute"
        if wait_s:
            raise TooMany(f"more than {what}: come again in {wait_s} s", retry_after_s=wait_s)

    def check_login(self, peer: str) -> None:
        """Raises TooMany for a peer that tries too many log-ins."""
        wait_s = self._logins.take(peer_key(peer))
        if wait_s:
            raise TooMany(
                f"more than {LOGINS_PER_MINUTE} log-ins in a minute from this address: come again "
                f"in {wait_s} s",
                retry_after_s=wait_s,
            )

    def refused(self, peer: str, target: str, reason: str) -> None:
        """Record credentials that were wrong, up to ten a minute and peer."""
        if self._refusals.take(peer_key(peer)):
            self._unrecorded += 1
            return
        unrecorded, self._unrecorded = self._unrecorded, 0
        more = f" ({unrecorded} refusals before it were not recorded)" if unrecorded else ""
        self.audit.record(None, "authenticate", target, "refused", reason + more)
