"""Wraps a queue's calls on the instance: each becomes an invoked and a returned event.

`dequeue` is the exception: a job that it returns inside `process()` begins an attempt, and only a
call that raises is recorded as a call. An enqueue is recorded as invoked once saq has made the job
(it has its key and its stamp then) and before Redis hears of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .digest import arriving
from .events import Kind, Op, Outcome
from .failures import is_end
from .joined import Join, settle
from .state import (
    ATTEMPT,
    CALL,
    SEPARATOR,
    UPKEEP,
    Call,
    Probe,
    outcome_of,
    short,
    with_parent,
)

Text = Callable[[Probe, tuple[Any, ...], dict[str, Any]], str]

_INVOKED = int(Kind.CALL_INVOKED)  # plain numbers: these are looked up for every job
_RETURNED = int(Kind.CALL_RETURNED)
_OK = int(Outcome.OK)


def like(wrapper: Any, original: Any) -> Any:
    """The wrapper under the original's name, so that logs and upkeep tasks read as before."""
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        if hasattr(original, name):
            setattr(wrapper, name, getattr(original, name))
    return wrapper


def dequeue(probe: Probe, original: Any) -> Any:
    """Begins attempts."""

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            job = await original(*args, **kwargs)
        except BaseException as error:
            detail = "" if is_end(error) else type(error).__name__
            code = Op.DEQUEUE | outcome_of(error) << 4
            probe.record(_RETURNED, "", 0, probe.next_call(), 0, detail, code)
            raise
        if job is not None:
            attempt = ATTEMPT.get()
            if attempt is not None and not attempt.number and attempt.probe is probe:
                probe.begin(attempt, job)
        return job

    return like(wrapper, original)


def of_job(probe: Probe, original: Any, op: Op, text_of: Text, join: Join) -> Any:
    """A call about one job that makes no other calls: update, finish, retry."""
    next_call, invoked, ok = probe.next_call, int(op), op | _OK << 4
    place, wanted, kind = join
    current, calling = ATTEMPT.get, CALL.get

    async def wrapper(job: Any, *args: Any, **kwargs: Any) -> Any:
        record = probe.record  # asked each time: a second listener may have come (`instrument`)
        key, stamp, call = job.key, job.queued, next_call()
        text = text_of(probe, args, kwargs)
        parent = calling()
        if parent is not None:
            text = with_parent(text, parent)
        attempt = current()
        if attempt is not None and attempt.job != key:
            attempt = None
        number = 0 if attempt is None else attempt.number
        if attempt is not None and attempt.place == place and text == wanted:
            record(kind, key, number, call, stamp, attempt.text)
            attempt.text, attempt.call, attempt.place = "", call, place + 1
        else:
            if attempt is not None and attempt.place:
                settle(attempt)
            record(_INVOKED, key, number, call, stamp, text, invoked)
        try:
            result = await original(job, *args, **kwargs)
        except BaseException as error:
            if attempt is not None and attempt.place:
                settle(attempt)
            detail = "" if is_end(error) else type(error).__name__
            record(_RETURNED, key, number, call, stamp, detail, op | outcome_of(error) << 4)
            raise
        if attempt is not None and attempt.place == place + 1 and attempt.call == call:
            attempt.place = place + 2
        else:
            record(_RETURNED, key, number, call, stamp, "", ok)
        return result

    return like(wrapper, original)


def with_calls(probe: Probe, original: Any, op: Op, text_of: Text) -> Any:
    """A call about one job whose inner calls name it as their parent: abort, finish_abort."""

    async def wrapper(job: Any, *args: Any, **kwargs: Any) -> Any:
        call = Call(probe, op, text_of(probe, args, kwargs))
        call.of(job)
        call.announce()
        token = CALL.set(call)
        try:
            result = await original(job, *args, **kwargs)
        except BaseException as error:
            call.raised(error)
            raise
        finally:
            CALL.reset(token)
        call.returned(Outcome.OK)
        return result

    return like(wrapper, original)


def sweep(probe: Probe, original: Any) -> Any:
    """A sweep: the aborts, retries and finishes in it name it as their parent."""

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        call = Call(probe, Op.SWEEP)
        call.announce()
        token = CALL.set(call)
        try:
            swept = await original(*args, **kwargs)
        except BaseException as error:
            call.raised(error)
            probe.upkeep_raised(error, Op.SWEEP)
            raise
        finally:
            CALL.reset(token)
        call.returned(Outcome.OK if swept else Outcome.EMPTY)
        return swept

    return like(wrapper, original)


def enqueue(probe: Probe, original: Any, *, seen_before: bool) -> Any:
    """An enqueue. `seen_before`: `before_enqueue` will see its job."""

    async def wrapper(job_or_func: Any, *args: Any, **kwargs: Any) -> Any:
        named = isinstance(job_or_func, str)
        function = job_or_func if named else job_or_func.function
        call = Call(probe, Op.ENQUEUE, SEPARATOR + function)
        if not named and not seen_before:
            call.of(job_or_func)
        if not seen_before:
            call.announce()
        token = CALL.set(call)
        try:
            job = await original(job_or_func, *args, **kwargs)
        except BaseException as error:
            call.raised(error)
            raise
        finally:
            CALL.reset(token)
        _enqueued(probe, call, job)
        return job

    return like(wrapper, original)


def _enqueued(probe: Probe, call: Call, job: Any) -> None:
    """Accepted: with the stamp that identifies it, its function and the digest of its kwargs."""
    if not job:
        call.returned(Outcome.EMPTY)
        return
    call.of(job)
    digest = probe.digest(arriving(job.queue, job))
    call.returned(Outcome.OK, f"{job.function}{SEPARATOR}{digest}")


async def before_enqueue(job: Any) -> None:
    """saq has made the job of the current enqueue, and has not sent it yet."""
    call = CALL.get()
    if call is not None and call.op is Op.ENQUEUE and call.job is None:
        call.of(job)
        call.announce()


def schedule(original: Any) -> Any:
    """`queue.schedule`: moving due jobs makes the poll that called it worth a record."""

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        moved = await original(*args, **kwargs)
        call = CALL.get()
        if moved and call is not None:
            call.announce()
        return moved

    return like(wrapper, original)


def poll(probe: Probe, original: Any, op: Op) -> Any:
    """An upkeep poll of the worker: recorded if it did something or failed."""

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        call = Call(probe, op)
        token = CALL.set(call)
        try:
            result = await original(*args, **kwargs)
        except BaseException as error:
            if call.announced or not is_end(error):
                call.raised(error)
                probe.upkeep_raised(error, op)
            raise
        finally:
            CALL.reset(token)
        if call.announced:
            call.returned(Outcome.OK)
        return result

    wrapper = like(wrapper, original)
    wrapper.__name__ = UPKEEP[op]
    return wrapper


# --- the text of a call: status, detail -----------------------------------------------------------


def of_update(probe: Probe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The status that an update sets; empty if it keeps the stored one (a heartbeat)."""
    del probe, args
    return status_of(kwargs["status"]) if "status" in kwargs else ""


def of_finish(probe: Probe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The status that a finish writes, and why it is not complete."""
    status = status_of(args[0] if args else kwargs["status"])
    if status == "complete":
        return status
    _report_handled(probe)
    return f"{status}{SEPARATOR}{short(kwargs.get('error'))}"


def of_retry(probe: Probe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Why a job is retried."""
    _report_handled(probe)
    return SEPARATOR + short(args[0] if args else kwargs.get("error"))


def of_abort(probe: Probe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Why a job is aborted."""
    del probe
    return SEPARATOR + short(args[0] if args else kwargs.get("error"))


def of_nothing(probe: Probe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """A call that has neither status nor detail."""
    del probe, args, kwargs
    return ""


def status_of(status: Any) -> str:
    """saq's Status as the history writes it (`_value_`: `value` is a slow property of Enum)."""
    return str(getattr(status, "_value_", status or ""))


def _report_handled(probe: Probe) -> None:
    """The exception for which `process()` retries or fails its job, if its log did not reach us.

    An application may have switched saq's logger off; what is being handled is known all the same.
    """
    attempt = ATTEMPT.get()
    handled = sys.exc_info()[1]
    if attempt is not None and handled is not None:
        probe.report(handled, "process", attempt)
