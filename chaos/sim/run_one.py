"""One simulated run: a plan, a seed, a script and a tape in; a history out.

    SimRequest ─► Kernel, hosts, Conductor on virtual time ─► SimResult

The same request gives the same history, digest included, in any process of one Python minor version
and whatever PYTHONHASHSEED is. It judges nothing: `SimResult.timeline` is the fold of the history,
ready for `chaos.judge`.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from chaos.clock import SECOND_US
from chaos.errors import WorldError
from chaos.event import CONTROLLER, Event, ProcessEnded, UpkeepEnded
from chaos.faults import check_world
from chaos.history import History
from chaos.plan import Plan, RedisRestartFault
from chaos.run import Conductor
from chaos.script import DrawnScript, Script
from chaos.sim import seams
from chaos.sim.connection import make_client
from chaos.sim.host import SimHost
from chaos.sim.kernel import Kernel, Stuck
from chaos.sim.log import HostSink, Log, Taker
from chaos.sim.network import Network
from chaos.sim.programs import Program
from chaos.sim.redis_model import RedisModel
from chaos.sim.server import SimServer
from chaos.sim.tape import DrawnTape, FixedTape, Tape
from chaos.sim.world import SimWorld
from chaos.timeline import Timeline
from chaos.worker.events import Kind
from chaos.worker.probe import PROCESS
from chaos.world import Enqueue

MARGIN_US = 600 * SECOND_US
FINISHED = "finished"  # the conductor led the run to its end
LIMIT = "limit"  # a limit of the plan or of the simulator ended it
FAILED = "failed"  # the world failed: a fault did not heal, a host did not come up
LIVELOCK = "livelock"  # many steps, and no virtual time passed
DEADLOCK = "deadlock"  # the conductor waits, and nobody has anything to do any more
FIRST_FAILURE = "first-failure"  # what it was to show was seen (`SimRequest.enough`)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimLimits:
    """What ends a run that would not end by itself.

    Attributes:
        steps: callbacks of all hosts together.
        steps_at_once: callbacks without any virtual time passing: more are a livelock.
        virtual_us: virtual time; 0: what the plan's phases can take, and a margin.
    """

    steps: int = 200_000_000
    steps_at_once: int = 200_000
    virtual_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimRequest:
    """What is run.

    Attributes:
        plan: the recipe. Its own seed and variants are not used here.
        variant: the label that stands in host names, such as `stock@0.26.3`.
        patch: which worker class runs (`chaos.worker.patches`).
        seed: what script, targets and tape are drawn from.
        script: what happens when; None: drawn from the plan and the seed.
        tape: None: every decision is drawn from the seed. Otherwise the decisions by name; every
            other one has its default then.
        keep_tape: whether the decisions of a drawn tape are wanted; else they are only counted.
        limits: what ends a run that would not end by itself.
        app: `module:settings` of a user's application, importable here.
        enough: asked each time when an attempt's `process()` or an upkeep task ended; once it says
            yes, the run has shown what it was to show and ends there, without its drain.
    """

    plan: Plan
    variant: str
    patch: str
    seed: int
    script: Script | None = None
    tape: Mapping[str, int] | None = None
    keep_tape: bool = True
    limits: SimLimits = field(default_factory=SimLimits)
    app: str | None = None
    enough: Callable[[Timeline], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimResult:
    """What became of it.

    Attributes:
        history: every event, numbered, ordered by time and then as they happened.
        timeline: the fold of that history.
        digest: of the history.
        decisions: enqueues, injections, and tape entries that are not their default.
        tape: those tape entries, by name.
        steps: callbacks that ran.
        virtual_us: virtual time that passed.
        ended: finished, limit, failed, livelock, deadlock or first-failure.
        reason: why, unless it finished.
        stacks: where every task of every host stood, after a livelock or a deadlock.
    """

    history: History
    timeline: Timeline
    digest: str
    decisions: int
    tape: dict[str, int]
    steps: int
    virtual_us: int
    ended: str
    reason: str = ""
    stacks: str = ""


def run_one(request: SimRequest, taker: Taker | None = None) -> SimResult:
    """Run it to its end.

    Args:
        request: what is run.
        taker: given each event at once, with its line of JSON and the fold so far; then no event is
            kept, and the result's history is empty (its digest is of all events nevertheless). A
            word that it returns (`aborted`, `interrupted`) ends the run, and `ended` is that word.

    Raises:
        UsageError: the request cannot be run here (a fault that the simulator cannot do).
    """
    check_world(request.plan, "sim")
    collecting = gc.isenabled()
    gc.disable()  # the kernel collects, at the same steps in every run
    try:
        return _run(request, taker)
    finally:
        if collecting:
            gc.enable()


def _run(request: SimRequest, taker: Taker | None) -> SimResult:
    run = _Run(request, taker)
    with seams.installed(run.kernel):
        try:
            return run.to_the_end()
        finally:
            run.dispose()


class _Run:
    """One run and its parts."""

    def __init__(self, request: SimRequest, taker: Taker | None) -> None:
        self.request = request
        self.plan = _with_seed(request.plan, request.seed)
        self.tape: Tape = (
            DrawnTape(request.seed, keep=request.keep_tape)
            if request.tape is None
            else FixedTape(request.tape)
        )
        limits = request.limits
        self.kernel = Kernel(
            self.tape,
            steps_max=limits.steps,
            steps_at_once_max=limits.steps_at_once,
            until_us=limits.virtual_us or _longest_us(self.plan),
        )
        self.timeline = Timeline(request.variant, self.plan.slack_us)
        self.log = Log(self.kernel, self.timeline, self.plan.limits.events, taker)
        if request.enough is not None:
            for kind in (ProcessEnded, UpkeepEnded):
                self.log.listeners[kind] = self._is_enough
        self.script = Counted(request.script or DrawnScript(self.plan))
        self.ended, self.reason, self.stacks = FINISHED, "", ""
        self.network: Network | None = None
        self.error: Exception | None = None

    def to_the_end(self) -> SimResult:
        controller = SimHost(self.kernel, CONTROLLER, "controller", HostSink(self.log, CONTROLLER))
        journal = controller.sink
        self._record_beginning(journal)
        controller.start(self._lead)
        try:
            self.kernel.run(until=controller)
        except Stuck as stuck:
            self._stuck(stuck, journal)
        if self.error is not None:
            raise self.error
        journal.muted = False
        journal.record_fields(Kind.RUN_ENDED, reason=self.ended)
        return self._result()

    async def _lead(self, controller: SimHost) -> None:
        """The controller's program."""
        try:
            await self._conduct(controller)
        except WorldError as error:
            self.ended, self.reason = FAILED, str(error)
        except Exception as error:  # noqa: BLE001 - raised again where the run was asked for
            self.error = error

    async def _conduct(self, controller: SimHost) -> None:
        world = self._world(controller)
        await world.open()
        server = f"simulated {self.model.version}"
        controller.sink.record_fields(Kind.SERVER_FOUND, of=world.variant, server=server)
        watch = Watch(self.timeline)
        await Conductor(self.plan, world, controller.sink, watch, self.script).conduct()
        await world.end()
        world.raise_failure()

    def _world(self, controller: SimHost) -> SimWorld:
        request = self.request
        self.model = RedisModel(
            self.kernel.now_us, epoch_us=seams.EPOCH_US, fsync_every_us=_fsync_every_us(self.plan)
        )
        self.network = network = Network(self.kernel, self.model, self.tape)
        host = f"{request.variant}/redis"
        server = SimServer(host, self.kernel, self.model, network, controller.sink)
        client = functools.partial(make_client, network)
        program = Program(self.plan, request.patch, client, request.app)
        return SimWorld(request.variant, self.plan, self.kernel, self.log, program, server, network)

    def _record_beginning(self, journal: HostSink) -> None:
        journal.record_fields(
            Kind.RUN_BEGAN,
            run=f"{self.plan.plan}-{self.plan.seed}",
            plan=self.plan.plan,
            world="sim",
            seed=self.plan.seed,
            variants=(self.request.variant,),
        )

    def _is_enough(self, _event: Event) -> None:
        enough = self.request.enough
        if enough is not None and enough(self.timeline):
            self.kernel.stop(FIRST_FAILURE, "it was ended at its first failure")

    def _stuck(self, stuck: Stuck, journal: HostSink) -> None:
        self.ended, self.reason = stuck.kind, str(stuck)
        journal.muted = False
        if stuck.kind == LIMIT:
            journal.record_fields(Kind.LIMIT_REACHED, limit=self.reason, of=self.request.variant)
        elif stuck.kind in (LIVELOCK, DEADLOCK):
            self.stacks = "\n".join(
                host.stacks() for host in self.kernel.hosts.values() if not host.gone
            )

    def _result(self) -> SimResult:
        return SimResult(
            history=History(self.log.events),
            timeline=self.timeline,
            digest=self.log.digest(),
            decisions=self.script.decisions + self.tape.differing,
            tape=dict(self.tape.entries),
            steps=self.kernel.steps,
            virtual_us=self.kernel.time_us,
            ended=self.ended,
            reason=self.reason,
            stacks=self.stacks,
        )

    def dispose(self) -> None:
        """Unwind what still stands somewhere, so that nothing of it speaks up later."""
        if self.network is not None:
            self.network.close()
        self.kernel.dispose()
        for host in self.kernel.hosts.values():
            probe = host.context.get(PROCESS)
            if probe is not None:
                probe.close()  # its wrappers hold each other: 4 of 10 objects for the collector


@dataclass
class Counted:
    """A script that counts what was taken from it.

    Attributes:
        decisions: enqueues and injections so far.
    """

    script: Script
    decisions: int = 0

    def enqueues(self) -> Iterator[tuple[int, Enqueue]]:
        for one in self.script.enqueues():
            self.decisions += 1
            yield one

    def injections(self, fault: int) -> tuple[int, ...]:
        times = self.script.injections(fault)
        self.decisions += len(times)
        return times


@dataclass
class Watch:
    """What the fold says so far (`chaos.run.Watch`)."""

    timeline: Timeline
    phase: str = ""
    until_us: int = field(default=0)

    def idle_since(self, asked_us: int) -> bool:
        depth = self.timeline.depth
        if depth is None or depth.t_us < asked_us or self.timeline.attempts.alive_count():
            return False
        return depth.queued == depth.active == depth.incomplete == 0

    def entered(self, phase: str, until_us: int) -> None:
        self.phase, self.until_us = phase, until_us


def _fsync_every_us(plan: Plan) -> int | None:
    """How often data reaches the disk, if the plan has a fault that loses what has not."""
    data = [spec.data for spec in plan.faults if isinstance(spec, RedisRestartFault)]
    return SECOND_US if "last_writes_lost" in data else None


def _with_seed(plan: Plan, seed: int) -> Plan:
    return plan if plan.seed == seed else plan.model_copy(update={"seed": seed})


def _longest_us(plan: Plan) -> int:
    """More than the phases of a plan can take."""
    return 2 * (plan.duration_us + plan.drain_us) + MARGIN_US
