"""One simulated host: a process that has a loop, a pool, signals and a wall clock, and can die.

    start ─► main() as a task ─► ended(code)        signal, pause, resume, kill from outside

A host that is gone never runs again and records nothing more. What stood in the middle of something
is unwound only when the run is over (`Kernel.dispose`), muted, so that no warning leaks and no
`finally` of a killed process has an effect.
"""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import TYPE_CHECKING, Any, cast

from chaos.sim.loop import HostLoop
from chaos.sim.pool import SimPool

if TYPE_CHECKING:
    from chaos.sim.kernel import Kernel, Unit
    from chaos.sim.log import HostSink

SAID_MAX = 20
CRASHED = 1


class SimHost:
    """A host of the kernel.

    Args:
        kernel: the run's.
        name: its full name, as it stands in the history.
        role: worker, producer, redis or controller.
        sink: where its events go.

    Attributes:
        short: the name without the variant: names of decisions begin with it.
        skew_us: how far its wall clock is ahead.
        paused: it stands still: what is due waits.
        gone: it ended or was killed.
        code: its exit code, once it is gone.
        on_gone: called once it is gone.
    """

    def __init__(self, kernel: Kernel, name: str, role: str, sink: HostSink) -> None:
        self.kernel = kernel
        self.name = name
        self.short = name.rpartition("/")[2]
        self.role = role
        self.sink = sink
        self.number = kernel.next_number()
        self.pid = 1000 + self.number
        self.skew_us = 0
        self.paused = False
        self.gone = False
        self.code = 0
        self.context = Context()
        self.loop = HostLoop(kernel, self)
        self.threads: list[Unit] = []
        self.on_gone: list[Callable[[SimHost], None]] = []
        self.said: deque[str] = deque(maxlen=SAID_MAX)
        self.draws = 0
        self._pool: SimPool | None = None
        self._signals: list[int] = []
        kernel.hosts[name] = self

    # --- its life ---------------------------------------------------------------------------------

    def start(self, main: Callable[[SimHost], Coroutine[Any, Any, None]]) -> None:
        """Run `main` in its loop; the host ends when that does."""
        self.loop.call_soon(self.begin, main, context=self.context)

    def begin(self, main: Callable[[SimHost], Coroutine[Any, Any, None]]) -> None:
        """The first line of its program, in its loop."""
        task = self.loop.create_task(main(self), name="main", context=self.context)
        task.add_done_callback(self._main_ended)

    def _main_ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is None:
            self.end(CRASHED if task.cancelled() else 0)
        else:
            self.ended_by(error)

    def ended_by(self, error: BaseException) -> None:
        """An exception ends the process."""
        code = error.code if isinstance(error, SystemExit) else None
        if not isinstance(code, int):
            self.say(f"{type(error).__name__}: {error}")
        self.end(code if isinstance(code, int) else CRASHED)

    def end(self, code: int) -> None:
        """It is gone, at once: by itself, or killed from outside."""
        if self.gone:
            return
        self.gone = True
        self.code = code
        self.sink.muted = True
        for unit in self.units():
            self.kernel.put_to_sleep(unit)
        self.loop.close()
        for callback in self.on_gone:
            callback(self)

    def say(self, text: str) -> None:
        """A line of what a real process would have printed; the last ones are kept."""
        self.said.append(text)

    def default_pool(self) -> SimPool:
        """The pool of `run_in_executor(None, …)`."""
        if self._pool is None:
            self._pool = SimPool()
        return self._pool

    # --- from outside -----------------------------------------------------------------------------

    def signal(self, number: int) -> None:
        """Deliver a signal: its handler's, or the end. A paused host gets it when it resumes."""
        if self.gone:
            return
        if number == signal.SIGKILL:
            self.end(-number)
        elif self.paused:
            self._signals.append(number)
        elif not self.loop.signalled(number):
            self.end(-number)

    def pause(self) -> None:
        """It stands still."""
        self.paused = True
        for unit in self.units():
            self.kernel.put_to_sleep(unit)

    def resume(self) -> None:
        """It goes on where it stood."""
        self.paused = False
        signals, self._signals = self._signals, []
        for number in signals:
            self.signal(number)
        for unit in self.units():
            if unit.has_work():
                self.kernel.wake(unit)

    # --- afterwards -------------------------------------------------------------------------------

    def stacks(self) -> str:
        """Where every task of it stands."""
        lines = [self.name]
        for task in sorted(asyncio.all_tasks(cast(Any, self.loop)), key=hash):
            lines.append(f"  {task.get_name()}")
            lines += [f"    {where}" for where in _stack(task.get_coro())]
        return "\n".join(lines)

    def silence(self) -> None:
        """Nothing of it runs or speaks any more: the run is over."""
        self.gone = self.sink.muted = True
        self.loop.close()

    def units(self) -> list[Unit]:
        """What of it can run."""
        return [self.loop, *self.threads]


def _stack(coroutine: Any) -> list[str]:
    """`file:line function` of each coroutine that waits for the next one."""
    lines = []
    for _ in range(100):
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is None:
            break
        code = frame.f_code
        lines.append(f"{code.co_filename.rpartition('/')[2]}:{frame.f_lineno} {code.co_name}")
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
    return lines
