"""An exploration from request to verdict.

    ExploreRequest ─► environments ─► Search ─► VariantTally per variant ─► gate ─► verdict.json
                                                     │                              explored.json
                                                     └─► the first failure ─► history.jsonl
                                                                 └─► shrunk ─► failure.json

However it ends (its extent, ^C, a process that died), what was found so far is judged and kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from chaos import gate, plan_file, variants
from chaos.errors import SaqChaosError, UsageError
from chaos.explore import tasks
from chaos.explore.aggregate import VariantTally
from chaos.explore.capture import Capture, Captured, capture
from chaos.explore.process import Child
from chaos.explore.protocol import STANDSTILL, RunOne, Subject, plan_text
from chaos.explore.request import ExploreObserver, ExploreRequest, ExploreStatus, LaneStatus
from chaos.explore.results import Explored, FirstFailure, Shrunk, changed_seeds, render
from chaos.explore.search import Lane, Search
from chaos.explore.tasks import Place
from chaos.history import History
from chaos.live import run_dir
from chaos.plan import App
from chaos.stored import HISTORY_FILE, PLAN_FILE
from chaos.verdict import VariantVerdict, Verdict
from chaos.version import VERSION

EXPLORED_FILE = "explored.json"


@dataclass(frozen=True, slots=True)
class ExploreResult:
    """What an exploration leaves.

    `history` is that of the failure that was looked at, if there is one, and `captured` what it was
    shrunk to; `failure` is why the exploration itself failed, if it did: the verdict then speaks of
    what came before.
    """

    verdict: Verdict
    explored: Explored
    folder: Path
    history: History | None = None
    captured: Captured | None = None
    failure: SaqChaosError | None = None


def explore(
    request: ExploreRequest, observer: ExploreObserver, executor: Executor | None = None
) -> ExploreResult:
    """Make one exploration.

    Args:
        request: what is searched, and how far.
        observer: told how it goes.
        executor: what runs the seeds (`chaos.explore.tasks`); it stays open. None: threads here,
            each with a simulating process of its own.

    Raises:
        UsageError: the request cannot be carried out; nothing was started.
        WorldError: an environment could not be built, or no simulating process comes up.
    """
    check_application(request)
    lanes = _lanes(request, observer)
    folder = run_dir.make(request.runs_dir, request.plan)
    (folder / PLAN_FILE).write_text(plan_file.dump(request.plan), "utf-8")
    exploring = _Exploring(request, observer, lanes, folder)
    exploring.search_seeds(executor)
    return exploring.conclude()


def check_application(request: ExploreRequest) -> None:
    """An app needs a plan that enqueues its functions, and such a plan needs an app."""
    if isinstance(request.plan.workload, App) != (request.application is not None):
        raise UsageError(
            f"plan {request.plan.plan!r} and --app do not go together: a plan with "
            f"`workload: {{kind: app, …}}` needs an app, and another plan takes none"
        )


def _lanes(request: ExploreRequest, observer: ExploreObserver) -> tuple[Lane, ...]:
    """Every variant with its environment, in the plan's order."""
    plan, app, python = request.plan, request.application, request.python
    builds = variants.parse_all(plan.variants)
    variants.check(builds, app=app, python=python, sim=True)
    lanes: list[Lane] = []
    for build in builds:
        environment = variants.prepare(build, observer.note, app=app, python=python, sim=True)
        subject = Subject(
            plan=plan_text(plan),
            variant=build.label,
            patch=build.patch,
            app=app or "",
            folder=str(variants.own_code_folder(build, app) or ""),
            calm=request.calm,
        )
        place = Place(build, environment, app, python)
        lanes.append(Lane(place, subject, VariantTally(plan, build.label)))
    return tuple(lanes)


@dataclass
class _Exploring:
    """One exploration while it goes on."""

    request: ExploreRequest
    observer: ExploreObserver
    lanes: tuple[Lane, ...]
    folder: Path
    ended: str = "finished"
    failure: SaqChaosError | None = None
    search_us: int = 0
    told: set[tuple[str, str]] = field(default_factory=set)
    began_ns: int = 0

    def search_seeds(self, given: Executor | None) -> None:
        """Run seeds until it is enough; ^C and a process that dies end it early."""
        with self._executor(given) as executor:
            search = Search(
                self.lanes,
                self.request.plan.seed,
                self.request.extent,
                executor,
                jobs=self.request.jobs,
                swarm=self.request.swarm,
                tell=self._tell,
            )
            try:
                search.warm_up()
                self.began_ns = time.monotonic_ns()
                search.run()
            except KeyboardInterrupt:
                self.ended = "interrupted"
            except SaqChaosError as error:
                self.ended, self.failure = "failed", error
            self.search_us = search.search_us

    @contextmanager
    def _executor(self, given: Executor | None) -> Iterator[Executor]:
        """The one that was handed in, which stays open; or threads, ended with their processes."""
        if given is not None:
            yield given
            return
        executor = ThreadPoolExecutor(self.request.jobs, thread_name_prefix="seeds")
        try:
            yield executor
        finally:
            tasks.kill_children()  # a thread that still waits for one is free to go
            executor.shutdown(wait=True, cancel_futures=True)
            tasks.close_children()

    def _tell(self) -> None:
        for lane in self.lanes:
            for failure in lane.tally.first.values():
                if (failure.variant, failure.promise) not in self.told:
                    self.told.add((failure.variant, failure.promise))
                    self.observer.found(failure)
        search_us = (time.monotonic_ns() - self.began_ns) // 1_000
        self.observer.progress(
            ExploreStatus(
                search_us=search_us,
                extent=self.request.extent,
                lanes=tuple(map(_status, self.lanes)),
            )
        )

    # --- the end ----------------------------------------------------------------------------------

    def conclude(self) -> ExploreResult:
        """Judge all seeds together, look at the first failure, and write what there is."""
        judged = tuple(lane.tally.verdict() for lane in self.lanes)
        history, captured, shrunk = None, None, None
        first = chief_failure(self.request, self.lanes)
        if first is not None and self.ended == "finished":
            history, judged = self._look_at(first, judged)
            if self.request.shrink:
                captured, shrunk = self._shrunk(first)
        explored = self._explored(shrunk)
        (self.folder / EXPLORED_FILE).write_bytes(render(explored))
        verdict = Verdict(
            run=self.folder.name,
            plan=self.request.plan.plan,
            world="sim",
            seed=self.request.plan.seed,
            version=VERSION,
            history_digest=history.digest() if history is not None else "",
            variants=judged,
            gate=gate.decide(self.request.plan, judged),
            ended=self.ended,
            repeat=self.request.repeat_command(self.folder / PLAN_FILE),
            events=sum(lane.tally.events for lane in self.lanes),
        )
        return ExploreResult(verdict, explored, self.folder, history, captured, self.failure)

    def _look_at(
        self, first: FirstFailure, judged: tuple[VariantVerdict, ...]
    ) -> tuple[History, tuple[VariantVerdict, ...]]:
        """Run the failing seed once more, for its history; its findings then have their events."""
        lane = next(one for one in self.lanes if one.tally.variant == first.variant)
        plan = self.request.plan_of(first.number, first.seed)
        path = self.folder / HISTORY_FILE
        with Child(lane.place.environment) as child:
            subject = msgspec.structs.replace(lane.subject, plan=plan_text(plan))
            wanted = RunOne(subject=subject, seed=first.seed, history_to=str(path), decisions=False)
            done = child.one(wanted)
        shown = tuple(
            with_evidence(one, done.summary.verdict) if one.variant == first.variant else one
            for one in judged
        )
        return History.read(path), shown

    def _shrunk(self, first: FirstFailure) -> tuple[Captured, Shrunk] | tuple[None, None]:
        """Shrink the failing seed; ^C leaves it as it is."""
        began_ns = time.monotonic_ns()
        lane = next(one for one in self.lanes if one.tally.variant == first.variant)
        wanted = Capture(
            variant=lane.place.variant,
            plan=self.request.plan_of(first.number, first.seed),
            seed=first.seed,
            promise="" if first.promise == STANDSTILL else first.promise,
            kind=first.kind,
            app=self.request.application,
            calm=self.request.calm,
        )
        self.observer.note(f"shrinking seed {first.seed} of {first.variant}")
        try:
            with Child(lane.place.environment) as child:
                captured = capture(wanted, child, self.folder, self.observer.note)
        except KeyboardInterrupt:
            self.ended = "interrupted"
            return None, None
        except SaqChaosError as error:
            self.observer.note(f"seed {first.seed} of {first.variant} was not shrunk: {error}")
            return None, None
        decisions = captured.failure.decisions
        return captured, Shrunk(
            variant=first.variant,
            seed=first.seed,
            promise=first.promise,
            kind=first.kind,
            before=decisions.before,
            after=decisions.after,
            reruns=decisions.reruns,
            spent_us=(time.monotonic_ns() - began_ns) // 1_000,
        )

    def _explored(self, shrunk: Shrunk | None) -> Explored:
        compared = min(lane.compared for lane in self.lanes)
        changed, count = changed_seeds([lane.tally.failures for lane in self.lanes], compared)
        return Explored(
            base_seed=self.request.plan.seed,
            swarm=self.request.swarm,
            jobs=self.request.jobs,
            search_us=self.search_us,
            variants=tuple(lane.tally.explored() for lane in self.lanes),
            first=tuple(one for lane in self.lanes for one in lane.tally.first.values()),
            changed=changed if len(self.lanes) > 1 else (),
            changed_count=count if len(self.lanes) > 1 else 0,
            compared=compared,
            shrunk=shrunk,
        )


def chief_failure(request: ExploreRequest, lanes: tuple[Lane, ...]) -> FirstFailure | None:
    """The failure to look at: of the promise that the plan names first, by its number.

    A baseline is expected to fail, so what another variant broke comes before that.
    """
    order = [*request.plan.promises]
    baseline = None
    if request.plan.gate == "baseline" and request.plan.baseline:
        baseline = variants.parse(request.plan.baseline).label
    found = [one for lane in lanes for one in lane.tally.first.values()]

    def rank(one: FirstFailure) -> tuple[int, bool, int]:
        place = order.index(one.promise) if one.promise in order else len(order)
        return place, one.variant == baseline, one.number

    return min(found, key=rank, default=None)


def with_evidence(judged: VariantVerdict, seed: VariantVerdict) -> VariantVerdict:
    """All seeds' verdict with one seed's findings in front: their events are in its history."""
    found = {one.promise: one.findings for one in seed.promises}
    return msgspec.structs.replace(
        judged,
        promises=tuple(
            msgspec.structs.replace(
                one, findings=(*found[one.promise], *one.findings[len(found[one.promise]) :])
            )
            if found.get(one.promise)
            else one
            for one in judged.promises
        ),
        first_key_error_us=seed.first_key_error_us,
    )


def _status(lane: Lane) -> LaneStatus:
    tally = lane.tally
    explored = tally.explored()
    return LaneStatus(
        variant=tally.variant,
        seeds=tally.seeds,
        failing={one.name: one.seeds for one in tally.promises.values() if one.seeds},
        interleavings=len(explored.interleavings),
        possible=explored.possible,
        since_new=max(0, tally.seeds - explored.new_at - 1),
    )
