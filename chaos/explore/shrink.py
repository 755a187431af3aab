"""Shrinking: the smallest run found that still shows the same finding, each candidate checked.

    guesses    what came after it, other keys, the whole tape      a run of hours becomes seconds
    ddmin      injections, enqueues, tape entries                  until no single one can go
    sizes      workers, concurrency, duration, bodies
    values     times and bodies that a reader can say aloud

The big cuts come first, since each rerun costs what its candidate costs. A cut that makes another
one possible starts the round again. Everything is in a fixed order and nothing is drawn, so the
same failure shrinks to the same run. What comes back has been rerun twice more, with one digest.
The cuts themselves are in `chaos.explore.cuts`; this file decides which to ask for, and when to
stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from chaos.errors import UsageError, WorldError
from chaos.explore import cuts
from chaos.explore.ddmin import ddmin
from chaos.explore.rerun import Candidate, Rerun, RerunResult, Sight, Wanted, decisions

RERUNS = 200
RERUNS_MIN = 3  # the first, and two at the end
ROUNDS_MAX = 10
POLISHED = 2  # walks over all times: one that is moved can let another one be round
VERIFIED = 2  # reruns at the end that must give one digest

Progress = Callable[[str], None]


class NotRepeatable(WorldError):
    """The same candidate gave two digests: nothing that is found can be trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """What is left of a failure.

    Attributes:
        candidate: the smallest run found.
        result: what it showed, every time.
        sight: the finding in it.
        before, after: decisions of the first candidate and of this one.
        reruns: how many runs were made.
        minimal: whether no cut was left to try; else the limit ended it.
    """

    candidate: Candidate
    result: RerunResult
    sight: Sight
    before: int
    after: int
    reruns: int
    minimal: bool


def shrink(
    candidate: Candidate,
    wanted: Wanted,
    rerun: Rerun,
    *,
    known: RerunResult | None = None,
    limit: int = RERUNS,
    progress: Progress = lambda _: None,
) -> Shrunk:
    """Cut a failing run down.

    Args:
        candidate: the failing run, written out.
        wanted: the finding that must stay.
        rerun: makes one run.
        known: what `candidate` has just shown, if that is known: saves the longest rerun.
        limit: reruns at most, those that verify the result included.
        progress: told one line when a kind of cut is done.

    Raises:
        UsageError: the limit is too low, or the candidate does not show the finding.
        NotRepeatable: the result gave another digest when it was run again.
    """
    if limit < RERUNS_MIN:
        raise UsageError(f"{limit} reruns are too few to shrink with: at least {RERUNS_MIN}")
    shrinker = _Shrinker(wanted, rerun, limit - VERIFIED, progress)
    shrinker.begin(candidate, known)
    shrinker.guess()
    shrinker.cut_all()
    shrinker.polish()
    return shrinker.verified()


class _Shrinker:
    """The smallest candidate so far, and what is left of the budget."""

    current: Candidate
    result: RerunResult
    sight: Sight

    def __init__(self, wanted: Wanted, rerun: Rerun, limit: int, progress: Progress) -> None:
        self._wanted = wanted
        self._rerun = rerun
        self._limit = limit
        self._progress = progress
        self._failed: dict[str, None] = {}
        self._current = ""
        self._reruns = 0
        self._before = 0
        self._refused = False  # a cut was left untried, for want of reruns

    def begin(self, candidate: Candidate, known: RerunResult | None) -> None:
        """The first rerun, unless it is known: what is to be shrunk must fail as it is."""
        self._before = decisions(candidate.script, candidate.tape)
        if not (self._shows(candidate, known) if known else self.holds(candidate)):
            raise UsageError(
                f"the run does not show what is to be kept ({self._wanted.promise} "
                f"{self._wanted.kind}): nothing to shrink"
            )

    def holds(self, candidate: Candidate) -> bool:
        """Whether it shows the finding; if so it is the smallest so far."""
        key = candidate.key()
        if key in self._failed:
            return False
        if key == self._current:
            return True
        if self._reruns >= self._limit:
            self._refused = True
            return False
        self._reruns += 1
        if self._shows(candidate, self._rerun(candidate)):
            return True
        self._failed[key] = None
        return False

    def _shows(self, candidate: Candidate, result: RerunResult) -> bool:
        """Whether the finding is in what it gave; if so it is the smallest so far."""
        sight = self._wanted.first_in(result.sights)
        if sight is None:
            return False
        self.current = replace(candidate, tape=_asked_for(candidate.tape, result.tape))
        self.result, self.sight = result, sight
        self._current = self.current.key()
        return True

    def verified(self) -> Shrunk:
        """Run the result again, and refuse it if it is not always the same."""
        for _ in range(VERIFIED):
            self._reruns += 1
            again = self._rerun(self.current)
            sight = self._wanted.first_in(again.sights)
            if again.digest != self.result.digest or sight is None:
                raise NotRepeatable(
                    f"the shrunk run is not repeatable: digest {self.result.digest[:16]}, then "
                    f"{again.digest[:16]}. Runs of one seed must be equal; this is a fault of the "
                    f"simulator, or the code under test reads what the simulator cannot see"
                )
            self.sight = sight
        return Shrunk(
            candidate=self.current,
            result=self.result,
            sight=self.sight,
            before=self._before,
            after=self._decisions(),
            reruns=self._reruns,
            minimal=not self._refused,
        )

    # --- what is tried ----------------------------------------------------------------------------

    def guess(self) -> None:
        """The cuts that take most at once."""
        self._first(cuts.up_to(self.current, self.sight.at_us))
        self._first(cuts.only_of(self.current, self.sight.job))
        self._first(iter([replace(self.current, tape={})]))
        self._say("first cuts")

    def cut_all(self) -> None:
        """Every kind of cut, again while one of them still helps."""
        for _ in range(ROUNDS_MAX):
            before = self.current
            self._cut_script()
            self._first(cuts.fewer_workers(self.current))
            self._first(cuts.less_concurrency(self.current))
            self._first(cuts.shorter(self.current, self.sight.at_us))
            self._each(cuts.fewer_bodies)
            self._cut_tape()
            self._say("cuts")
            if self.current == before or self._refused:
                return

    def polish(self) -> None:
        """Values that are easier to read, and a plan that says no more than what happens."""
        self._each(cuts.simpler_bodies)
        for _ in range(POLISHED):
            self._each(cuts.rounder)
        self._first(cuts.shorter(self.current, self.sight.at_us))
        self._first(cuts.plainer_plan(self.current))
        self._say("rounder values")

    def _cut_script(self) -> None:
        for fault in range(len(self.current.plan.faults)):
            self._first(cuts.without_fault(self.current, fault))
        ddmin(
            self.current.script.timed_injections,
            lambda kept: self.holds(cuts.with_injections(self.current, kept)),
        )
        ddmin(
            self.current.script.timed_enqueues,
            lambda kept: self.holds(cuts.with_enqueues(self.current, kept)),
        )

    def _cut_tape(self) -> None:
        if self.current.tape:
            self.holds(cuts.with_tape(self.current, ()))
        for whose in dict.fromkeys(map(cuts.whose_is, self.current.tape)):
            self.holds(cuts.without_whose(self.current, whose))
        ddmin(
            tuple(self.current.tape),
            lambda kept: self.holds(cuts.with_tape(self.current, kept)),
        )

    def _first(self, candidates: Iterable[Candidate]) -> None:
        """The first of these that holds."""
        for candidate in candidates:
            if self.holds(candidate):
                return

    def _each(self, kind: cuts.Cut) -> None:
        """Each of a kind of cut, on top of those that held before it."""
        for place in range(cuts.PLACES_MAX):
            candidates = kind(self.current, place)
            if candidates is None:
                return
            self._first(candidates)

    def _decisions(self) -> int:
        return decisions(self.current.script, self.current.tape)

    def _say(self, what: str) -> None:
        self._progress(
            f"{what}: {self._before} → {self._decisions()} decisions in {self._reruns} reruns"
        )


def _asked_for(given: cuts.Tape, used: cuts.Tape) -> cuts.Tape:
    """The entries of a tape that the run asked for, in the tape's order."""
    return {name: value for name, value in given.items() if name in used}
