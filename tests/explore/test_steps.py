"""Which steps a history has that a test can force, and which histories have none."""

from __future__ import annotations

import pytest

from chaos import event as e
from chaos.explore.steps import (
    Aborted,
    Begins,
    Cancelled,
    Ends,
    Enqueued,
    Inexpressible,
    Requeued,
    Step,
    Swept,
    steps_of,
)
from chaos.history import History

WORKER = "stock@0.26.3/worker-1.1"
OTHER = "stock@0.26.3/worker-2.1"
PRODUCER = "stock@0.26.3/producer-1.1"
JOB = "key-1"


def attempt(number: int, worker: str = WORKER) -> str:
    return f"{worker}#{number}"


def called(
    op: str, call: int, *, parent: int = 0, detail: str = "", outcome: str = "ok"
) -> list[e.Event]:
    """A call of the producer's, and its return."""
    job = "" if op == "sweep" else JOB
    return [
        e.CallInvoked(host=PRODUCER, op=op, call=call, parent=parent, job=job, detail=detail),
        e.CallReturned(host=PRODUCER, op=op, call=call, job=job, outcome=outcome),
    ]


def enqueued(call: int = 1, outcome: str = "ok") -> list[e.Event]:
    return called("enqueue", call, outcome=outcome)


def swept(call: int = 10, then: str = "retry") -> list[e.Event]:
    """A sweep that aborts the job and puts it back."""
    sweep, *_ = called("sweep", call)
    return [
        sweep,
        *called("abort", call + 1, parent=call, detail="swept"),
        *called(then, call + 2, parent=call, detail="swept"),
    ]


def begins(
    number: int, *, over: int = 0, worker: str = WORKER, thread: bool = False
) -> list[e.Event]:
    """An attempt from the queue to its function, in the place of another one's context or not."""
    mine = attempt(number, worker)
    pushed = (
        [e.SlotOverwritten(host=worker, job=JOB, attempt=attempt(over), by=mine)] if over else []
    )
    return [
        e.AttemptBegan(host=worker, job=JOB, attempt=mine),
        e.SlotSet(host=worker, job=JOB, attempt=mine),
        *pushed,
        e.BodyBegan(host=worker, job=JOB, attempt=mine, thread=thread),
    ]


def function_ends(number: int, outcome: str = "ok") -> list[e.Event]:
    return [e.BodyEnded(host=WORKER, job=JOB, attempt=attempt(number), outcome=outcome)]


def ends(number: int, *, removes: int = 0, outcome: str = "ok") -> list[e.Event]:
    """An attempt's function ends, and its process() after it."""
    mine = attempt(number)
    removed = e.SlotRemoved(host=WORKER, job=JOB, attempt=attempt(removes or number), by=mine)
    return [
        *function_ends(number, outcome),
        removed,
        e.ProcessEnded(host=WORKER, job=JOB, attempt=mine),
    ]


def cancelled(number: int, aborted: str | None = "swept") -> list[e.Event]:
    return [e.BodyCancelled(host=WORKER, job=JOB, attempt=attempt(number), aborted=aborted)]


BREAKS = e.ErrorRaised(
    host=WORKER, origin="internal", where="log", error="KeyError", job=JOB, attempt=attempt(2)
)


def steps(*parts: list[e.Event], breaks: e.Event = BREAKS) -> tuple[Step, ...]:
    """The steps of a history of these parts that ends where it breaks."""
    history = History([event for part in parts for event in part] + [breaks])
    return steps_of(history, JOB, history[-1])


def why_not(*parts: list[e.Event]) -> str:
    with pytest.raises(Inexpressible) as caught:
        steps(*parts)
    return str(caught.value)


def test_the_seed_bug_is_six_steps() -> None:
    assert steps(
        enqueued(), begins(1), swept(), begins(2, over=1), ends(1, removes=2), function_ends(2)
    ) == (
        Enqueued(),
        Begins(1),
        Swept(),
        Begins(2, pushed_out=1),
        Ends(1, removed=2),
        Ends(2),
    )  # fmt: skip


def test_other_jobs_and_refused_enqueues_are_no_steps() -> None:
    others = [
        e.CallInvoked(host=PRODUCER, op="enqueue", call=2, job="key-9"),
        e.CallReturned(host=PRODUCER, op="enqueue", call=2, job="key-9"),
        e.QueueDepth(host=PRODUCER, queued=1, active=1, incomplete=2),
    ]
    assert steps(enqueued(), others, enqueued(3, outcome="empty"), begins(1), ends(1)) == (
        Enqueued(), Begins(1), Ends(1),
    )  # fmt: skip


def test_a_sweep_that_gives_a_job_up_says_so() -> None:
    assert Swept(given_up=True) in steps(enqueued(), begins(1), swept(then="finish"))


def test_a_cancel_between_a_sweeps_abort_and_its_requeue_splits_the_sweep() -> None:
    sweep, abort, aborted, retry, retried = swept()
    assert steps(
        enqueued(), begins(1), [sweep, abort, aborted], cancelled(1), [retry, retried],
        begins(2, over=1), ends(1, removes=2, outcome="cancelled"), function_ends(2),
    ) == (
        Enqueued(),
        Begins(1),
        Aborted("swept", by_sweep=True),
        Cancelled(1),
        Requeued("swept"),
        Begins(2, pushed_out=1),
        Ends(1, outcome="cancelled", removed=2),
        Ends(2),
    )  # fmt: skip


def test_an_abort_by_somebody_is_no_sweep() -> None:
    assert steps(enqueued(), begins(1), called("abort", 5, detail="chaos abort"), cancelled(1)) == (
        Enqueued(), Begins(1), Aborted("chaos abort"), Cancelled(1),
    )  # fmt: skip


def test_what_an_attempt_calls_itself_is_part_of_its_end() -> None:
    own = [
        e.CallInvoked(host=WORKER, op="finish", call=9, job=JOB, attempt=attempt(1)),
        e.CallReturned(host=WORKER, op="finish", call=9, job=JOB, attempt=attempt(1)),
    ]
    ended, *rest = ends(1)
    assert steps(enqueued(), begins(1), [ended, *own, *rest]) == (Enqueued(), Begins(1), Ends(1))


def test_an_overwritten_context_breaks_before_its_successor_begins_and_that_is_a_step() -> None:
    history = History([*enqueued(), *begins(1), *swept(), *begins(2, over=1), *ends(1, removes=2)])
    breaks = next(one for one in history if isinstance(one, e.SlotOverwritten))
    assert steps_of(history, JOB, breaks) == (
        Enqueued(), Begins(1), Swept(), Begins(2, pushed_out=1),
    )  # fmt: skip


def test_attempts_on_two_workers_cannot_be_forced() -> None:
    assert why_not(enqueued(), begins(1), swept(), begins(2, worker=OTHER)) == (
        "its attempts run on 2 workers"
    )


def test_a_worker_that_is_stopped_meanwhile_cannot_be_forced() -> None:
    stopping: list[e.Event] = [e.HostStopping(host=WORKER)]
    assert why_not(enqueued(), begins(1), stopping) == f"{WORKER} is being stopped meanwhile"


def test_a_worker_that_is_killed_meanwhile_cannot_be_forced() -> None:
    killed: list[e.Event] = [e.HostSignalled(target=WORKER, signal="SIGKILL")]
    assert why_not(enqueued(), begins(1), killed) == (
        f"{WORKER} is stopped, paused or killed meanwhile"
    )


def test_a_function_in_a_thread_cannot_be_forced() -> None:
    assert why_not(enqueued(), begins(1, thread=True)) == "the job's function runs in a thread"


def test_a_cancel_by_a_timeout_or_a_shutdown_cannot_be_forced() -> None:
    assert why_not(enqueued(), begins(1), cancelled(1, aborted=None)) == (
        "a timeout or a shutdown cancels an attempt"
    )


def test_a_sweep_between_queue_and_function_cannot_be_forced() -> None:
    dequeued, *rest = begins(1)
    assert why_not(enqueued(), [dequeued], swept(), rest) == (
        "abort comes while an attempt is between queue and function"
    )


def test_what_happens_inside_the_end_of_an_attempt_cannot_be_forced() -> None:
    ended, removed, over = ends(1)
    assert why_not(enqueued(), begins(1), [ended], swept(), [removed, over]) == (
        "something happens between the end of attempt 1's function and the end of its process()"
    )


def test_a_job_that_never_began_has_no_steps() -> None:
    assert why_not(enqueued()) == "no attempt of the job begins before it breaks"


def test_more_than_nine_attempts_are_no_short_test() -> None:
    many = [part for n in range(1, 11) for part in (begins(n), ends(n))]
    assert why_not(enqueued(), *many) == "it takes more than 9 attempts"
