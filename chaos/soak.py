"""A soak from request to verdict: the worlds of all variants, led side by side or in turn.

    SoakRequest ─► variants, environments ─► run directory ─► worlds ─► Conductor each ─┐
                                                                                        │
    verdict ◄── gate ◄── judge ◄── history.jsonl ◄── merge of hosts/*.events ◄──────────┘

While the worlds run, the ledger folds their events for the display, the thresholds and Prometheus.
Whatever ends a run (its time, a signal, a threshold, a limit, a failed world), the faults heal, all
processes end, and what was recorded so far is judged and kept.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from chaos import counters, gate, host_files, judge, plan_file, variants
from chaos.clock import MILLISECOND_US, SECOND_US, MonotonicClock
from chaos.environments import Environment
from chaos.errors import SaqChaosError, UsageError
from chaos.event import CONTROLLER
from chaos.faults import check_fault, check_world
from chaos.history import History
from chaos.ledger import Ledger
from chaos.live import run_dir
from chaos.live.setting import RunClock, Setting
from chaos.live.world import LiveWorld, check_redis, open_world
from chaos.metrics import MetricsServer, exposition
from chaos.plan import App
from chaos.request import Observer, SoakRequest, VariantStatus
from chaos.run import Conductor
from chaos.steering import Wanted
from chaos.stored import HISTORY_FILE, PLAN_FILE
from chaos.tail import EventFile
from chaos.timeline import Timeline
from chaos.variants import Variant
from chaos.verdict import Verdict
from chaos.version import VERSION
from chaos.worker.events import Kind
from chaos.worker.recorder import Recorder

METRICS_FILE = "metrics.prom"
STEP_US = 100 * MILLISECOND_US
TICK_US = SECOND_US // 2


@dataclass(frozen=True, slots=True)
class SoakResult:
    """What a soak leaves: the verdict, its history, and the directory that holds both.

    `failure` is why the world failed, if it did: the verdict then speaks of what came before.
    `timelines` are the folds that the verdict was drawn from, one per variant.
    """

    verdict: Verdict
    history: History
    folder: Path
    failure: SaqChaosError | None = None
    timelines: tuple[Timeline, ...] = ()


def soak(request: SoakRequest, observer: Observer) -> SoakResult:
    """Make one run, from the main thread (children die with the thread that started them).

    Raises:
        UsageError: the request cannot be carried out; nothing was started.
        WorldError: there is no Redis server to start, an environment could not be built, or the
            metrics port is taken.
    """
    plan = request.plan
    check_application(request)
    check_world(plan, request.world)
    check_redis(plan, request.redis_url, allow_external=request.allow_external)
    builds = variants.parse_all(plan.variants)
    variants.check(builds, app=request.application, python=request.python)
    environments = [
        variants.prepare(build, observer.note, app=request.application, python=request.python)
        for build in builds
    ]
    ledger = Ledger((build.label for build in builds), plan.slack_us, plan.limits)
    with ExitStack() as stack:
        if request.metrics_port is not None:
            server = MetricsServer(plan, ledger.timelines.values(), request.metrics_port)
            port = stack.enter_context(server).port
            observer.note(f"metrics: http://127.0.0.1:{port}/metrics")
        folder = run_dir.make(request.runs_dir, plan, request.run)
        pairs = dict(zip(builds, environments, strict=True))
        soaking = _Soak(request, observer, ledger, folder, pairs)
        with soaking.recording():
            failure = asyncio.run(soaking.run())
    try:
        return _conclude(request, soaking, failure)
    except KeyboardInterrupt:
        observer.note(f"not judged yet; to do that: saq-chaos check {folder} --write")
        raise


def check_application(request: SoakRequest) -> None:
    """An app needs a plan that enqueues its functions, and such a plan needs an app."""
    is_app = isinstance(request.plan.workload, App)
    if request.app and not is_app:
        raise UsageError(
            f"--app {request.app}: plan {request.plan.plan!r} enqueues jobs of its own; write a "
            f"plan with `workload: {{kind: app, calls: …}}` (examples/chat_sender has one)"
        )
    if is_app and not request.application:
        raise UsageError(
            f"plan {request.plan.plan!r} enqueues an app's functions, and no app is named: "
            f"give --app module:settings, or `app:` in its workload"
        )


@dataclass
class _Progress:
    """Where one variant is, for the display."""

    phase: str = "preparing"
    until_us: int = 0


class _Watch:
    """The live fold of one variant, as the conductor asks for it (`chaos.run.Watch`)."""

    def __init__(self, soaking: _Soak, variant: str) -> None:
        self._soaking = soaking
        self._variant = variant

    def idle_since(self, asked_us: int) -> bool:
        timeline = self._soaking.ledger.timelines[self._variant]
        depth = timeline.depth
        if depth is None or depth.t_us < asked_us or timeline.attempts.alive_count():
            return False
        return depth.queued == depth.active == depth.incomplete == 0

    def entered(self, phase: str, until_us: int) -> None:
        self._soaking.progress[self._variant] = _Progress(phase, until_us)
        self._soaking.observer.phase(self._variant, phase)


@dataclass
class _Soak:
    """One run while it goes on."""

    request: SoakRequest
    observer: Observer
    ledger: Ledger
    folder: Path
    builds: dict[Variant, Environment]
    ended: str = "finished"
    origin_ns: int = field(default_factory=lambda: MonotonicClock().now_us() * 1_000)
    progress: dict[str, _Progress] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.plan = self.request.plan
        self.clock = RunClock(self.origin_ns)
        self.progress = {build.label: _Progress() for build in self.builds}
        self._salt = run_dir.new_salt()
        self._stop = asyncio.Event()
        self._conductors: dict[str, Conductor] = {}

    @contextmanager
    def recording(self) -> Iterator[None]:
        """The controller's own recorder, and what a run directory begins and ends with."""
        (self.folder / PLAN_FILE).write_text(plan_file.dump(self.plan), "utf-8")
        files = run_dir.controller_files(self.folder)
        self.journal = Recorder(str(files.path("events")))
        self._own = EventFile(files.path("events"), CONTROLLER, self.origin_ns)
        try:
            self._record_beginning()
            yield
        finally:
            self.journal.record_fields(Kind.RUN_ENDED, reason=self.ended)
            self.journal.close()
            run_dir.forget_salts(self.folder)

    def _record_beginning(self) -> None:
        self.journal.record_fields(
            Kind.RUN_BEGAN,
            run=self.folder.name,
            plan=self.plan.plan,
            world=self.request.world,
            seed=self.plan.seed,
            variants=[build.label for build in self.builds],
            wall=run_dir.wall_clock(),
        )

    async def run(self) -> SaqChaosError | None:
        """Lead all worlds; the failure that ended the run, if one did."""
        loop = asyncio.get_running_loop()
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        for number in before:
            loop.add_signal_handler(number, self._end, "interrupted")
        leading = asyncio.create_task(self._lead_all())
        watching = asyncio.create_task(self._watch_over())
        stopping = asyncio.create_task(self._stop.wait())
        tasks = (leading, watching, stopping)
        try:
            with self.request.steering.of(self, loop.call_soon_threadsafe):
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)  # that alone would let SIGTERM just kill us
                signal.signal(number, handler)
        return self._failure(results)

    def _failure(self, results: Sequence[object]) -> SaqChaosError | None:
        errors = [found for result in results for found in _leaves(result)]
        for error in errors:
            if not isinstance(error, SaqChaosError):
                raise error
        if not errors:
            return None
        if self.ended == "finished":
            self.ended = "failed"
        return errors[0] if isinstance(errors[0], SaqChaosError) else None

    # --- leading ----------------------------------------------------------------------------------

    async def _lead_all(self) -> None:
        if self.plan.order == "in-turn" or self.request.redis_url is not None:
            for build in self.builds:
                await self._lead(build, asyncio.Barrier(1))
            return
        together = asyncio.Barrier(len(self.builds))
        async with asyncio.TaskGroup() as group:
            for build in self.builds:
                group.create_task(self._lead(build, together))

    async def _lead(self, build: Variant, together: asyncio.Barrier) -> None:
        """One variant from its world's opening to its end; all begin SAFETY at one time."""
        async with open_world(self._setting(build), self.journal, self.ledger.arrive) as world:
            self._record_server(world)
            await together.wait()
            watch = _Watch(self, build.label)
            conductor = Conductor(self.plan, world, self.journal, watch, self.request.script)
            self._conductors[build.label] = conductor
            await conductor.conduct()
            self.progress[build.label] = _Progress("ending", self.clock.now_us() + 10 * SECOND_US)
        self.progress[build.label] = _Progress("done", self.clock.now_us())
        self.observer.phase(build.label, "done")

    def _record_server(self, world: LiveWorld) -> None:
        self.journal.record_fields(Kind.SERVER_FOUND, of=world.variant, server=world.server)
        self.observer.note(f"{world.variant}: {self.plan.workers.count} workers on {world.server}")

    def _setting(self, build: Variant) -> Setting:
        return Setting(
            plan=self.plan,
            variant=build,
            environment=self.builds[build],
            run_dir=self.folder,
            run=self.folder.name,
            origin_ns=self.origin_ns,
            salt=self._salt,
            app=self.request.application,
            redis_url=self.request.redis_url,
            allow_external=self.request.allow_external,
        )

    # --- told from outside (chaos.steering) -------------------------------------------------------

    def stop(self) -> None:
        """End the run as ^C does."""
        self._end("interrupted")

    def inject(self, wanted: Wanted) -> tuple[str, ...]:
        """Inject a fault into the variants that are named; into those in SAFETY if none is.

        Raises:
            UsageError: it cannot be done on one of them; then it is done on none.
        """
        check_fault(wanted.fault, self.request.world, external=self.request.redis_url is not None)
        there = [build.label for build in self.builds]
        unknown = [label for label in wanted.variants or () if label not in there]
        if unknown:
            raise UsageError(f"{unknown[0]!r} is no variant of this run: {', '.join(there)}")
        chosen = [label for label in wanted.variants or there if self._is_open(label, wanted)]
        if not chosen:
            phases = ", ".join(f"{one}: {self.progress[one].phase}" for one in there)
            raise UsageError(f"faults are injected in phase safety alone ({phases})")
        for label in chosen:
            self._conductors[label].inject(wanted.fault, wanted.by)
        return tuple(chosen)

    def _is_open(self, label: str, wanted: Wanted) -> bool:
        """Whether a variant takes faults now; one that was named and does not is an error."""
        is_open = label in self._conductors and self._conductors[label].is_open
        if wanted.variants is not None and not is_open:
            phase = self.progress[label].phase
            raise UsageError(f"faults are injected in phase safety alone ({label}: {phase})")
        return is_open

    # --- watching over ----------------------------------------------------------------------------

    async def _watch_over(self) -> None:
        """Fold what arrives, show it, and end the run at a limit or a failed threshold."""
        next_tick_us = 0
        while True:  # until the worlds are led to their end, which has its own bounds
            self.ledger.arrive(self._own.read())
            self.ledger.settle(self.clock.now_us())
            if self.clock.now_us() >= next_tick_us:
                next_tick_us = self.clock.now_us() + TICK_US
                self.observer.tick(self._statuses())
                self.observer.folded(tuple(self.ledger.timelines.values()))
                self._check_limits()
                self._check_thresholds()
            await asyncio.sleep(STEP_US / SECOND_US)

    def _check_limits(self) -> None:
        limit = self.ledger.limit_reached(host_files.size(self.folder))
        if limit:
            self.journal.record_fields(Kind.LIMIT_REACHED, limit=limit)
            self._end("limit")

    def _check_thresholds(self) -> None:
        for timeline in self.ledger.timelines.values():
            for failed in judge.failed_early(self.plan, timeline):
                self.observer.note(f"{timeline.variant}: threshold {failed} failed: the run ends")
                self._end("aborted")

    def _end(self, reason: str) -> None:
        """End the run for this reason; the first one stays."""
        if self.ended == "finished":
            self.ended = reason
        self._stop.set()

    def _statuses(self) -> tuple[VariantStatus, ...]:
        now_us = self.clock.now_us()
        return tuple(
            VariantStatus(
                variant=variant,
                phase=progress.phase,
                left_us=max(0, progress.until_us - now_us),
                counters=counters.values(self.ledger.timelines[variant]),
                faults_active=tuple(self.ledger.timelines[variant].faults.active()),
            )
            for variant, progress in self.progress.items()
        )


def _leaves(result: object) -> Iterator[BaseException]:
    """The errors of a task's result; a cancel is none."""
    if isinstance(result, BaseExceptionGroup):
        for inner in result.exceptions:
            yield from _leaves(inner)
    elif isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
        yield result


# --- after the run --------------------------------------------------------------------------------


def _conclude(request: SoakRequest, soaking: _Soak, failure: SaqChaosError | None) -> SoakResult:
    """Merge, judge, decide and write what was recorded, however the run ended."""
    history = host_files.merge(soaking.folder, soaking.origin_ns)
    history.write(soaking.folder / HISTORY_FILE)
    judged = judge.judge(request.plan, history)
    verdict = Verdict(
        run=soaking.folder.name,
        plan=request.plan.plan,
        world=request.world,
        seed=request.plan.seed,
        version=VERSION,
        history_digest=history.digest(),
        variants=judged.variants,
        gate=gate.decide(request.plan, judged.variants),
        ended=soaking.ended,
        repeat=request.repeat_command(soaking.folder / PLAN_FILE),
        events=len(history),
    )
    (soaking.folder / METRICS_FILE).write_bytes(exposition(request.plan, judged))
    return SoakResult(verdict, history, soaking.folder, failure, judged.timelines)
