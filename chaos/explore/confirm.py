"""Confirm: act a shrunk failure out in the live world, and see whether it happens there too.

    script ─► copies in rounds, each with a key of its own ─► soak ─► the same finding?
                                                                      no: another try, up to a bound

The live world has its own timing: what the simulator decided by microseconds is decided there by a
scheduler. So the script is played many times within one run, in rounds, one after the other; within
a round several copies run beside each other, each a few milliseconds later against the faults than
the one before, so that some of them meet the moment. The first try plays the script alone, as it
was found. What the live world cannot do (faults of the network) is refused by name, and what needs
a latency that the tape decided may never come: not confirmed is not refuted.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from chaos import faults
from chaos.clock import MILLISECOND_US, SECOND_US
from chaos.errors import SaqChaosError
from chaos.explore import cuts
from chaos.explore import failure as files
from chaos.explore.failure import Failure
from chaos.explore.replay import sight_of
from chaos.explore.rerun import Sight, sights_of
from chaos.plan import AbortFault, Plan
from chaos.request import Observer, SoakRequest
from chaos.script import FixedScript, Injection, TimedEnqueue
from chaos.soak import SoakResult, soak
from chaos.variants import parse

TRIES = 10
ALL_US = 600 * SECOND_US  # about how long all tries of a long failure disturb together
SAFETY_US = 6 * SECOND_US  # about how long a try disturbs
COPIES = (1, 8, 4, 16)  # beside each other, try after try, and again from the start
STEP_US = 9 * MILLISECOND_US  # between two copies of a round
MARGIN_US = 400 * MILLISECOND_US  # after a round, so that its copies are over
ROUNDS_MAX = 40
DRAIN_US = 30 * SECOND_US
CONCURRENCY_MAX = 1_000

Report = Callable[[SoakResult], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """How it went.

    Attributes:
        failure: what was acted out.
        sight: the finding as it was seen live, if it was.
        tries: how many were made; the last one is the one that saw it.
        result: of the last try.
        copies, rounds: how the last try played it.
        failed: why the world failed, if it did: nothing can be said then.
    """

    failure: Failure
    sight: Sight | None
    tries: int
    result: SoakResult
    copies: int
    rounds: int
    failed: SaqChaosError | None = None


@dataclass(frozen=True, slots=True)
class Acted:
    """One try: what a soak is to run."""

    plan: Plan
    script: FixedScript
    copies: int
    rounds: int


def confirm(
    path: Path,
    observer: Observer,
    report: Report,
    *,
    tries: int | None = None,
    runs_dir: Path = Path("runs"),
    python: Path | None = None,
) -> Confirmed:
    """Play a failure live until it is seen, or until it has been tried often enough.

    Args:
        path: the failure file, or a run directory with one.
        observer: told how each run goes.
        report: given each run's result, to write its report files.
        tries: how many runs at most; none: `usual_tries`.
        runs_dir: where run directories are made.
        python: the interpreter of the application, or the one to build environments with.

    Raises:
        UsageError: the file cannot be read, or the live world cannot do one of its faults.
        WorldError: an environment could not be built.
    """
    failure = files.read(path)
    faults.check_world(failure.plan_of(), "live")
    tries = tries or usual_tries(failure)
    last: Confirmed | None = None
    for number in range(1, tries + 1):
        acted = acted_out(failure, number)
        observer.note(
            f"try {number} of at most {tries}: {_counted(acted.rounds, 'round')} of "
            f"{_counted(acted.copies, 'copy', 'copies')} at a time, "
            f"{acted.plan.duration_us / SECOND_US:.0f} s"
        )
        request = SoakRequest(
            plan=acted.plan,
            runs_dir=runs_dir,
            app=failure.app or None,
            python=python,
            script=acted.script,
            repeat=shlex.join(["saq-chaos", "confirm", str(path)]),
        )
        result = soak(request, observer)
        report(result)
        last = _seen(failure, acted, number, result)
        if last.sight is not None or last.failed or result.verdict.ended != "finished":
            return last
    assert last is not None
    return last


def usual_tries(failure: Failure) -> int:
    """Ten tries of a short failure; fewer of one that takes minutes, ten of them together."""
    return max(1, min(TRIES, ALL_US // acted_out(failure, 1).plan.duration_us))


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _seen(failure: Failure, acted: Acted, tries: int, result: SoakResult) -> Confirmed:
    label = parse(failure.variant).label
    sights = tuple(sights_of(acted.plan, label, result.history))
    return Confirmed(
        failure=failure,
        sight=sight_of(failure, sights),
        tries=tries,
        result=result,
        copies=acted.copies,
        rounds=acted.rounds,
        failed=result.failure,
    )


# --- how it is played -----------------------------------------------------------------------------


def acted_out(failure: Failure, number: int) -> Acted:
    """The plan and the script of try `number`, from 1. The same number, the same try."""
    plan, times = failure.plan_of(), cuts.times(failure.script)
    copies = COPIES[(number - 1) % len(COPIES)]
    first_us = min(
        times, default=0
    )  # nothing happens before, and the fleet has other phases anyway
    script = cuts.earlier(failure.script, first_us)
    length_us = max(failure.finding.at_us, *times, 0) - first_us + copies * STEP_US
    period_us = length_us + MARGIN_US
    rounds = min(ROUNDS_MAX, -(-SAFETY_US // period_us))
    shift_us = (number - 1) // len(COPIES) * (STEP_US // 3)
    played = FixedScript(
        tuple(_enqueues(script, rounds, copies, period_us, shift_us)),
        tuple(_injections(script, rounds, copies, period_us)),
    )
    scaled = _with_room(plan, copies, rounds * period_us, failure.seed + number - 1)
    return Acted(cuts.at_times(scaled, played), played, copies, rounds)


def _enqueues(
    script: FixedScript, rounds: int, copies: int, period_us: int, shift_us: int
) -> Iterator[TimedEnqueue]:
    """Every copy of every enqueue, in order. Copies of one key have keys of their own."""
    played = [
        TimedEnqueue(
            turn * period_us + one.at_us + copy * STEP_US + shift_us,
            _renamed(one.command, f"{turn}-{copy}"),
        )
        for turn in range(rounds)
        for copy in range(copies)
        for one in script.timed_enqueues
    ]
    return iter(sorted(played, key=lambda one: one.at_us))


def _renamed(command: Any, copy: str) -> Any:
    key = None if command.key is None else f"{command.key}-{copy}"
    return msgspec.structs.replace(command, key=key)


def _injections(
    script: FixedScript, rounds: int, copies: int, period_us: int
) -> Iterator[Injection]:
    """Every injection once in each round, when half of the copies have come to its moment."""
    middle_us = (copies - 1) * STEP_US // 2
    return (
        Injection(turn * period_us + one.at_us + middle_us, one.fault)
        for turn in range(rounds)
        for one in script.timed_injections
    )


def _with_room(plan: Plan, copies: int, duration_us: int, seed: int) -> Plan:
    """The plan for so many copies: as much room for each, as many aborts for each."""
    room = min(CONCURRENCY_MAX, plan.workers.concurrency * copies)
    return plan.model_copy(
        update={
            "seed": seed,
            "duration_us": duration_us,
            "drain_us": min(plan.drain_us, DRAIN_US),
            "workers": plan.workers.model_copy(update={"concurrency": room}),
            "faults": tuple(_for_copies(spec, copies) for spec in plan.faults),
        }
    )


def _for_copies(spec: Any, copies: int) -> Any:
    if isinstance(spec, AbortFault):
        return spec.model_copy(update={"count": min(1_000, spec.count * copies)})
    return spec
