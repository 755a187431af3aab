"""`soak` in the simulator: one seed on every variant, with the run directory of a live soak.

    variant ─► Child ─► hosts/<variant>.jsonl ─► Follower ─► Timeline ─► display, thresholds
                             └────── merged ─────► history.jsonl ─► judge ─► verdict, reports

Each variant runs in a process of its own, and its history is followed while it grows, so that a run
of two days of virtual time shows what it does as a live one would. ^C and a failed threshold end it
in good order: what was recorded so far is judged and kept.
"""

from __future__ import annotations

import heapq
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from chaos import counters, gate, judge, plan_file, variants
from chaos.clock import SECOND_US, format_duration
from chaos.environments import Environment
from chaos.errors import HostFailed, SaqChaosError, UsageError
from chaos.event import Event, PhaseBegan, RunBegan, RunEnded
from chaos.explore.process import Child
from chaos.explore.protocol import RunDone, RunOne, Subject, plan_text
from chaos.history import History, read_line
from chaos.live import run_dir
from chaos.metrics import exposition
from chaos.request import Observer, SoakRequest, VariantStatus
from chaos.soak import METRICS_FILE, SoakResult, check_application
from chaos.steering import Wanted
from chaos.stored import HISTORY_FILE, PLAN_FILE
from chaos.timeline import Timeline
from chaos.variants import Variant
from chaos.verdict import Outcome, PromiseVerdict, VariantVerdict, Verdict, worst
from chaos.version import VERSION

TICK_SECONDS = 0.5
NOTE_SECONDS = 10.0
FAILED = "failed"
_CHUNK = 1 << 20


def soak_simulated(request: SoakRequest, observer: Observer, jobs: int) -> SoakResult:
    """Make one run in the simulator, `jobs` variants at a time.

    Raises:
        UsageError: the request cannot be carried out; nothing was started.
        WorldError: an environment could not be built.
    """
    plan = request.plan
    check_application(request)
    app, python = request.application, request.python
    builds = variants.parse_all(plan.variants)
    variants.check(builds, app=app, python=python, sim=True)
    environments = [
        variants.prepare(build, observer.note, app=app, python=python, sim=True) for build in builds
    ]
    folder = run_dir.make(request.runs_dir, plan, request.run)
    (folder / PLAN_FILE).write_text(plan_file.dump(plan), "utf-8")
    lanes = tuple(
        _Lane(request, build, environment, folder / "hosts" / f"{build.label}.jsonl")
        for build, environment in zip(builds, environments, strict=True)
    )
    soaking = _Simulated(request, observer, folder, lanes)
    soaking.run(1 if plan.order == "in-turn" else max(1, jobs))
    return soaking.conclude()


class Follower:
    """Reads a history while it grows, and folds it.

    Attributes:
        events: everything so far.
        timeline: the fold of that.
        phase: the phase that it is in.
    """

    def __init__(self, path: Path, variant: str, slack_us: int) -> None:
        self.events: list[Event] = []
        self.timeline = Timeline(variant, slack_us)
        self.phase = "preparing"
        self._path = path
        self._position = 0
        self._rest = b""

    def read(self) -> list[str]:
        """Take in what was written since the last call; the phases that began in it."""
        began: list[str] = []
        for line in self._lines():
            event = read_line(line)
            self.events.append(event)
            self.timeline.feed(event)
            if isinstance(event, PhaseBegan):
                self.phase = event.phase
                began.append(event.phase)
        return began

    def _lines(self) -> Iterator[bytes]:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._position)
            while data := file.read(_CHUNK):
                self._position += len(data)
                *lines, self._rest = (self._rest + data).split(b"\n")
                yield from lines


@dataclass
class _Lane:
    """One variant's run."""

    request: SoakRequest
    build: Variant
    environment: Environment
    path: Path
    done: RunDone | None = None
    error: SaqChaosError | None = None
    child: Child = field(init=False)
    follower: Follower = field(init=False)

    def __post_init__(self) -> None:
        self.child = Child(self.environment)
        self.follower = Follower(self.path, self.build.label, self.request.plan.slack_us)

    def run(self) -> None:
        """Run it to its end, in the thread that the process is tied to."""
        build, app = self.build, self.request.application
        subject = Subject(
            plan=plan_text(self.request.plan),
            variant=build.label,
            patch=build.patch,
            app=app or "",
            folder=str(variants.own_code_folder(build, app) or ""),
        )
        seed = self.request.plan.seed
        job = RunOne(subject=subject, seed=seed, history_to=str(self.path), decisions=False)
        with self.child:
            try:
                self.done = self.child.one(job)
            except SaqChaosError as error:
                self.error = error

    @property
    def ended(self) -> str:
        """How it ended; what got stuck finished, with a finding."""
        if self.done is None:
            return FAILED
        ended = self.done.summary.ended
        return "finished" if ended in ("livelock", "deadlock") else ended

    def moves(self) -> PromiseVerdict | None:
        """The promise that the simulating process judges itself."""
        return self.done.summary.verdict.promises[-1] if self.done else None


@dataclass
class _Simulated:
    """The whole run while it goes on."""

    request: SoakRequest
    observer: Observer
    folder: Path
    lanes: tuple[_Lane, ...]
    ended: str = "finished"
    _stopped: bool = False
    _ending: signal.Signals | None = None
    _began: float = field(default_factory=time.monotonic)
    _noted: float = field(default_factory=time.monotonic)

    def run(self, jobs: int) -> None:
        """Run every variant, and show what they do."""
        steered = self.request.steering.of(self, lambda call, *given: call(*given))
        with steered, ThreadPoolExecutor(jobs, thread_name_prefix="variant") as executor:
            running = [executor.submit(lane.run) for lane in self.lanes]
            while not all(future.done() for future in running):
                try:
                    self._watch(running)
                except KeyboardInterrupt:
                    self._end("interrupted", signal.SIGUSR1, running)
            for future in running:
                if not future.cancelled():
                    future.result()
        self._show()

    def stop(self) -> None:
        """End the run soon, from any thread (`chaos.steering`)."""
        self._stopped = True

    def inject(self, wanted: Wanted) -> tuple[str, ...]:
        """Never: what happens in the simulator follows from the plan and its seed alone.

        Raises:
            UsageError: always.
        """
        name = getattr(wanted.fault, "fault", "a fault")
        raise UsageError(f"{name} cannot be injected: a simulated run follows its seed alone")

    def _watch(self, running: list[Future[None]]) -> None:
        wait(running, timeout=TICK_SECONDS)
        self._show()
        if self._stopped and self.ended == "finished":
            self._end("interrupted", signal.SIGUSR1, running)
        elif self._ending is not None:  # a process that was starting did not hear it the first time
            for lane in self.lanes:
                lane.child.end_run(self._ending)
        for lane in self.lanes:
            for failed in judge.failed_early(self.request.plan, lane.follower.timeline):
                if self.ended == "finished":
                    self.observer.note(f"{lane.build.label}: threshold {failed} failed: it ends")
                    self._end("aborted", signal.SIGUSR2, running)

    def _end(self, reason: str, number: signal.Signals, running: list[Future[None]]) -> None:
        """End the run for this reason; the first one stays. A second ^C ends the processes."""
        for future in running:
            future.cancel()
        for lane in self.lanes:
            if self.ended == "interrupted":
                lane.child.kill()
            else:
                lane.child.end_run(number)
        if self.ended == "finished":
            self.ended, self._ending = reason, number

    def _show(self) -> None:
        for lane in self.lanes:
            for phase in lane.follower.read():
                self.observer.phase(lane.build.label, phase)
        self.observer.tick(tuple(map(self._status, self.lanes)))
        self.observer.folded(tuple(lane.follower.timeline for lane in self.lanes))
        if time.monotonic() - self._noted >= NOTE_SECONDS:
            self._noted = time.monotonic()
            for lane in self.lanes:
                self.observer.note(self._how_far(lane))

    def _status(self, lane: _Lane) -> VariantStatus:
        plan, timeline = self.request.plan, lane.follower.timeline
        left_us = plan.duration_us + plan.drain_us - timeline.now_us
        return VariantStatus(
            variant=lane.build.label,
            phase="done" if lane.done else lane.follower.phase,
            left_us=max(0, left_us),
            counters=counters.values(timeline),
            faults_active=tuple(timeline.faults.active()),
        )

    def _how_far(self, lane: _Lane) -> str:
        now_us = lane.follower.timeline.now_us
        speed = now_us / SECOND_US / max(0.001, time.monotonic() - self._began)
        whole = format_duration(self.request.plan.duration_us)
        return f"{lane.build.label}: {clock(now_us)} of {whole}, {speed:,.0f} × real time"

    # --- after the run ----------------------------------------------------------------------------

    def conclude(self) -> SoakResult:
        """Judge, decide and write what was recorded, however the run ended."""
        plan = self.request.plan
        failure = self._failure()
        history = self._history()
        judged = self._judged(history)
        verdict = Verdict(
            run=self.folder.name,
            plan=plan.plan,
            world=self.request.world,
            seed=plan.seed,
            version=VERSION,
            history_digest=history.digest(),
            variants=judged.variants,
            gate=gate.decide(plan, judged.variants),
            ended=self.ended,
            repeat=self.request.repeat_command(self.folder / PLAN_FILE),
            events=len(history),
        )
        (self.folder / METRICS_FILE).write_bytes(exposition(plan, judged))
        for lane in self.lanes:
            lane.path.unlink(missing_ok=True)
            if lane.done:
                self.observer.note(speed_line(lane.build.label, lane.done))
        return SoakResult(verdict, history, self.folder, failure, judged.timelines)

    def _failure(self) -> SaqChaosError | None:
        """Why the world failed, if it did; the run's end is settled with it."""
        for lane in self.lanes:
            if self.ended == "finished" and lane.ended != "finished":
                self.ended = lane.ended
        if self.ended != FAILED:
            return None
        errors = [lane.error for lane in self.lanes if lane.error is not None]
        reasons = (
            f"{lane.build.label}: {lane.done.summary.reason}" for lane in self.lanes if lane.done
        )
        return errors[0] if errors else HostFailed("; ".join(reasons))

    def _history(self) -> History:
        """The history of all variants, written as history.jsonl."""
        if len(self.lanes) == 1 and self.lanes[0].path.exists():
            self.lanes[0].path.rename(self.folder / HISTORY_FILE)
            return History(self.lanes[0].follower.events)
        plan = self.request.plan
        began = RunBegan(
            run=f"{plan.plan}-{plan.seed}",
            plan=plan.plan,
            world=self.request.world,
            seed=plan.seed,
            variants=tuple(lane.build.label for lane in self.lanes),
        )
        each = (_of_one(lane.follower.events, lane.build.label) for lane in self.lanes)
        history = History([began, *heapq.merge(*each, key=lambda event: event.t_us)])
        history.write(self.folder / HISTORY_FILE)
        return history

    def _judged(self, history: History) -> judge.Judged:
        if len(self.lanes) == 1:
            timeline = self.lanes[0].follower.timeline
            judged = judge.Judged((judge.judge_timeline(self.request.plan, timeline),), (timeline,))
        else:
            judged = judge.judge(self.request.plan, history)
        found = zip(judged.variants, self.lanes, strict=True)
        with_moves = tuple(_with_moves(one, lane.moves()) for one, lane in found)
        return judge.Judged(with_moves, judged.timelines)


def _of_one(events: list[Event], label: str) -> Iterator[Event]:
    """One variant's events in a history of several: its beginning and end are not the run's."""
    for event in events:
        if isinstance(event, RunEnded):
            yield msgspec.structs.replace(event, of=label)
        elif not isinstance(event, RunBegan):
            yield event


def _with_moves(verdict: VariantVerdict, moves: PromiseVerdict | None) -> VariantVerdict:
    """The verdict with the promise that the simulating process judged itself.

    Its finding points at the last event of its own run, which another number has among several.
    """
    if moves is None:
        return verdict
    said = tuple(msgspec.structs.replace(one, events=()) for one in moves.findings)
    reasons = verdict.reasons
    if moves.outcome is Outcome.INVALID:
        reasons = (*reasons, f"{moves.promise} was broken: {said[0].message.splitlines()[0]}")
    return msgspec.structs.replace(
        verdict,
        promises=(*verdict.promises, msgspec.structs.replace(moves, findings=said)),
        outcome=worst((verdict.outcome, moves.outcome)),
        reasons=reasons,
    )


def clock(time_us: int) -> str:
    """`11h 20m`, `3m 5s`: how much virtual time has passed."""
    whole_s = time_us // SECOND_US
    if whole_s >= 3_600:
        return f"{whole_s // 3_600}h {whole_s // 60 % 60}m"
    return f"{whole_s // 60}m {whole_s % 60}s"


def speed_line(variant: str, done: RunDone) -> str:
    """How much virtual time passed in how much real time."""
    virtual_us, spent_us = done.summary.virtual_us, max(1, done.summary.spent_us)
    return (
        f"{variant}: {clock(virtual_us)} of virtual time in {spent_us / SECOND_US:.1f} s, "
        f"{virtual_us / spent_us:,.0f} × real time"
    )
