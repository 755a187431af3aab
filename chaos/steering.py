"""What a running soak can be told from outside, from any thread: inject one fault now, or stop.

    HTTP, a test ──► Steering.inject(Wanted) ──(the run's own loop)──► Conductor.inject
                     Steering.stop() ─────────────────────────────────► the run ends, faults heal

A fault from outside goes the way of a planned one: it is recorded, held and healed by the same
code. Its draws come from a stream of the seed that its number names, so it could be repeated; only
the moment is the caller's. Nothing here decides whether a caller may do this.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from chaos.errors import UsageError
from chaos.plan import FaultSpec


@dataclass(frozen=True, slots=True)
class Wanted:
    """One fault to inject now. `variants` are labels; none: every variant of the run."""

    fault: FaultSpec
    variants: tuple[str, ...] | None = None
    by: str = ""


class Steered(Protocol):
    """A run that can be steered; it says on which thread it wants to be called."""

    def inject(self, wanted: Wanted) -> tuple[str, ...]:
        """Begin the injection; the labels of the variants that it reaches.

        Raises:
            UsageError: it cannot be done now, or never in this run.
        """

    def stop(self) -> None:
        """End the run: faults heal, and what was recorded is judged."""


class Steering:
    """The handle of one run. Made before the run begins, and usable after it has ended.

    Attributes:
        begun: whether the run goes on, or is over; false while it is prepared.
        stopped: whether it was told to stop.
    """

    def __init__(self) -> None:
        self.begun = False
        self.stopped = False
        self._lock = threading.Lock()
        self._run: tuple[Steered, Callable[..., object]] | None = None
        self._why_not = "the run has not begun yet"

    @contextmanager
    def of(self, run: Steered, soon: Callable[..., object]) -> Iterator[None]:
        """While this is entered commands reach `run`.

        Args:
            run: what is steered.
            soon: takes a function and its arguments from any thread and calls it where `run` wants
                to be called, such as a loop's `call_soon_threadsafe`.
        """
        with self._lock:
            self._run, self.begun = (run, soon), True
        if self.stopped:
            run.stop()
        try:
            yield
        finally:
            with self._lock:
                self._run, self._why_not = None, "the run is being judged, or over"

    def stop(self) -> bool:
        """End the run; false if it does not go on: one that is yet to begin ends at once then."""
        self.stopped = True
        with self._lock:
            if self._run is None:
                return False
            run, soon = self._run
            soon(run.stop)
            return True

    def inject(self, wanted: Wanted) -> Future[tuple[str, ...]]:
        """Inject a fault; the labels of the variants that it reaches, or the UsageError."""
        answer: Future[tuple[str, ...]] = Future()
        with self._lock:
            if self._run is None:
                answer.set_exception(UsageError(f"nothing can be injected: {self._why_not}"))
                return answer
            run, soon = self._run
            soon(_answer, answer, lambda: run.inject(wanted))
            return answer


def _answer(answer: Future[tuple[str, ...]], ask: Callable[[], tuple[str, ...]]) -> None:
    try:
        answer.set_result(ask())
    except UsageError as error:
        answer.set_exception(error)
