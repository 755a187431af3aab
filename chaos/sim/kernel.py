"""The kernel: one virtual clock, and which host runs next.

    awake units ─► pick (a decision of the tape) ─► one turn ─┐
        ▲                                                     │ nobody is awake
        └──────── timers that are due ◄── the clock jumps ◄───┘

A unit is what can be in the middle of something: the event loop of a host, or a thread of its pool.
Between two turns nothing runs; within a turn no time passes. The order in which units that are
awake at one time run is the tape's; everything else follows from the virtual time of timers and
messages, ties in the order in which they were made.

The scheduler runs in a greenlet and takes turns by plain calls. A turn that blocks (`time.sleep`)
leaves its greenlet standing where it is, the scheduler's own frames below it, and another greenlet
schedules on; whoever schedules when the unit may go on switches back, and stands by in turn.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
from asyncio import events
from collections.abc import Callable
from contextvars import Context
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Protocol, cast

from greenlet import getcurrent, greenlet

from chaos.sim.loop import HostLoop, Timer
from chaos.sim.tape import Tape
from chaos.sim.unwinding import unwind_task

if TYPE_CHECKING:
    from chaos.sim.host import SimHost

set_running_loop: Callable[[Any], None] = events._set_running_loop
COLLECT_STEPS = 50_000
GONE_TIMERS_MAX = 1_000


class Stuck(Exception):
    """The run cannot go on: `kind` is limit, livelock or deadlock."""

    def __init__(self, kind: str, reason: str) -> None:
        self.kind = kind
        super().__init__(reason)


class Unit(Protocol):
    """Something that takes turns.

    Attributes:
        host: whose it is.
        number: orders those that are awake at one time.
        loop: what asyncio takes for the running loop meanwhile: none in a thread.
        awake: whether it is on the kernel's list, or runs now.
        blocked: whether it is in the middle of something that blocks it.
        resuming: what blocked it is over.
        place: the greenlet in which it stands meanwhile.
    """

    host: SimHost
    number: int
    loop: HostLoop | None
    awake: bool
    blocked: bool
    resuming: bool
    place: greenlet | None

    def has_work(self) -> bool:
        """Whether a turn would do something."""

    def turn(self) -> int:
        """Do what there is to do now; how many steps that were."""


class Kernel:
    """The virtual clock and the turns of a run.

    Args:
        tape: decides which of several units runs next.
        steps_max: callbacks of all hosts together.
        steps_at_once_max: callbacks without virtual time passing: more are a livelock.
        until_us: the end of virtual time.

    Attributes:
        time_us: the virtual time.
        steps: callbacks that ran.
        current: the host whose code runs now; None in the kernel's own callbacks.
        awake: the units that have something to do, but the one that does it now.
    """

    def __init__(
        self, tape: Tape, *, steps_max: int, steps_at_once_max: int, until_us: int
    ) -> None:
        self.tape = tape
        self.time_us = 0
        self.steps = 0
        self.current: SimHost | None = None
        self.unit: Unit | None = None
        self.hosts: dict[str, SimHost] = {}
        self.next_number: Callable[[], int] = itertools.count(1).__next__
        self.next_task: Callable[[], int] = itertools.count(1).__next__
        self._steps_max = steps_max
        self._at_once_max = steps_at_once_max
        self._until_us = until_us
        self._check_at = min(steps_at_once_max, steps_max)
        self._collect_at = COLLECT_STEPS
        self._heap: list[tuple[int, int, Timer]] = []
        self._next_timer: Callable[[], int] = itertools.count(1).__next__
        self._gone_timers = 0
        self.awake: list[Unit] = []
        self._standing_by: list[greenlet] = []
        self._main = getcurrent()
        self._running: Any = None
        self._until: SimHost | None = None
        self._picks = 0
        self._context = Context()
        self._stop: Stuck | None = None

    # --- time -------------------------------------------------------------------------------------

    def now_us(self) -> int:
        """The virtual time."""
        return self.time_us

    def call_at(
        self, time_us: int, host: str | None, callback: Callable[..., Any], *args: Any
    ) -> Timer:
        """Call back at `time_us`: in the loop of `host`, or in nobody's name.

        A host that is paused then runs it later, one that is gone never does.
        """
        when_us = max(self.time_us, time_us)
        timer = Timer(callback, args, self._context, False, when_us, self)
        if host is not None:
            owner = self.hosts[host]
            timer.owner, timer.context = owner.loop, owner.context
        heappush(self._heap, (when_us, self._next_timer(), timer))
        return timer

    def add(self, timer: Timer) -> None:
        """A loop's own timer."""
        heappush(self._heap, (timer.when_us, self._next_timer(), timer))

    def timer_cancelled(self) -> None:
        """A timer that is still on the heap will not run."""
        self._gone_timers += 1
        if self._gone_timers > GONE_TIMERS_MAX and self._gone_timers * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].gone]
            heapify(self._heap)
            self._gone_timers = 0

    # --- who runs ---------------------------------------------------------------------------------

    def wake(self, unit: Unit) -> None:
        """A unit has something to do; nothing happens while its host cannot run."""
        host = unit.host
        if not (unit.awake or unit.blocked or host.paused or host.gone):
            unit.awake = True
            self.awake.append(unit)

    def put_to_sleep(self, unit: Unit) -> None:
        """A unit may not run for now: its host was paused, or is gone."""
        if unit.awake and unit is not self.unit:
            unit.awake = False
            self.awake.remove(unit)

    def run(self, until: SimHost) -> None:
        """Let everybody run until this host is gone.

        Raises:
            Stuck: a limit, a livelock or a deadlock.
        """
        previous = self._running = events._get_running_loop()
        self._until = until
        self._main = getcurrent()
        try:
            greenlet(self._schedule, self._main).switch()
        finally:
            self.current = self.unit = None
            set_running_loop(previous)

    def _schedule(self) -> None:
        """Turn after turn; what it raises, and its end, reach `run`."""
        until = self._until
        awake = self.awake
        while until is not None and not until.gone:
            if awake:
                self._take_turn(awake.pop() if len(awake) == 1 else self._pick())
            elif not self._advance():
                raise Stuck("deadlock", f"nobody has anything to do at {self.time_us} µs")
            if self.steps > self._check_at:
                self._check()
            if self._stop is not None:
                raise self._stop

    def stop(self, kind: str, reason: str) -> None:
        """End the run after this turn."""
        if self._stop is None:
            self._stop = Stuck(kind, reason)

    def _pick(self) -> Unit:
        """One of several units that are awake."""
        awake = self.awake
        awake.sort(key=_number_of)
        self._picks += 1
        return awake.pop(self.tape.choose(("next", self.time_us, self._picks), len(awake)))

    def _take_turn(self, unit: Unit) -> None:
        self.unit = unit
        self.current = unit.host
        if unit.loop is not self._running:  # asking for the process id, it is a system call
            self._running = unit.loop
            set_running_loop(unit.loop)
        if unit.place is not None:
            self._go_on(unit)
            return
        steps = unit.turn()  # others may count steps meanwhile, if it blocks
        self.steps += steps
        self.unit = self.current = None
        unit.awake = False
        if unit.has_work():
            self.wake(unit)

    def _go_on(self, unit: Unit) -> None:
        """Switch to where a unit stands; come back as a scheduler once one is needed."""
        place, unit.place = unit.place, None
        assert place is not None
        self._standing_by.append(getcurrent())
        place.switch()

    def _advance(self) -> bool:
        """The clock jumps to the next timer; false if there is none."""
        heap = self._heap
        while heap and heap[0][2].gone:
            heappop(heap)
            self._gone_timers -= 1
        if not heap:
            return False
        self.time_us = when_us = heap[0][0]
        if when_us > self._until_us:
            raise Stuck("limit", f"virtual time: {when_us} µs of at most {self._until_us}")
        self._picks = 0
        while heap and heap[0][0] <= when_us:
            timer = heappop(heap)[2]
            if timer.gone:
                self._gone_timers -= 1
                continue
            timer.kernel = None
            if timer.owner is None:
                timer.callback(*timer.args)
            else:
                timer.owner.due(timer)
        self._check_at = min(self.steps + self._at_once_max, self._steps_max)
        if self.steps >= self._collect_at:
            self._collect_at = self.steps + COLLECT_STEPS
            gc.collect(1)  # left to itself, it would find dead circles at another time in each run
        return True

    def _check(self) -> None:
        if self.steps > self._steps_max:
            raise Stuck("limit", f"steps: more than {self._steps_max}")
        raise Stuck(
            "livelock",
            f"more than {self._at_once_max} steps at {self.time_us} µs, and no time passes",
        )

    # --- blocking ---------------------------------------------------------------------------------

    def block(self) -> None:
        """The unit that runs now stays where it is until `unblock`; the others go on."""
        unit = self.unit
        assert unit is not None
        loop = unit.loop
        task = asyncio.current_task(cast(Any, loop)) if loop is not None else None
        _swap_task(loop, None)
        unit.blocked = True
        unit.awake = False
        unit.place = getcurrent()
        self.unit = self.current = None
        scheduler = self._standing_by.pop() if self._standing_by else self._another()
        scheduler.switch()
        unit.resuming = False
        if task is not None:
            _swap_task(loop, task)

    def _another(self) -> greenlet:
        return greenlet(self._schedule, self._main)

    def unblock(self, unit: Unit) -> None:
        """What a unit was blocked by is over."""
        unit.blocked = False
        unit.resuming = True
        self.wake(unit)

    def sleep(self, duration_us: int) -> None:
        """The unit that runs now blocks for a virtual time, as `time.sleep` does."""
        unit = self.unit
        assert unit is not None
        self.call_at(self.time_us + max(0, duration_us), None, self.unblock, unit)
        self.block()

    # --- the end ----------------------------------------------------------------------------------

    def dispose(self) -> None:
        """Unwind every host, whatever it stands in the middle of. The run is over.

        What unwinds is code under test, in its `finally` blocks: the seams still hold meanwhile.
        """
        previous = events._get_running_loop()
        self._until = None
        for host in self.hosts.values():
            host.silence()
        for host in self.hosts.values():
            self.current = host
            self._unwind(host)
        self.current = None
        set_running_loop(previous)
        for scheduler in self._standing_by:
            scheduler.throw()
        self._heap.clear()
        self.awake.clear()
        self._standing_by.clear()

    def _unwind(self, host: SimHost) -> None:
        for unit in host.units():
            set_running_loop(unit.loop)
            place, unit.place = unit.place, None
            if place is not None:
                place.throw()
        set_running_loop(host.loop)
        for task in sorted(asyncio.all_tasks(), key=hash):
            unwind_task(task)
        for task in host.loop.too_late:
            unwind_task(task)


def _number_of(unit: Unit) -> int:
    return unit.number


def _swap_task(loop: HostLoop | None, task: asyncio.Task[Any] | None) -> None:
    """Python 3.12 and newer know one running task a thread: it is set aside meanwhile."""
    swap = getattr(asyncio.tasks, "_swap_current_task", None)
    if loop is not None and swap is not None:
        swap(loop, task)
