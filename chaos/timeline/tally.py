"""The tally: plain counts and times that no other part of the timeline keeps."""

from __future__ import annotations

import math

from chaos.timeline.attempts import Attempt
from chaos.timeline.calls import Call
from chaos.timeline.jobs import TERMINAL, Job

ATTEMPT_OUTCOMES = ("complete", "failed", "aborted", "retried", "raised", "killed", "unrecorded")
ENQUEUE_OUTCOMES = ("accepted", "refused", "unclear")


class Times:
    """Durations, and their percentiles by the nearest-rank method."""

    def __init__(self) -> None:
        self._times_us: list[int] = []
        self._sorted = True

    def add(self, time_us: int) -> None:
        """One more duration."""
        self._times_us.append(max(0, time_us))
        self._sorted = False

    def percentile_us(self, percent: int) -> int | None:
        """The smallest duration that `percent` of all do not exceed; None without any."""
        if not self._times_us:
            return None
        if not self._sorted:
            self._times_us.sort()  # almost sorted already: the new ones are at the end
            self._sorted = True
        rank = math.ceil(len(self._times_us) * percent / 100)
        return self._times_us[max(0, rank - 1)]


class Tally:
    """Counts of one variant.

    Attributes:
        sweeps: sweep calls begun; swept: jobs that they aborted; swept_live: those that had a live
            attempt then.
        requeued_live: jobs put into the queue while an attempt of their key ran elsewhere.
        finished: jobs by the terminal status that was first recorded for them.
    """

    def __init__(self) -> None:
        self.sweeps = 0
        self.swept = 0
        self.swept_live = 0
        self.requeued_live = 0
        self.bodies = 0
        self.jobs_run = 0
        self.retries = 0
        self.enqueues = dict.fromkeys(ENQUEUE_OUTCOMES, 0)
        self.attempts = dict.fromkeys(ATTEMPT_OUTCOMES, 0)
        self.finished = dict.fromkeys(TERMINAL, 0)
        self.wait = Times()
        self.run = Times()
        self._finished: set[tuple[str, int]] = set()

    def enqueued(self, call: Call) -> None:
        """An enqueue came back."""
        outcome = "accepted" if call.happened else "refused" if call.refused else "unclear"
        self.enqueues[outcome] += 1

    def waited(self, job: Job) -> None:
        """A job's first attempt began, and it is known when it was enqueued."""
        if job.enqueued is not None:
            self.wait.add(job.attempts[0].began.t_us - job.enqueued.invoked.t_us)

    def ran(self, attempt: Attempt) -> None:
        """A body ended."""
        if attempt.body_began is not None and attempt.body_ended is not None:
            self.run.add(attempt.body_ended.t_us - attempt.body_began.t_us)

    def recorded(self, job: Job, call: Call) -> None:
        """A finish or a retry happened."""
        if call.op == "retry":
            self.retries += 1
            return
        identity = (job.key, job.enqueue)
        if identity not in self._finished and call.invoked.status in self.finished:
            self._finished.add(identity)
            self.finished[call.invoked.status] += 1

    def attempt_ended(self, attempt: Attempt) -> None:
        """`process()` ended, or its host did."""
        self.attempts[_outcome(attempt)] += 1


def _outcome(attempt: Attempt) -> str:
    """What the attempt recorded last; otherwise how it ended."""
    if attempt.process_ended is None:
        return "killed"
    if attempt.process_ended.outcome == "raised":
        return "raised"
    last = attempt.calls[-1] if attempt.calls else None
    if last is None or not last.happened:
        return "unrecorded"
    if last.op == "retry":
        return "retried"
    return last.invoked.status if last.invoked.status in TERMINAL else "unrecorded"
