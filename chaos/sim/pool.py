"""The thread pool of a simulated host: sync functions take virtual time and cannot be cancelled.

A thread is a unit of the kernel with a greenlet: `time.sleep` in it lets virtual time pass, while
the host's loop goes on. As in `concurrent.futures`, work waits for a free thread, and a shutdown
that waits blocks whoever asks for it until the last function has come back; in saq that is the
host's loop, so the whole worker stands still meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

from greenlet import GreenletExit, greenlet

from chaos.sim import current

if TYPE_CHECKING:
    from chaos.sim.host import SimHost
    from chaos.sim.kernel import Kernel, Unit
    from chaos.sim.loop import HostLoop

THREADS_MAX = 8  # ThreadPoolExecutor's own number depends on the machine: 5 to 32


class Work(Future[Any]):
    """A future whose blocking waits pass virtual time."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self._kernel = kernel

    def result(self, timeout: float | None = None) -> Any:
        self._wait(timeout)
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._wait(timeout)
        return super().exception(0)

    def _wait(self, timeout: float | None) -> None:
        unit = self._kernel.unit
        if self.done() or unit is None:
            return
        kernel = self._kernel
        timer = None
        waiting = [unit]

        def wake(*_args: object) -> None:
            if waiting:
                kernel.unblock(waiting.pop())

        if timeout is not None:
            timer = kernel.call_at(kernel.time_us + round(timeout * 1_000_000), None, wake)
        self.add_done_callback(wake)
        kernel.block()
        if timer is not None:
            timer.cancel()


class Thread:
    """One thread of a pool: takes work until there is none."""

    def __init__(self, pool: SimPool, host: SimHost) -> None:
        self.host = host
        self.number = host.kernel.next_number()
        self.loop: HostLoop | None = None
        self.awake = False
        self.blocked = False
        self.resuming = False
        self.place: greenlet | None = None
        self._pool = pool

    def has_work(self) -> bool:
        return self.resuming

    def turn(self) -> int:
        """Everything that the pool has to do; it is left in the middle where a function blocks."""
        self.resuming = False
        done = 0
        try:
            while self._pool.queue:
                work, function = self._pool.queue.popleft()
                _carry_out(work, function)
                done += 1
        finally:
            self._pool.thread_ended(self)
        return done


def _carry_out(work: Work, function: Callable[[], Any]) -> None:
    if not work.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except GreenletExit:  # the host is gone
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a function raises is its future's
        work.set_exception(error)
    else:
        work.set_result(result)


class SimPool(Executor):
    """Stands in for `ThreadPoolExecutor`; belongs to the host that makes it."""

    def __init__(self, max_workers: int | None = None, *_args: object, **_kwargs: object) -> None:
        self.queue: deque[tuple[Work, Callable[[], Any]]] = deque()
        self._host = current.host()
        self._threads_max = max_workers or THREADS_MAX
        self._threads: list[Thread] = []
        self._shut = False
        self._waiting: list[Unit] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        work = Work(self._host.kernel)
        self.queue.append((work, lambda: fn(*args, **kwargs)))
        if len(self._threads) < self._threads_max:
            self._start_thread()
        return work

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._shut = True
        if cancel_futures:
            while self.queue:
                self.queue.popleft()[0].cancel()
        kernel = self._host.kernel
        if wait and self._threads and kernel.unit is not None:
            self._waiting.append(kernel.unit)
            kernel.block()

    def _start_thread(self) -> None:
        thread = Thread(self, self._host)
        thread.resuming = True  # it has work at once
        self._threads.append(thread)
        self._host.threads.append(thread)
        self._host.kernel.wake(thread)

    def thread_ended(self, thread: Thread) -> None:
        """A thread found nothing more to do."""
        self._threads.remove(thread)
        self._host.threads.remove(thread)
        if not self._threads:
            waiting, self._waiting = self._waiting, []
            for unit in waiting:
                self._host.kernel.unblock(unit)
