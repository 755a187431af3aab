"""The event loop of one simulated host: FIFO callbacks, virtual time, counted hashes.

    call_soon ─► ready queue ─┐
    call_later ─► kernel ─────┴─► turn(): what is ready now, once, in order

It has what saq, redis-py, asyncio's own primitives and our code use of a loop. Every other method
of an event loop raises NotImplementedError and names itself: a simulation that quietly did
something else would prove nothing. Futures and tasks hash by a number that counts up, so that a set
of them has the same order in every process. The loop runs inside a greenlet of its own: a call that
would block the real process (`time.sleep`, the end of a thread pool) leaves it in the middle of a
callback and lets virtual time pass.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, NoReturn, cast

import msgspec
from greenlet import greenlet

if TYPE_CHECKING:
    from chaos.sim.host import SimHost
    from chaos.sim.kernel import Kernel

BATCH_MAX = 1_000  # callbacks of one turn: between turns the kernel looks at its limits
ExceptionHandler = Callable[[Any, dict[str, Any]], object]


class Handle(msgspec.Struct, eq=False):
    """One callback that is ready. (A struct: a class of Python's own takes twice as long to make.)

    Attributes:
        gone: it was cancelled.
    """

    callback: Callable[..., Any]
    args: tuple[Any, ...]
    context: Context
    gone: bool = False

    def cancel(self) -> None:
        """It does not run."""
        self.gone = True

    def cancelled(self) -> bool:
        return self.gone


class Timer(Handle, eq=False):
    """One callback at a time: of a loop, or of the kernel itself (no owner).

    Attributes:
        kernel: on whose heap it is; None once it is due.
    """

    when_us: int = 0
    kernel: Kernel | None = None
    owner: HostLoop | None = None

    def cancel(self) -> None:
        """It does not run."""
        if not self.gone:
            self.gone = True
            if self.kernel is not None:
                self.kernel.timer_cancelled()

    def when(self) -> float:
        """The loop time at which it runs."""
        return self.when_us / 1_000_000


class CountedFuture(asyncio.Future[Any]):
    """A future whose hash is a number that counts up, given when it is first asked for."""

    _number: int = 0

    def __hash__(self) -> int:
        if not self._number:
            self._number = self._loop.next_number()  # type: ignore[attr-defined]
        return self._number


class CountedTask(asyncio.Task[Any]):
    """The same for tasks: saq iterates a set of them when it stops."""

    _number: int = 0

    def __hash__(self) -> int:
        if not self._number:
            self._number = self._loop.next_number()  # type: ignore[attr-defined]
        return self._number


class HostLoop:
    """The event loop of one host; a unit of the kernel (`chaos.sim.kernel.Unit`).

    It is an `asyncio.AbstractEventLoop` by what it has, not by inheritance: that class's own
    methods raise without saying which they are.
    """

    def __init__(self, kernel: Kernel, host: SimHost) -> None:
        self.host = host
        self.number = host.number
        self.loop: HostLoop | None = self
        self.awake = False
        self.blocked = False
        self.resuming = False
        self.place: greenlet | None = None
        self.too_late: list[CountedTask] = []  # made while the host unwinds, and never begun
        self.signal_handlers: dict[int, Handle] = {}
        self.next_number: Callable[[], int] = kernel.next_number
        self._kernel = kernel
        self._ready: deque[Handle] = deque()
        self._exception_handler: ExceptionHandler | None = None

    # --- callbacks --------------------------------------------------------------------------------

    def call_soon(
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> Any:
        handle = Handle(callback, args, copy_context() if context is None else context)
        self._ready.append(handle)
        if not self.awake:
            self._kernel.wake(self)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[..., Any],
        *args: Any,
        context: Context | None = None,
    ) -> Any:
        when_us = self._kernel.time_us + max(0, round(delay * 1_000_000))
        return self._at(when_us, callback, args, context)

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> Any:
        return self._at(round(when * 1_000_000), callback, args, context)

    def _at(
        self,
        when_us: int,
        callback: Callable[..., Any],
        args: tuple[Any, ...],
        context: Context | None,
    ) -> Timer:
        if context is None:
            context = copy_context()
        timer = Timer(callback, args, context, False, when_us, self._kernel, self)
        self._kernel.add(timer)
        return timer

    def due(self, timer: Timer) -> None:
        """The kernel's clock has reached a timer."""
        self._ready.append(timer)
        if not self.awake:
            self._kernel.wake(self)

    def has_work(self) -> bool:
        """Whether a turn would do something."""
        return bool(self._ready) or self.resuming

    def turn(self) -> int:
        """Run what is ready, in order; how many callbacks ran.

        While nobody else is awake, what becomes ready meanwhile runs in the same turn: one batch
        after the other, as asyncio does it.
        """
        ready = self._ready
        others = self._kernel.awake
        ran = 0
        while ready and ran < BATCH_MAX and not (ran and others):
            batch = len(ready)
            ran += batch
            for _ in range(batch):
                if not ready:
                    return ran  # the host is gone: nothing of it runs any more
                handle = ready.popleft()
                if handle.gone:
                    continue
                try:
                    handle.context.run(handle.callback, *handle.args)
                except (SystemExit, KeyboardInterrupt) as end:
                    self.host.ended_by(end)
                except BaseException as error:  # noqa: BLE001 - whatever it raises, as asyncio
                    self._callback_raised(handle, error)
        return ran

    def close(self) -> None:
        """Forget what was ready: the host is gone."""
        self._ready.clear()
        self._ready = deque(maxlen=0)

    def _callback_raised(self, handle: Handle, error: BaseException) -> None:
        message = f"Exception in callback {getattr(handle.callback, '__qualname__', 'of asyncio')}"
        self.call_exception_handler({"message": message, "exception": error})

    def time(self) -> float:
        return self._kernel.time_us / 1_000_000

    # --- futures and tasks ------------------------------------------------------------------------

    def create_future(self) -> Any:
        return CountedFuture(loop=self)  # type: ignore[arg-type]

    def create_task(
        self, coro: Coroutine[Any, Any, Any], *, name: str | None = None, **options: Any
    ) -> Any:
        if name is None:
            name = f"Task-{self._kernel.next_task()}"  # asyncio counts those of the whole process
        task = CountedTask(coro, loop=self, name=name, **options)  # type: ignore[arg-type]
        if self.host.gone:
            self.too_late.append(task)
        return task

    def get_task_factory(self) -> None:
        return None

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        pool = self.host.default_pool() if executor is None else executor
        return asyncio.wrap_future(pool.submit(func, *args), loop=cast(Any, self))

    async def shutdown_asyncgens(self) -> None:
        """Nothing to do: generators are closed when they are let go of, or with the host."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Nothing to do: the pool ends with the host."""

    # --- signals ----------------------------------------------------------------------------------

    def add_signal_handler(self, sig: int, callback: Callable[..., Any], *args: Any) -> None:
        self.signal_handlers[int(sig)] = Handle(callback, args, copy_context())

    def remove_signal_handler(self, sig: int) -> bool:
        return self.signal_handlers.pop(int(sig), None) is not None

    def signalled(self, sig: int) -> bool:
        """A signal reaches the process: whether a handler takes it."""
        handle = self.signal_handlers.get(sig)
        if handle is not None:
            self.call_soon(handle.callback, *handle.args, context=handle.context)
        return handle is not None

    # --- errors -----------------------------------------------------------------------------------

    def get_exception_handler(self) -> Any:
        return self._exception_handler

    def set_exception_handler(self, handler: Any) -> None:
        self._exception_handler = handler

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """What a real host would print is kept with the host."""
        self.host.say(f"{context.get('message', '')}: {context.get('exception')!r}")

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self.host.gone:
            return
        if self._exception_handler is None:
            self.default_exception_handler(context)
            return
        try:
            self._exception_handler(self, context)
        except Exception as error:  # noqa: BLE001 - a handler's own failure, as asyncio treats it
            self.host.say(f"Unhandled error in exception handler: {error!r}")

    # --- state ------------------------------------------------------------------------------------

    get_debug = bool  # no; asyncio asks for every task and future, and this is the quickest answer

    def is_running(self) -> bool:
        return not self.host.gone

    def is_closed(self) -> bool:
        return bool(self.host.gone)


def _unsupported(name: str) -> Callable[..., NoReturn]:
    def method(*_args: object, **_kwargs: object) -> NoReturn:
        raise NotImplementedError(
            f"the simulator's event loop has no {name}(): run this in the live world"
        )

    method.__name__ = name
    return method


for _name in sorted(vars(asyncio.AbstractEventLoop)):
    if not _name.startswith("_") and _name not in vars(HostLoop):
        setattr(HostLoop, _name, _unsupported(_name))
