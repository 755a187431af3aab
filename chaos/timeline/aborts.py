"""Aborts: each acknowledged abort of a key × each attempt of it that was running then.

    honoured   the cancel came in time and the attempt was recorded ABORTED
    late       the cancel came after the bound
    ignored    the cancel came in time, and the attempt was not recorded so
    lost       the bound passed and no cancel for an abort ever came
    moot       nothing to judge: the attempt ended by itself (its timeout included) or with its host
               within the bound, was already being cancelled at the acknowledgement, or the server
               was restarted in between
    pending    not over yet

The bound is 2 × the abort interval of the attempt's host plus the slack, from the acknowledgement:
saq looks each interval, at jobs that have run for longer than one. While a fault froze that host or
the server within the bound, it is counted anew from the end of that fault. A cancel for a shutdown
counts as delivered, so an aborted attempt that a stopping worker re-queues is `ignored`.

A cancel never arrives in a pool thread; there it counts as delivered when the worker asks for it.
Where even that could not be seen, a thread's attempt that was recorded ABORTED is `honoured`.

Two more outcomes are not about a pair but about a cancel: `misdirected`, for an abort that was
acknowledged before the cancelled attempt began; and `stray`, for no abort, timeout or shutdown of
the attempt's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from chaos.event import BodyCancelled, Event
from chaos.timeline.attempts import Attempt
from chaos.timeline.calls import Call
from chaos.timeline.hosts import Faults, Host, Hosts

OUTCOMES = ("honoured", "late", "misdirected", "ignored", "lost", "stray", "moot")
VIOLATIONS = ("late", "misdirected", "ignored", "lost", "stray")
JUDGED = ("honoured", "late", "ignored", "lost")
_AFTERMATH_US = 5_000_000  # a worker's finish_abort comes after its attempt has ended


class Pair(msgspec.Struct, kw_only=True, eq=False):
    """One acknowledged abort and one attempt that was running at the acknowledgement."""

    abort: Call
    attempt: Attempt
    ack_us: int
    outcome: str = "pending"

    @property
    def by_sweep(self) -> bool:
        return self.abort.inside("sweep") is not None


class WrongCancel(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A cancel that its attempt should not have had: `misdirected` or `stray`."""

    outcome: str
    attempt: Attempt
    cancel: BodyCancelled
    abort: Call | None = None


class Aborts:
    """The aborts of one variant, and what became of them.

    Args:
        finish_aborts: the `finish_abort` calls of a host that happened, for one key, in order.
    """

    def __init__(
        self,
        slack_us: int,
        hosts: Hosts,
        faults: Faults,
        finish_aborts: Callable[[str, str], list[Call]],
    ) -> None:
        self.acknowledged: list[Call] = []
        self._slack_us = slack_us
        self._hosts = hosts
        self._faults = faults
        self._finish_aborts = finish_aborts
        self._by_key: dict[str, list[Call]] = {}
        self._pending: list[Pair] = []
        self._settled: list[Pair] = []
        self._cancels: list[tuple[Attempt, BodyCancelled]] = []
        self._wrong: list[WrongCancel] = []

    def invoked(self, abort: Call) -> None:
        """An abort of a key began."""
        self._by_key.setdefault(abort.job, []).append(abort)

    def returned(self, abort: Call, alive: list[Attempt]) -> None:
        """It came back: if acknowledged, it is owed to every attempt that was running by then."""
        returned = abort.returned
        if returned is None or not abort.happened:
            return
        self.acknowledged.append(abort)
        for attempt in alive:
            body = attempt.body_began
            slack_us = 0 if attempt.host == abort.host else self._slack_us
            if attempt.body_alive and body is not None and body.t_us + slack_us <= returned.t_us:
                self._pending.append(Pair(abort=abort, attempt=attempt, ack_us=returned.t_us))

    def cancelled(self, attempt: Attempt, cancel: BodyCancelled) -> None:
        """A cancel reached the body of an attempt."""
        attempt.cancels.append(cancel)
        self._cancels.append((attempt, cancel))

    def pairs(self, now_us: int) -> list[Pair]:
        """Every pair with its outcome up to `now_us`, in the order of the acknowledgements."""
        self._settle(now_us)
        pairs = self._settled + self._pending
        return sorted(pairs, key=lambda pair: (pair.ack_us, pair.abort.invoked.n))

    def wrong_cancels(self, now_us: int) -> list[WrongCancel]:
        """The cancels that were misdirected or stray, of attempts that have ended, in order."""
        self._settle(now_us)
        return sorted(self._wrong, key=lambda one: (one.cancel.t_us, one.cancel.n))

    def counts(self, now_us: int) -> dict[str, int]:
        """How many aborts ended in each outcome; all outcomes, also at 0."""
        self._settle(now_us)
        counts = dict.fromkeys(OUTCOMES, 0)
        for pair in (*self._settled, *self._pending):
            if pair.outcome != "pending":
                counts[pair.outcome] += 1
        for wrong in self._wrong:
            counts[wrong.outcome] += 1
        return counts

    # --- one pair ---------------------------------------------------------------------------------

    def _settle(self, now_us: int) -> None:
        pending: list[Pair] = []
        for pair in self._pending:
            pair.outcome = self._classify(pair, now_us)
            over = pair.attempt.over
            final = over is not None and now_us > over.t_us + _AFTERMATH_US
            (self._settled if final else pending).append(pair)
        self._pending = pending
        waiting: list[tuple[Attempt, BodyCancelled]] = []
        for attempt, cancel in self._cancels:
            if attempt.over is None:
                waiting.append((attempt, cancel))
                continue
            wrong = self._wrong_cancel(attempt, cancel)
            if wrong is not None:
                self._wrong.append(wrong)
        self._cancels = waiting

    def _classify(self, pair: Pair, now_us: int) -> str:
        attempt, bound_us = pair.attempt, self._bound_us(pair)
        cancels = attempt.cancels
        if bound_us is None or (cancels and _came_before(cancels[0], pair)):
            return "moot"
        if cancels:
            return self._delivered(attempt, cancels[0], bound_us)
        over = attempt.body_over
        in_a_thread = attempt.body_began is not None and attempt.body_began.thread
        if in_a_thread and self._recorded_aborted(attempt, pair.abort.invoked.t_us):
            return "honoured"
        if over is not None:
            return "moot" if over.t_us <= bound_us else "lost"
        return "lost" if now_us > bound_us else "pending"

    def _delivered(self, attempt: Attempt, cancel: BodyCancelled, bound_us: int) -> str:
        """The outcome of a pair whose attempt was cancelled after the acknowledgement."""
        for_abort = cancel.aborted is not None
        if not for_abort and attempt.timed_out:
            return "moot" if cancel.t_us <= bound_us else "lost"
        if cancel.t_us > bound_us:
            return "late" if for_abort else "lost"
        if attempt.over is None:
            return "pending"
        if attempt.host_gone is not None and (not attempt.body_ended or not attempt.process_ended):
            return "moot"
        recorded = self._recorded_aborted(attempt, cancel.t_us)
        if recorded is None:
            return "moot"
        return "honoured" if recorded else "ignored"

    def _recorded_aborted(self, attempt: Attempt, since_us: int) -> bool | None:
        """Whether the attempt was recorded ABORTED since then; None if that is not known.

        By its own finish, or by its worker's `finish_abort` if it recorded nothing itself.
        """
        own = [call for call in attempt.calls if call.invoked.t_us >= since_us]
        if own:
            last = own[-1]
            if last.unclear:
                return None
            return last.op == "finish" and last.invoked.status == "aborted"
        finish_aborts = self._finish_aborts(attempt.host, attempt.job)
        return any(call.invoked.t_us >= since_us for call in finish_aborts)

    def _bound_us(self, pair: Pair) -> int | None:
        """By when the cancel is due; None if the pair cannot be judged."""
        host = self._hosts[pair.attempt.host]
        wait_us = 2 * host.abort_us + self._slack_us
        bound_us = pair.ack_us + wait_us
        for began, over, lost in self._standstills(host):
            begins_us = began.t_us - self._slack_us
            if begins_us > bound_us or (over is not None and over.t_us < pair.ack_us):
                continue
            if over is None or lost:
                return None
            bound_us = max(bound_us, over.t_us + wait_us)
        return bound_us

    def _standstills(self, host: Host) -> Iterator[tuple[Event, Event | None, bool]]:
        """When no abort could arrive at this host, and whether one may have been lost then."""
        for window in self._faults.freezing:
            lost = window.injected.fault == "redis_restart"
            yield window.injected, window.healed, lost
        for freeze in host.freezes:
            yield freeze.began, freeze.over, False

    # --- one cancel -------------------------------------------------------------------------------

    def _wrong_cancel(self, attempt: Attempt, cancel: BodyCancelled) -> WrongCancel | None:
        """Why the attempt should not have had this cancel, or None if it had a cause of its own."""
        if cancel is not attempt.cancels[0]:
            return None  # it was ending already
        if cancel.aborted is None:
            if attempt.timed_out or self._hosts[attempt.host].stopping_at(cancel):
                return None
            return WrongCancel(outcome="stray", attempt=attempt, cancel=cancel)
        earlier: Call | None = None
        for abort in reversed(self._by_key.get(attempt.job, [])):
            slack_us = 0 if abort.host == attempt.host else self._slack_us
            if abort.invoked.t_us > cancel.t_us + slack_us:
                continue
            returned = abort.returned
            if returned is None or returned.t_us + slack_us >= attempt.began.t_us:
                return None
            earlier = earlier or (abort if abort.happened else None)
        outcome = "stray" if earlier is None else "misdirected"
        return WrongCancel(outcome=outcome, attempt=attempt, cancel=cancel, abort=earlier)


def _came_before(cancel: BodyCancelled, pair: Pair) -> bool:
    """Whether the attempt was being cancelled already, and not for this abort."""
    if cancel.aborted is None:
        return cancel.t_us <= pair.ack_us
    return cancel.t_us < pair.abort.invoked.t_us
