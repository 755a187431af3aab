"""A literal history for each kind of finding, in the small language of `tests.judge.histories`."""

from __future__ import annotations

from collections.abc import Callable

from chaos import event as e
from chaos.checkers import by_name
from chaos.reports import story
from chaos.reports.story import Story as Told
from chaos.verdict import Finding
from tests.judge.histories import Run, Story, Worker, plan

Case = Callable[[], Story]


def finding(promise: str, kind: str, history: Story) -> Finding:
    """The first finding of this kind that the promise's checker makes of a history."""
    found = by_name(promise).check(plan(), history.timeline()).findings
    return next(one for one in found if one.kind == kind)


def told(promise: str, kind: str, history: Story) -> Told:
    """The story of that finding."""
    return story.of(history.history(), finding(promise, kind, history), promise=promise)


def started(history: Story, worker: Worker, at: float = 10) -> Run:
    """One job is enqueued, and an attempt of it runs from `at` on."""
    history.enqueued("k", at=at - 5)
    run = worker.begins("k", at=at)
    run.runs(at=at + 1)
    return run


def swept(history: Story, at: float, wait: float = 20, host: str = "") -> None:
    """The producer's sweep aborts the job and puts it back `wait` later."""
    host = host or history.producer
    sweep = history.call("sweep", "", at - 1, host=host, until=at + wait + 2)
    history.call("abort", "k", at, host=host, parent=sweep, enqueue=1, detail="swept")
    history.call("retry", "k", at + wait, host=host, parent=sweep, enqueue=1, detail="swept")


def key_error() -> Story:
    """The bug that started it all: two attempts, one slot, and the first one's clean-up."""
    history = Story()
    worker = history.worker(1)
    first = started(history, worker)
    swept(history, at=500)
    second = worker.begins("k", at=525, tries=1)
    second.registers(at=526)
    first.overwritten(at=526, by=second)
    second.starts(at=526)
    first.cancelled(at=700, aborted="swept")
    first.body_ends(at=700, outcome="cancelled")
    second.unregisters(at=701, by=first)
    first.ends(at=701)
    second.body_ends(at=1500)
    second.tell(e.SlotMissed, 1500)
    second.raises(
        at=1501, error="KeyError", message="Job k", line="worker.py:374 process", where="process"
    )
    second.puts_back(at=1502, why="KeyError")
    second.ends(at=1504)
    return history


def upkeep() -> Story:
    """An upkeep task ends with an error of saq's own: no job has to do with it."""
    history = Story()
    worker = history.worker(1)
    started(history, worker)
    history.tell(
        e.ErrorRaised, 300, worker.name, origin="internal", where="sweep", error="TypeError",
        message="no record", line="queue/redis.py:120 sweep",
    )  # fmt: skip
    history.tell(e.UpkeepEnded, 301, worker.name, task="sweep", error="TypeError: no record")
    return history


def unknown_function() -> Story:
    """A job whose function the worker does not know."""
    history = Story()
    worker = history.worker(1)
    history.enqueued("k", at=5)
    run = worker.begins("k", at=10)
    run.raises(at=11, error="KeyError", origin="unknown-function", where="process")
    run.ends(at=12, outcome="raised", error="KeyError: 'f'")
    return history


def outlived() -> Story:
    """A thread that runs on after its attempt is over."""
    history = Story()
    worker = history.worker(1)
    history.enqueued("k", at=5)
    run = worker.begins("k", at=10)
    run.registers(at=11)
    run.starts(at=11, thread=True)
    run.raises(at=400, error="TimeoutError", origin="timeout", where="process")
    run.puts_back(at=401, why="TimeoutError")
    run.unregisters(at=403)
    run.ends(at=403)
    run.body_ends(at=900)
    return history


def leaked() -> Story:
    """A context that is still there when its attempt is over."""
    history = Story()
    worker = history.worker(1)
    run = started(history, worker)
    run.body_ends(at=50)
    run.finishes(at=50)
    run.ends(at=52)
    history.tell(e.HostStopping, 900, worker.name)
    return history


def late() -> Story:
    """An abort that takes too long to be delivered."""
    history = Story()
    worker = history.worker(1, abort_ms=200)
    run = started(history, worker)
    history.aborted("k", at=100)
    run.is_aborted(at=2000)
    return history


def ignored() -> Story:
    """An abort that is delivered, and the job is recorded as if nothing had been."""
    history = Story()
    worker = history.worker(1)
    run = started(history, worker)
    history.aborted("k", at=100)
    run.cancelled(at=200, aborted="aborted")
    run.body_ends(at=200)
    run.finishes(at=201, status="complete")
    run.unregisters(at=203)
    run.ends(at=203)
    return history


def lost_abort() -> Story:
    """An abort that an update overwrites: it never arrives."""
    history = Story()
    worker = history.worker(1)
    run = started(history, worker)
    history.aborted("k", at=1000)
    run.call("update", at=1001)
    run.completes(at=3000)
    return history


def misdirected() -> Story:
    """A late finish of an attempt that was swept aborts the one that came after it."""
    history = Story()
    owner, other = history.worker(1), history.worker(2)
    stale = started(history, owner)
    swept(history, at=1000, wait=500)
    stale.cancelled(at=1100, aborted="swept")
    fresh = other.begins("k", at=1510, tries=1)
    fresh.runs(at=1511)
    stale.body_ends(at=2000)
    stale.unregisters(at=2001)
    stale.ends(at=2001)
    fresh.is_aborted(at=2100, why="swept")
    return history


def stray() -> Story:
    """A cancel that nobody asked for."""
    history = Story()
    run = started(history, history.worker(1))
    run.cancelled(at=300)
    run.body_ends(at=300, outcome="cancelled")
    run.puts_back(at=301, why="cancelled")
    run.unregisters(at=303)
    run.ends(at=303)
    return history


def lost_job() -> Story:
    """A scheduled job is aborted; the record lies in no list, and a later enqueue takes it."""
    history = Story()
    history.worker(1)
    history.enqueued("k", at=10, enqueue=1)
    history.aborted("k", at=20, enqueue=1)
    history.enqueued("k", at=9000, enqueue=2)
    history.found("k", at=12_000, status="queued", enqueue=2, queued=1, score=0.0)
    return history


def stuck() -> Story:
    """A worker is killed, and the sweeper that found its job stops before it decides."""
    history = Story()
    dead, sweeper = history.worker(1), history.worker(2)
    started(history, dead)
    history.killed(dead, at=100, gone=101)
    sweep = sweeper.sweeps(at=500, until=None)
    sweeper.call("abort", "k", at=501, parent=sweep, detail="swept")
    sweeper.stops(at=600)
    sweeper.ended(at=700)
    history.found("k", at=9000, status="aborting", enqueue=1)
    return history


def refused() -> Story:
    """An enqueue is refused while the queue holds nothing of that key."""
    history = Story()
    history.worker(1)
    history.refused("k", at=100)
    history.empty(at=9000)
    return history


def unknown_job() -> Story:
    """A worker runs what nobody enqueued."""
    history = Story()
    run = history.worker(1).begins("k", at=10)
    run.runs(at=11)
    run.completes(at=50)
    return history


def wrong_kwargs() -> Story:
    """A worker runs a job with other arguments than it was enqueued with."""
    history = Story()
    history.enqueued("k", at=5, does="f\x1fd")
    run = history.worker(1).begins("k", at=10, digest="other")
    run.runs(at=11)
    run.completes(at=50)
    return history


def twice_across_hosts() -> Story:
    """A healthy job is swept and runs on another worker, too."""
    history = Story()
    first_worker, second_worker = history.worker(1), history.worker(2)
    first = started(history, first_worker)
    swept(history, at=500)
    second = second_worker.begins("k", at=530, tries=1)
    second.runs(at=531)
    first.completes(at=900)
    second.completes(at=1200)
    return history


def ran_again() -> Story:
    """A sweep does not look at the result of its wait."""
    history = Story()
    owner, sweeper = history.worker(1), history.worker(2)
    run = started(history, owner)
    swept(history, at=12, wait=300, host=sweeper.name)
    run.completes(at=60)
    again = owner.begins("k", at=330, tries=1)
    again.runs(at=331)
    again.completes(at=380)
    return history


def overwritten_end() -> Story:
    """A job that is COMPLETE is recorded as ABORTED."""
    history = Story()
    run = started(history, history.worker(1))
    run.completes(at=60)
    history.call("finish", "k", 500, enqueue=1, status="aborted")
    return history


def too_many() -> Story:
    """A job is run more often than its retries allow."""
    history = Story()
    worker = history.worker(1)
    history.enqueued("k", at=5)
    for tries in range(3):
        run = worker.begins("k", at=10 + 100 * tries, tries=tries, retries=2)
        run.runs(at=11 + 100 * tries)
        run.body_ends(at=50 + 100 * tries, outcome="raised")
        run.puts_back(at=50 + 100 * tries, why="ValueError")
        run.unregisters(at=52 + 100 * tries)
        run.ends(at=52 + 100 * tries)
    return history


CASES = (
    ("no-internal-errors", "KeyError", key_error),
    ("no-internal-errors", "TypeError", upkeep),
    ("no-internal-errors", "unknown-function", unknown_function),
    ("no-orphaned-contexts", "overwritten", key_error),
    ("no-orphaned-contexts", "foreign-pop", key_error),
    ("no-orphaned-contexts", "outlived-by-body", outlived),
    ("no-orphaned-contexts", "leaked", leaked),
    ("aborts-honoured", "late", late),
    ("aborts-honoured", "ignored", ignored),
    ("aborts-honoured", "lost", lost_abort),
    ("aborts-honoured", "misdirected", misdirected),
    ("aborts-honoured", "stray", stray),
    ("no-lost-jobs", "lost", lost_job),
    ("no-lost-jobs", "stuck", stuck),
    ("no-lost-jobs", "refused", refused),
    ("no-phantom-runs", "unknown-job", unknown_job),
    ("no-phantom-runs", "wrong-kwargs", wrong_kwargs),
    ("one-at-a-time", "same-host", key_error),
    ("one-at-a-time", "across-hosts", twice_across_hosts),
    ("terminal-is-final", "ran-again", ran_again),
    ("terminal-is-final", "requeued", ran_again),
    ("terminal-is-final", "overwritten", overwritten_end),
    ("bounded-attempts", "too-many", too_many),
)
