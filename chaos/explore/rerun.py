"""A run to be made again: the candidate, what is seen in it, and the child that makes it.

    Candidate (plan, seed, script, tape) ──Rerun──► Rerun result: digest, tape used, sights

Shrinking knows only the function `Rerun`, so it is tested without a simulator. `ChildRerun` is the
real one: it runs the candidate in a simulating process and judges its history here, completely; a
summary keeps only the first few findings, and the one that is sought may be among the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from chaos import judge
from chaos.checkers import by_name
from chaos.event import ErrorRaised, PhaseBegan
from chaos.explore.process import Child
from chaos.explore.protocol import Limits, RunDone, RunOne, Subject, plan_text
from chaos.history import History
from chaos.plan import Plan
from chaos.script import FixedScript
from chaos.variants import Variant

STUCK = ("livelock", "deadlock")
STANDSTILL = "no-standstill"  # the promise that a stuck run breaks; the simulator itself judges it


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is run: nothing of it is drawn but the targets of faults, from `seed`."""

    plan: Plan
    seed: int
    script: FixedScript
    tape: Mapping[str, int]

    def key(self) -> str:
        """Equal for equal candidates."""
        sha = hashlib.sha256(plan_text(self.plan).encode())
        sha.update(msgspec.json.encode((self.seed, self.script, sorted(self.tape.items()))))
        return sha.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One finding of a run.

    Attributes:
        line: file, line and function in saq, for an error of saq's own.
        at_us: when its last evidence was there, from the start of SAFETY.
        events: numbers of the events that prove it.
    """

    promise: str
    kind: str
    line: str = ""
    job: str = ""
    message: str = ""
    at_us: int = 0
    events: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """The finding that must stay while a run is shrunk: same promise, kind, and line of saq."""

    promise: str
    kind: str
    line: str = ""

    @classmethod
    def of(cls, sight: Sight) -> Wanted:
        """What another sight of the same thing has in common with this one."""
        return cls(sight.promise, sight.kind, sight.line)

    def first_in(self, sights: tuple[Sight, ...]) -> Sight | None:
        """The earliest sight of it, if there is one."""
        same = [one for one in sights if Wanted.of(one) == self]
        return min(same, key=lambda one: (one.at_us, one.events), default=None)


@dataclass(frozen=True, slots=True)
class RerunResult:
    """What a rerun shows. `tape` holds the entries that it asked for: the others do nothing."""

    digest: str
    tape: Mapping[str, int]
    sights: tuple[Sight, ...] = field(default=(), repr=False)


Rerun = Callable[[Candidate], RerunResult]


def decisions(script: FixedScript, tape: Mapping[str, int]) -> int:
    """How much it takes to say what happens: enqueues, injections, and tape entries."""
    return len(script.timed_enqueues) + len(script.timed_injections) + len(tape)


class ChildRerun:
    """Makes reruns in a simulating process.

    Args:
        child: the process; it is started when it is needed.
        variant: what runs in it.
        scratch: a file for the history of the run; the last one stays there.
        app: `module:settings` of a user's application, or empty.
        folder: where the user's own code is imported from, or empty.
        limits: what ends a run that would not end by itself.
        calm: whether what is drawn is drawn calmly (`chaos.explore.protocol.Subject`).
    """

    def __init__(
        self,
        child: Child,
        variant: Variant,
        scratch: Path,
        *,
        app: str = "",
        folder: str = "",
        limits: Limits | None = None,
        calm: bool = False,
    ) -> None:
        self._child = child
        self._variant = variant
        self._scratch = scratch
        self._app = app
        self._folder = folder
        self._calm = calm
        self._limits = limits or Limits()
        self.last: RunDone | None = None
        self.history: History | None = None

    def __call__(self, candidate: Candidate) -> RerunResult:
        """See `Rerun`."""
        return self._run(candidate.plan, candidate.seed, candidate.script, dict(candidate.tape))

    def drawn(self, plan: Plan, seed: int) -> tuple[Candidate, RerunResult]:
        """Run a plan with everything drawn from `seed`, and write down what was drawn."""
        result = self._run(plan, seed, None, None)
        assert self.last is not None
        script = self.last.script or FixedScript()
        return Candidate(plan, seed, script, result.tape), result

    def _run(
        self, plan: Plan, seed: int, script: FixedScript | None, tape: dict[str, int] | None
    ) -> RerunResult:
        subject = Subject(
            plan=plan_text(plan),
            variant=self._variant.label,
            patch=self._variant.patch,
            app=self._app,
            folder=self._folder,
            calm=self._calm,
        )
        done = self._child.one(
            RunOne(
                subject=subject,
                limits=self._limits,
                seed=seed,
                script=script,
                tape=tape,
                history_to=str(self._scratch),
            )
        )
        self.last, self.history = done, History.read(self._scratch)
        summary = done.summary
        sights = tuple(sights_of(plan, self._variant.label, self.history))
        if summary.ended in STUCK:
            at_us = summary.virtual_us
            stuck = Sight(
                promise=STANDSTILL, kind=summary.ended, message=summary.reason, at_us=at_us
            )
            sights = (*sights, stuck)
        return RerunResult(summary.digest, done.tape or {}, sights)


def sights_of(plan: Plan, variant: str, history: History) -> Iterator[Sight]:
    """Every finding of the plan's promises on one variant, not only the first few."""
    began_us = safety_began_us(history, variant)
    timelines = judge.fold(history, plan.slack_us)
    timeline = next((one for one in timelines if one.variant == variant), None)
    if timeline is None:
        return
    for name in plan.promises:
        for finding in by_name(name).check(plan, timeline).findings:
            events = [history[number - 1] for number in finding.events]
            yield Sight(
                promise=name,
                kind=finding.kind,
                line=next((e.line for e in events if isinstance(e, ErrorRaised) and e.line), ""),
                job=finding.job,
                message=finding.message,
                at_us=max((event.t_us for event in events), default=began_us) - began_us,
                events=finding.events,
            )


def safety_began_us(history: History, variant: str) -> int:
    """When SAFETY began: what a script's times count from."""
    for event in history:
        if isinstance(event, PhaseBegan) and event.phase == "safety" and event.of == variant:
            return event.t_us
    return 0
