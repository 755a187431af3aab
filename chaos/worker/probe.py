"""Observes a saq Worker and its Queue from outside, in every saq version, without editing saq.

    probe = install_worker(worker, sink, salt)      # before worker.start(); takes its queue along
    probe = install_queue(queue, sink, salt)        # a producer has no worker
    probe.close()                                   # everything is as it was

Only instance attributes are replaced: `process`, the upkeep polls, the queue's calls, the mapping
in `job_task_contexts`, the registered functions and hooks. Errors are seen where they leave
`process()` or an upkeep poll, in the ERROR records of saq's logger (a filter: a handler would
switch off Python's own last-resort output) and in the event loop's exception handler. What cannot
be observed here is recorded as `blind`, so that no verdict is drawn from silence.

It changes nothing that saq does, takes no clock and no randomness, and judges nothing.
"""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from typing import Any

from . import calls, functions
from .events import Kind, Op
from .failures import mark_of
from .joined import NEVER, THE_FINISH, THE_UPDATE
from .observed import ObservedContexts
from .recorder import Sink
from .state import ATTEMPT, HOST, Probe

CONTEXTS = "job_task_contexts"
_PROBE = "_saq_chaos_probe"
_LOGGER = logging.getLogger("saq")
# The one probe of a simulated process, which shares a real one with others; unset in a real one.
PROCESS: ContextVar[Probe | None] = ContextVar("saq_chaos_process", default=None)


def install_queue(queue: Any, sink: Sink, salt: str) -> Probe:
    """Observe the calls of a queue; a queue that is observed already keeps its probe.

    Args:
        queue: a saq Queue.
        sink: where events go.
        salt: the run's salt, for digests of kwargs.
    """
    installed = vars(queue).get(_PROBE)
    if isinstance(installed, Probe):
        return installed
    probe = Probe(sink, salt)
    probe.replace(queue, _PROBE, probe)
    _wrap_calls(probe, queue)
    return probe


def install_worker(worker: Any, sink: Sink, salt: str) -> Probe:
    """Observe a worker, which has not been started yet, and its queue.

    Args:
        worker: a saq Worker, or anything that looks like one.
        sink: where events go.
        salt: the run's salt, for digests of kwargs.
    """
    probe = install_queue(worker.queue, sink, salt)
    if probe.worker is worker:
        return probe
    probe.worker = worker
    _observe_contexts(probe, worker)
    _wrap_process(probe, worker)
    _wrap_upkeep(probe, worker)
    _wrap_stop(probe, worker)
    _wrap_functions(probe, worker)
    _watch_log(probe)
    probe.joins = probe.can_join and _runs_the_ordinary_path(worker)
    return probe


def _runs_the_ordinary_path(worker: Any) -> bool:
    """Whether nothing but saq's own code, or a patch's, stands between an attempt's events."""
    if getattr(worker, "before_process", None) or getattr(worker, "after_process", None):
        return False
    own = (f"{__package__}.patched", "saq.worker")
    methods = ("process", "_process", "_before_process", "_after_process")
    kind = type(worker)
    return all(getattr(getattr(kind, name, None), "__module__", "") in own for name in methods)


# --- the queue ------------------------------------------------------------------------------------


def _wrap_calls(probe: Probe, queue: Any) -> None:
    before_enqueue = hasattr(queue, "register_before_enqueue")
    if before_enqueue:
        queue.register_before_enqueue(calls.before_enqueue)
        probe.on_close(lambda: queue.unregister_before_enqueue(calls.before_enqueue))
    for name, wrap in (
        ("dequeue", lambda call: calls.dequeue(probe, call)),
        ("enqueue", lambda call: calls.enqueue(probe, call, seen_before=before_enqueue)),
        ("update", lambda call: calls.of_job(probe, call, Op.UPDATE, calls.of_update, THE_UPDATE)),
        ("finish", lambda call: calls.of_job(probe, call, Op.FINISH, calls.of_finish, THE_FINISH)),
        ("retry", lambda call: calls.of_job(probe, call, Op.RETRY, calls.of_retry, NEVER)),
        ("abort", lambda call: calls.with_calls(probe, call, Op.ABORT, calls.of_abort)),
        (
            "finish_abort",
            lambda call: calls.with_calls(probe, call, Op.FINISH_ABORT, calls.of_nothing),
        ),
        ("sweep", lambda call: calls.sweep(probe, call)),
        ("schedule", calls.schedule),
    ):
        _wrap(probe, queue, name, wrap, f"queue:{name}")


def _wrap(probe: Probe, owner: Any, name: str, wrap: Any, what: str) -> None:
    """Replace one method on the instance; blind if there is none or it cannot be replaced."""
    original = getattr(owner, name, None)
    if original is None:
        probe.blind(what, f"{type(owner).__name__} has no {name}()")
        return
    try:
        probe.replace(owner, name, wrap(original))
    except (AttributeError, TypeError) as error:
        probe.blind(what, f"{type(owner).__name__}.{name} cannot be replaced: {error}")


# --- the worker -----------------------------------------------------------------------------------


def _observe_contexts(probe: Probe, worker: Any) -> None:
    kind = type(worker)
    if hasattr(getattr(kind, CONTEXTS, None), "__get__"):
        probe.blind("contexts", f"{CONTEXTS} is a property of {kind.__name__}")
        return
    if not hasattr(worker, CONTEXTS):
        probe.blind("contexts", f"{kind.__name__} has no {CONTEXTS}")
        return
    observed = ObservedContexts(probe, getattr(worker, CONTEXTS))
    try:
        probe.replace(worker, CONTEXTS, observed)
    except (AttributeError, TypeError) as error:
        probe.blind("contexts", f"{kind.__name__}.{CONTEXTS} cannot be replaced: {error}")
        return
    if getattr(worker, CONTEXTS) is not observed:
        probe.blind("contexts", f"{kind.__name__} keeps another mapping in {CONTEXTS}")


def _wrap_process(probe: Probe, worker: Any) -> None:
    def wrap(original: Any) -> Any:
        make, begin, end = probe.attempt, ATTEMPT.set, ATTEMPT.reset
        ended, raised = probe.process_ended, probe.process_raised

        async def process(*args: Any, **kwargs: Any) -> Any:
            attempt = make()
            token = begin(attempt)
            try:
                result = await original(*args, **kwargs)
                ended(attempt, result)
                return result
            except BaseException as error:
                raised(attempt, error)
                raise
            finally:
                end(token)

        return calls.like(process, original)

    _wrap(probe, worker, "process", wrap, "process")


def _wrap_upkeep(probe: Probe, worker: Any) -> None:
    for name, op in (
        ("abort", Op.POLL_ABORTS),
        ("schedule", Op.POLL_SCHEDULE),
        ("worker_info", Op.WORKER_INFO),
    ):
        _wrap(probe, worker, name, lambda call, op=op: calls.poll(probe, call, op), name)

    def wrap(original: Any) -> Any:
        async def upkeep(*args: Any, **kwargs: Any) -> Any:
            """Called by start() after the startup hooks: whatever they replaced is seen here."""
            probe.stopping = False
            probe.joins = probe.can_join and _runs_the_ordinary_path(worker)
            _watch_loop(probe)
            if worker.event.is_set():
                _stopping(probe)
            token = HOST.set(probe)
            try:
                tasks = await original(*args, **kwargs)
            finally:
                HOST.reset(token)
            for place, task in enumerate(tasks):
                _watch_upkeep(probe, task, place)
            return tasks

        return calls.like(upkeep, original)

    _wrap(probe, worker, "upkeep", wrap, "process")


def _watch_upkeep(probe: Probe, task: asyncio.Task[Any], place: int) -> None:
    frame = getattr(task.get_coro(), "cr_frame", None)
    polled = frame.f_locals.get("func") if frame is not None else None
    name = getattr(polled, "__name__", f"upkeep-{place}")

    def ended(task: asyncio.Task[Any]) -> None:
        if probe.stopping or probe.worker.event.is_set():
            return
        # not task.exception(): asking would silence asyncio's own report of it
        error = None if task.cancelled() else getattr(task, "_exception", None)
        said = "CancelledError" if task.cancelled() else type(error).__name__ if error else ""
        probe.fields(Kind.UPKEEP_ENDED, task=name, error=said)
        if error is not None:
            probe.report(error, name)

    task.add_done_callback(ended)


def _wrap_stop(probe: Probe, worker: Any) -> None:
    def wrap(original: Any) -> Any:
        async def stop(*args: Any, **kwargs: Any) -> Any:
            _stopping(probe)
            return await original(*args, **kwargs)

        return calls.like(stop, original)

    _wrap(probe, worker, "stop", wrap, "process")


def _stopping(probe: Probe) -> None:
    if not probe.stopping:
        probe.stopping = True
        probe.stop_joining()
        probe.fields(Kind.HOST_STOPPING)


def _wrap_functions(probe: Probe, worker: Any) -> None:
    registered = getattr(worker, "functions", None)
    if not isinstance(registered, dict):
        probe.blind("bodies", f"{type(worker).__name__}.functions is no dict")
        return
    before = dict(registered)
    for name, function in before.items():
        registered[name] = functions.function(probe, function)
        if not asyncio.iscoroutinefunction(function):
            probe.in_threads.add(name)
    probe.on_close(lambda: registered.update(before))
    for name in ("before_process", "after_process"):
        hooks = getattr(worker, name, None)
        if isinstance(hooks, list):
            probe.replace(worker, name, [functions.hook(hook) for hook in hooks])


# --- errors that nobody returns -------------------------------------------------------------------


def _watch_log(probe: Probe) -> None:
    """See ERROR records of saq's logger that carry an exception, on behalf of this host."""

    def watch(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if record.levelno >= logging.ERROR and error is not None:
            attempt = ATTEMPT.get()
            host = attempt.probe if attempt is not None else HOST.get() or PROCESS.get()
            if host is None or host is probe:
                probe.report(error, "log", attempt)
        return True

    _LOGGER.addFilter(watch)
    probe.on_close(lambda: _LOGGER.removeFilter(watch))


def _watch_loop(probe: Probe) -> None:
    """See exceptions that end in the loop's handler, then hand them on to whoever had them."""
    loop = asyncio.get_running_loop()
    previous = loop.get_exception_handler()
    if getattr(previous, "probe", None) is probe:
        return

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            known = mark_of(error)
            if known is None or not known.reported:
                probe.report(error, "loop")
        if previous is None:
            loop.default_exception_handler(context)
        else:
            previous(loop, context)

    handle.probe = probe  # type: ignore[attr-defined]
    loop.set_exception_handler(handle)
    probe.on_close(lambda: loop.set_exception_handler(previous))
