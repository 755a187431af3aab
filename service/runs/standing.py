"""The standing soak: one plan again and again, each time with a fresh seed, while nobody waits.

A run that the API triggers does not end a standing one that goes on, for hours of soak would be
thrown away each time: it is next, before the following standing run. Whoever cannot wait stops the
standing run. A standing run that fails by itself is tried again after longer and longer pauses.
"""

from __future__ import annotations

import secrets

from chaos.clock import SECOND_US, Clock
from service.models import Run, RunRequest
from service.settings import Standing

PAUSE_MAX_US = 600 * SECOND_US
SEED_BITS = 48
BY = "standing soak"


class StandingSoak:
    """When the next standing run is due, and what it asks for."""

    def __init__(self, settings: Standing, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._due_us = clock.now_us()
        self._failures = 0

    def due_in_us(self) -> int | None:
        """How long until the next one; 0 if it is due, none if there is no standing soak."""
        if not self._settings.plan:
            return None
        return max(0, self._due_us - self._clock.now_us())

    def request(self) -> RunRequest:
        """What the next run asks for; its seed is new."""
        return RunRequest(
            plan=self._settings.plan,
            variants=list(self._settings.variants) or None,
            gate=self._settings.gate or None,
            baseline=self._settings.baseline or None,
            seed=secrets.randbits(SEED_BITS),
        )

    def ended(self, run: Run) -> None:
        """A standing run has ended: the pause begins."""
        self.failed() if run.outcome == "error" else self._pause(0)

    def failed(self) -> None:
        """It ended as an error, or could not be asked for: the pause is longer each time."""
        self._pause(self._failures + 1)

    def _pause(self, failures: int) -> None:
        self._failures = min(failures, 20)
        pause_us = (self._settings.pause_s * SECOND_US) << self._failures
        self._due_us = self._clock.now_us() + min(
            pause_us, max(PAUSE_MAX_US, self._settings.pause_s * SECOND_US)
        )
