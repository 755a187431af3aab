"""Whether the two worlds say the same: each plan with each seed in both, and the verdicts beside
each other.

    plan, seed ─┬─► soak on real parts    ─► verdicts ─┐
                └─► soak in the simulator ─► verdicts ─┴─► pooled per promise, variant and world
                                                                     └─► cells that differ

A cell is one promise on one variant in one plan. Its runs are pooled as an exploration pools seeds
(`chaos.explore.aggregate`): INVALID if any run broke the promise, UNKNOWN if none met its danger.
Where the two worlds' outcomes differ, an exact test says whether one rate can explain both: if it
can, that is chance and wants more seeds; if it cannot, one world does what the other does not, and
the event that it cannot produce belongs into KNOWN. A cell in which both worlds broke the promise
is equal, however often each did: the worlds promise the same verdicts, not the same rates.

Runs follow one another, and of each seed the simulated one comes first. It needs nothing but the
public ways to make a run, so what it compares is what a user gets. Live runs take minutes, so those
that an earlier comparison left can be taken as they are: same plan, to the letter, and same seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from chaos import plan_file
from chaos.errors import HostFailed, UsageError
from chaos.explore.aggregate import PromiseTally
from chaos.explore.simulated import soak_simulated
from chaos.plan import Plan
from chaos.request import Observer, SoakRequest
from chaos.soak import SoakResult, soak
from chaos.stored import PLAN_FILE, VERDICT_FILE
from chaos.verdict import Outcome, PromiseVerdict, VariantVerdict, Verdict, rate_is_higher_p

World = Literal["live", "sim"]
WORLDS: tuple[World, World] = ("live", "sim")
PLANS = ("same-key", "rolling-deploy")
VARIANTS = ("stock@0.26.3", "guarded@0.26.3", "stock@0.26.4")
LEVEL = 0.01  # below it, one rate does not explain both counts
_COMMON_EXPOSURE = "attempts"

Report = Callable[[SoakResult], None]


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A cell that is known to differ.

    Attributes:
        event: what happens in one world and cannot happen in the other, in a sentence.
        test: the test that shows it.
    """

    plan: str
    promise: str
    variant: str
    event: str
    test: str


KNOWN_DIFFERENCES: tuple[Known, ...] = ()


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A cell in one world.

    Attributes:
        attempts: how many ran, which is what rates are per if the worlds met different dangers.
    """

    outcome: Outcome
    count: int
    exposure: int
    exposure_name: str
    kinds: dict[str, int]
    attempts: int
    reason: str = ""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One promise on one variant of one plan, in both worlds.

    Attributes:
        p: how probable counts as far apart as these are if both worlds have one rate (two-sided);
            1 where nothing can be rated.
        known: the event that one world cannot produce, if that is why they differ.
    """

    plan: str
    promise: str
    variant: str
    live: Side
    sim: Side
    p: float
    known: str = ""

    @property
    def differs(self) -> bool:
        """Whether the worlds' outcomes differ."""
        return self.live.outcome is not self.sim.outcome

    @property
    def is_chance(self) -> bool:
        """Whether they differ, and one rate can explain both."""
        return self.differs and self.p >= LEVEL


class Runs(msgspec.Struct, frozen=True, kw_only=True):
    """What was run of one plan; `servers` are those of the live runs, by name and version."""

    plan: str
    duration_us: int
    live_seeds: int
    sim_seeds: int
    servers: tuple[str, ...]


class TransferResult(msgspec.Struct, frozen=True, kw_only=True):
    """All cells of all plans.

    Attributes:
        cut_short: what kept single runs from being judged as a whole, if anything did.
        ended: `finished` or `interrupted`: then the cells hold what had been run.
    """

    runs: tuple[Runs, ...]
    variants: tuple[str, ...]
    cells: tuple[Cell, ...]
    cut_short: tuple[str, ...] = ()
    ended: str = "finished"

    @property
    def differing(self) -> tuple[Cell, ...]:
        """The cells that differ."""
        return tuple(cell for cell in self.cells if cell.differs)

    @property
    def transfers(self) -> bool:
        """Whether every run was made, and no cell differs but known ones."""
        made = self.ended == "finished" and bool(self.cells)
        return made and all(cell.known for cell in self.differing)


@dataclass
class Pool:
    """The runs of one plan on one variant in one world, so far."""

    plan: Plan
    runs: int = 0
    attempts: int = 0
    tallies: dict[str, PromiseTally] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tallies = {name: PromiseTally(name) for name in self.plan.promises}

    def add(self, verdict: VariantVerdict, seed: int) -> None:
        """Add one run. Promises that only one world judges (`no-standstill`) are left out."""
        for promise in verdict.promises:
            if promise.promise in self.tallies:
                self.tallies[promise.promise].add(promise, self.runs, seed)
        self.runs += 1
        self.attempts += int(verdict.counters.get(_COMMON_EXPOSURE, 0))

    def side(self, promise: str) -> Side:
        """One promise over all runs."""
        return side_of(self.tallies[promise].verdict(), self.attempts)


def side_of(pooled: PromiseVerdict, attempts: int) -> Side:
    """A pooled verdict as one side of a cell."""
    return Side(
        outcome=pooled.outcome,
        count=pooled.count,
        exposure=pooled.exposure,
        exposure_name=pooled.exposure_name,
        kinds=pooled.kinds,
        attempts=attempts,
        reason=pooled.reason,
    )


def run(
    plans: Sequence[Plan],
    seeds: int,
    sim_seeds: int,
    observer: Observer,
    report: Report,
    runs_dir: Path = Path("runs"),
    live_from: Path | None = None,
) -> TransferResult:
    """Run every plan with the seeds 1, 2, 3, … in both worlds, and compare.

    Args:
        plans: each with the variants to compare on.
        seeds: how many live runs of each.
        sim_seeds: how many simulated ones, from the same seed on.
        observer: told how each run goes.
        report: given each run's result, to write its report files.
        runs_dir: where run directories are made.
        live_from: run directories of an earlier comparison; live runs are taken from there, and
            made only where there is none of the same plan and seed.

    Raises:
        UsageError: a world cannot do one of a plan's faults, or a variant cannot be run; two plans
            have one name; nothing lies in `live_from`.
        WorldError: a world failed.
    """
    names = [plan.plan for plan in plans]
    if len(set(names)) < len(names):
        raise UsageError(f"two plans have one name: {', '.join(names)}; a plan's seeds are its own")
    stored = stored_live(live_from) if live_from else {}
    comparing = _Comparing(plans, observer, report, runs_dir, stored)
    for number in range(max(seeds, sim_seeds)):
        for plan in plans:
            if number < sim_seeds:
                comparing.one(plan, "sim", number + 1, sim_seeds)
            if number < seeds:
                comparing.one(plan, "live", number + 1, seeds)
    return comparing.result()


class _Comparing:
    """The comparison while it goes on."""

    def __init__(
        self,
        plans: Sequence[Plan],
        observer: Observer,
        report: Report,
        runs_dir: Path,
        stored: Mapping[str, Verdict],
    ) -> None:
        self._plans, self._observer = plans, observer
        self._report, self._runs_dir = report, runs_dir
        self._stored = stored
        self._pools: dict[tuple[str, World], dict[str, Pool]] = {
            (plan.plan, world): {} for plan in plans for world in WORLDS
        }
        self._servers: dict[str, dict[str, None]] = {plan.plan: {} for plan in plans}
        self._cut_short: list[str] = []
        self._ended = "finished"

    def one(self, plan: Plan, world: World, seed: int, of: int) -> None:
        """One run in one world, into its pools; nothing once it was interrupted."""
        if self._ended != "finished":
            return
        plan = plan.model_copy(update={"seed": seed})
        stored = self._stored.get(plan_file.dump(plan)) if world == "live" else None
        taken = f", as it lies in {stored.run}" if stored else ""
        self._observer.note(f"{plan.plan}, {world}, seed {seed} of {of}{taken}")
        if stored:
            self._take(plan, world, seed, stored)
            return
        request = SoakRequest(plan=plan, runs_dir=self._runs_dir, world=world)
        try:
            result = _made(request, self._observer)
        except KeyboardInterrupt:  # before there was anything to judge
            self._ended = "interrupted"
            return
        self._report(result)
        if result.failure is not None:
            raise result.failure
        if result.verdict.ended == "failed":
            raise HostFailed(f"{result.folder}: the run failed")
        if result.verdict.ended == "interrupted":
            self._ended = "interrupted"
            return
        self._take(plan, world, seed, result.verdict)

    def _take(self, plan: Plan, world: World, seed: int, whole: Verdict) -> None:
        pools = self._pools[plan.plan, world]
        for verdict in whole.variants:
            pools.setdefault(verdict.variant, Pool(plan)).add(verdict, seed)
            self._cut_short += (
                f"{plan.plan}, {world}, seed {seed}, {verdict.variant}: {reason}"
                for reason in verdict.incomplete
            )
            if verdict.server and world == "live":
                self._servers[plan.plan][verdict.server] = None

    def result(self) -> TransferResult:
        """What was run so far, compared."""
        cells = [cell for plan in self._plans for cell in self._cells(plan)]
        return TransferResult(
            runs=tuple(self._runs(plan) for plan in self._plans),
            variants=tuple(dict.fromkeys(cell.variant for cell in cells)),
            cells=tuple(cells),
            cut_short=tuple(self._cut_short),
            ended=self._ended,
        )

    def _cells(self, plan: Plan) -> Iterable[Cell]:
        live, sim = (self._pools[plan.plan, world] for world in WORLDS)
        for promise in plan.promises:
            for variant in (name for name in live if name in sim):
                sides = live[variant].side(promise), sim[variant].side(promise)
                yield cell_of(plan.plan, promise, variant, *sides)

    def _runs(self, plan: Plan) -> Runs:
        live, sim = (
            max((pool.runs for pool in self._pools[plan.plan, world].values()), default=0)
            for world in WORLDS
        )
        return Runs(
            plan=plan.plan,
            duration_us=plan.duration_us,
            live_seeds=live,
            sim_seeds=sim,
            servers=tuple(self._servers[plan.plan]),
        )


def stored_live(runs_dir: Path) -> dict[str, Verdict]:
    """The live runs of a folder that went to their end, by the text of their plan.

    Raises:
        UsageError: there is none.
    """
    found: dict[str, Verdict] = {}
    for path in sorted(runs_dir.glob(f"*/{VERDICT_FILE}")):
        if path.parent.is_symlink():
            continue
        verdict = msgspec.json.decode(path.read_bytes(), type=Verdict)
        if verdict.world == "live" and verdict.ended == "finished":
            found[(path.parent / PLAN_FILE).read_text("utf-8")] = verdict
    if not found:
        raise UsageError(f"{runs_dir}: no live run that went to its end lies there")
    return found


def _made(request: SoakRequest, observer: Observer) -> SoakResult:
    if request.world == "sim":
        return soak_simulated(request, observer, os.cpu_count() or 1)
    return soak(request, observer)


# --- comparing ------------------------------------------------------------------------------------


def cell_of(
    plan: str,
    promise: str,
    variant: str,
    live: Side,
    sim: Side,
    known: Sequence[Known] = KNOWN_DIFFERENCES,
) -> Cell:
    """Both worlds' sides of a cell, compared."""
    place = (plan, promise, variant)
    events = [one.event for one in known if (one.plan, one.promise, one.variant) == place]
    return Cell(
        plan=plan,
        promise=promise,
        variant=variant,
        live=live,
        sim=sim,
        p=one_rate_p(live, sim),
        known=events[0] if events and live.outcome is not sim.outcome else "",
    )


def one_rate_p(one: Side, other: Side) -> float:
    """Two-sided p of "both worlds break it at one rate": twice the smaller one-sided exact p."""
    first, second = one.exposure, other.exposure
    if one.exposure_name != other.exposure_name:  # one of them met no collision at all
        first, second = one.attempts, other.attempts
    more = rate_is_higher_p(one.count, first, other.count, second)
    less = rate_is_higher_p(other.count, second, one.count, first)
    return min(1.0, 2 * min(more, less))
