"""The tally: plain counts and times that no other part of the timeline keeps."""

from __future__ import annotations

import bisect
import math
from typing import Literal, NamedTuple

from chaos.clock import MILLISECOND_US
from chaos.timeline.attempts import Attempt
from chaos.timeline.calls import Call
from chaos.timeline.jobs import TERMINAL, Job

ATTEMPT_OUTCOMES = ("complete", "failed", "aborted", "retried", "raised", "killed", "unrecorded")
ENQUEUE_OUTCOMES = ("accepted", "refused", "unclear")


# Upper bounds of the histogram's buckets: a quick job runs for milliseconds, a job that waits for
# the next sweep or for a server to come back waits for minutes.
BUCKETS_US = tuple(
    bound_ms * MILLISECOND_US
    for bound_ms in (
        5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000
    )
)  # fmt: skip

State = Literal["queued", "active"]


class Example(NamedTuple):
    """One duration that fell into a bucket, and the job it is about."""

    job: str
    time_us: int


class Times:
    """Durations: their percentiles by the nearest-rank method, and how many fell into each bucket.

    Attributes:
        sum_us: all durations together.
        buckets: how many fell into each bucket of `BUCKETS_US`; the last one: into none of them.
        examples: the latest duration of each bucket.
    """

    def __init__(self) -> None:
        self.sum_us = 0
        self.buckets = [0] * (len(BUCKETS_US) + 1)
        self.examples: list[Example | None] = [None] * len(self.buckets)
        self._times_us: list[int] = []
        self._sorted = True

    def add(self, time_us: int, job: str = "") -> None:
        """One more duration, of this job."""
        time_us = max(0, time_us)
        self._times_us.append(time_us)
        self._sorted = False
        self.sum_us += time_us
        bucket = bisect.bisect_left(BUCKETS_US, time_us)
        self.buckets[bucket] += 1
        self.examples[bucket] = Example(job, time_us)

    def percentile_us(self, percent: int) -> int | None:
        """The smallest duration that `percent` of all do not exceed; None without any."""
        if not self._times_us:
            return None
        if not self._sorted:
            self._times_us.sort()  # almost sorted already: the new ones are at the end
            self._sorted = True
        rank = math.ceil(len(self._times_us) * percent / 100)
        return self._times_us[max(0, rank - 1)]


class OpenJobs:
    """Unfinished jobs by what they wait for, as the queue calls tell it.

    A job is queued from its accepted enqueue, or a retry, until an attempt takes it; scheduled ones
    are among them. It is active until that attempt finishes it or puts it back: also when its
    worker died, until a sweep finds it, as in saq's own list. Unlike `QueueDepth`, which is what
    the server says when somebody asks it, this is known at every moment.
    """

    def __init__(self) -> None:
        self._states: dict[tuple[str, int], State] = {}
        self._counts: dict[State, int] = {"queued": 0, "active": 0}

    def count(self, state: State) -> int:
        """How many unfinished jobs are in this state now."""
        return self._counts[state]

    def holds(self, job: Job) -> bool:
        """Whether the job is unfinished."""
        return (job.key, job.enqueue) in self._states

    def put(self, job: Job, state: State) -> None:
        """The job is in this state now."""
        self.take_out(job)
        self._states[job.key, job.enqueue] = state
        self._counts[state] += 1

    def put_if_new(self, job: Job) -> None:
        """Its enqueue came back: it is queued, unless an attempt was quicker."""
        if not self.holds(job):
            self.put(job, "queued")

    def take_out(self, job: Job) -> None:
        """The job is finished."""
        state = self._states.pop((job.key, job.enqueue), None)
        if state is not None:
            self._counts[state] -= 1


class Tally:
    """Counts of one variant.

    Attributes:
        sweeps: sweep calls begun; swept: jobs that they aborted; swept_live: those that had a live
            attempt then.
        requeued_live: jobs put into the queue while an attempt of their key ran elsewhere.
        finished: jobs by the terminal status that was first recorded for them; last_finished: the
            latest job of each.
        open: the unfinished jobs.
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
        self.last_finished = dict.fromkeys(TERMINAL, "")
        self.open = OpenJobs()
        self.wait = Times()
        self.run = Times()
        self._finished: set[tuple[str, int]] = set()

    def enqueued(self, call: Call, job: Job | None) -> None:
        """An enqueue came back, with a job if it was accepted."""
        outcome = "accepted" if call.happened else "refused" if call.refused else "unclear"
        self.enqueues[outcome] += 1
        if job is not None and (job.key, job.enqueue) not in self._finished:
            self.open.put_if_new(job)

    def began(self, job: Job) -> None:
        """An attempt of the job began; one of a job that is finished takes nothing."""
        if self.open.holds(job) or (job.key, job.enqueue) not in self._finished:
            self.open.put(job, "active")

    def waited(self, job: Job) -> None:
        """A job's first attempt began, and it is known when it was enqueued."""
        if job.enqueued is not None:
            wait_us = job.attempts[0].began.t_us - job.enqueued.invoked.t_us
            self.wait.add(wait_us, job.key)

    def ran(self, attempt: Attempt) -> None:
        """A body ended."""
        if attempt.body_began is not None and attempt.body_ended is not None:
            self.run.add(attempt.body_ended.t_us - attempt.body_began.t_us, attempt.job)

    def recorded(self, job: Job, call: Call) -> None:
        """A finish or a retry happened."""
        if call.op == "retry":
            self.retries += 1
            self.open.put(job, "queued")
            return
        identity, status = (job.key, job.enqueue), call.invoked.status
        if status not in self.finished:
            return
        self.open.take_out(job)
        if identity not in self._finished:
            self._finished.add(identity)
            self.finished[status] += 1
            self.last_finished[status] = job.key

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
