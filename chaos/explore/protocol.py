"""What the controller and a simulating child process say to each other: JSON, one message a line.

    controller ── RunSeeds, RunOne ──► child ── SeedDone… or RunDone ── then Done or Failed

A child answers one job at a time, in order. Whatever it finds is judged in it, so a seed travels as
its `Summary`; a whole history is written, as it happens, to a file whose path the job names.
"""

from __future__ import annotations

import msgspec

from chaos.plan import Plan
from chaos.script import FixedScript
from chaos.verdict import Outcome, PromiseVerdict, VariantVerdict

FINDINGS_KEPT = 3
STANDSTILL = "no-standstill"  # the promise that a simulating process judges itself


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What is run: a plan on one variant.

    Attributes:
        plan: the plan as JSON; `subject_of` writes it.
        variant: the label that stands in host names.
        patch: which worker class runs.
        app: `module:settings` of a user's application, or empty.
        folder: where the user's own code is imported from, or empty.
        calm: nothing is left to chance but the script: every message takes as long as any other,
            and hosts take turns. A tape of the job's own goes before this.
    """

    plan: str
    variant: str
    patch: str
    app: str = ""
    folder: str = ""
    calm: bool = False


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What ends a run that would not end by itself; 0: the simulator's own."""

    steps: int = 0
    steps_at_once: int = 0
    virtual_us: int = 0


# --- jobs -----------------------------------------------------------------------------------------


class Job(msgspec.Struct, frozen=True, kw_only=True, tag_field="do"):
    """Something for the child."""

    subject: Subject
    limits: Limits = Limits()


class RunSeeds(Job, frozen=True, kw_only=True, tag="run-seeds"):
    """Run seeds one after the other; a SeedDone for each.

    Attributes:
        seeds: which, in order.
        durations_us: how long each goes on; empty: as long as the plan says.
        swarm: let each seed draw the plan's own parameters too (`chaos.explore.swarm`).
        until_failure: stop after the first seed that breaks a promise.
    """

    seeds: tuple[int, ...]
    durations_us: tuple[int, ...] = ()
    swarm: bool = False
    until_failure: bool = False


class RunOne(Job, frozen=True, kw_only=True, tag="run-one"):
    """Run one seed, with a script and a tape of its own or its drawn ones; a RunDone for it.

    Attributes:
        script: what happens when; none: drawn from plan and seed.
        tape: decisions by name, every other one at its default; none: drawn from the seed.
        history_to: the file that the history is written to (JSON Lines), or empty.
        decisions: whether the script and the tape are wanted back.
    """

    seed: int
    script: FixedScript | None = None
    tape: dict[str, int] | None = None
    history_to: str = ""
    decisions: bool = True


AnyJob = RunSeeds | RunOne


# --- answers --------------------------------------------------------------------------------------


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One run, judged.

    Attributes:
        verdict: of the variant, with the first few findings of each promise.
        ended: finished, limit, failed, livelock or deadlock; `reason` says why, `stacks` where.
        digest: of the history.
        decisions: enqueues, injections, and tape entries that are not their default.
        interleavings: which pairs of attempt states met (`chaos.explore.coverage`).
        spent_us: real time, judging included; `cpu_us` is the processor's.
    """

    seed: int
    verdict: VariantVerdict
    ended: str
    digest: str
    decisions: int
    events: int
    steps: int
    virtual_us: int
    spent_us: int
    cpu_us: int = 0
    reason: str = ""
    stacks: str = ""
    interleavings: tuple[str, ...] = ()

    def broken(self) -> tuple[PromiseVerdict, ...]:
        """The promises that this run broke, in the plan's order."""
        return tuple(one for one in self.verdict.promises if one.outcome is Outcome.INVALID)


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag="ready"):
    """The child is up: what it runs on."""

    saq: str
    redis_py: str
    python: str
    pid: int


class SeedDone(msgspec.Struct, frozen=True, kw_only=True, tag="seed-done"):
    """One seed of a RunSeeds."""

    summary: Summary


class RunDone(msgspec.Struct, frozen=True, kw_only=True, tag="run-done"):
    """The RunOne, with what it takes to run it again without its seed's draws.

    Attributes:
        script: the script as it was carried out, if it was asked for.
        tape: the decisions that were not their default, by name, if they were asked for.
    """

    summary: Summary
    script: FixedScript | None = None
    tape: dict[str, int] | None = None


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The job is done; the next one may come."""


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """The job could not be carried out. `usage`: the request is wrong; else a fault of ours."""

    message: str
    usage: bool = False


Answer = Ready | SeedDone | RunDone | Done | Failed

encode = msgspec.json.Encoder().encode
decode_job = msgspec.json.Decoder(AnyJob).decode
decode_answer = msgspec.json.Decoder(Answer).decode


def plan_text(plan: Plan) -> str:
    """A plan as JSON that reads back equal; what a plan did not say stays unsaid."""
    return plan.model_dump_json(by_alias=True, exclude_unset=True)


def plan_of(text: str) -> Plan:
    """The plan of `plan_text`."""
    return Plan.model_validate_json(text)
