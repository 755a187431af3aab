"""Inside a simulating process: carries out jobs, judges what came of them, and answers.

    line on stdin ─► Job ─► chaos.sim.run_one ─► judge ─► Summary ─► line of the answers' channel

Everything is judged here, beside the history, so that a seed travels as some kilobytes. A job that
fails is answered with Failed and the next one is taken: only the end of stdin ends the loop.
"""

from __future__ import annotations

import dataclasses
import gc
import importlib
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from chaos import judge
from chaos.clock import SECOND_US
from chaos.errors import SaqChaosError, UsageError
from chaos.explore import coverage, early, swarm
from chaos.explore.protocol import (
    FINDINGS_KEPT,
    STANDSTILL,
    Answer,
    Done,
    Failed,
    Job,
    Limits,
    Ready,
    RunDone,
    RunOne,
    RunSeeds,
    SeedDone,
    Summary,
    decode_job,
    encode,
    plan_of,
)
from chaos.explore.recording import Recording, ignore_ends, recording
from chaos.plan import Plan
from chaos.script import DrawnScript, FixedScript
from chaos.sim.run_one import DEADLOCK, LIVELOCK, SimLimits, SimRequest, SimResult, run_one
from chaos.verdict import Finding, Outcome, PromiseVerdict, VariantVerdict, worst

STACK_CHARACTERS = 6_000

Send = Callable[[Answer], None]


def serve(jobs: int, answers: int) -> int:
    """Carry out the jobs of one descriptor and answer into the other, until the jobs end."""
    with os.fdopen(jobs, "rb") as source, os.fdopen(answers, "wb", buffering=0) as sink:

        def send(answer: Answer) -> None:
            sink.write(encode(answer) + b"\n")

        ignore_ends()
        send(_ready())
        gc.collect()
        gc.freeze()  # what is imported by now stays: no collection need look at it again
        for line in source:
            send(_carried_out(line, send))
    return 0


def _ready() -> Ready:
    return Ready(
        saq=str(getattr(importlib.import_module("saq"), "__version__", "unknown")),
        redis_py=str(getattr(importlib.import_module("redis"), "__version__", "unknown")),
        python=platform.python_version(),
        pid=os.getpid(),
    )


def _carried_out(line: bytes, send: Send) -> Answer:
    """Carry out one job; the answer that closes it."""
    try:
        job = decode_job(line)
        if isinstance(job, RunSeeds):
            run_seeds(job, send)
        else:
            run_given(job, send)
    except UsageError as error:
        return Failed(message=str(error), usage=True)
    except SaqChaosError as error:
        return Failed(message=str(error))
    except Exception:  # noqa: BLE001 - a fault of ours in one job must not take the next one along
        return Failed(message=f"a fault of the simulator:\n{traceback.format_exc()}")
    return Done()


# --- jobs -----------------------------------------------------------------------------------------


def run_seeds(job: RunSeeds, send: Send) -> None:
    """Run every seed of the job and say what became of it."""
    base = plan_of(job.subject.plan)
    _enter(job)
    durations = job.durations_us or (0,) * len(job.seeds)
    for seed, duration_us in zip(job.seeds, durations, strict=True):
        began = Began()
        plan = swarm.plan_for(base, seed, swarm=job.swarm, duration_us=duration_us)
        request = _request(job, plan, seed)
        if job.until_failure:
            request = dataclasses.replace(request, enough=early.watch(plan))
        summary = _summary(plan, seed, run_one(request), began)
        send(SeedDone(summary=summary))
        if job.until_failure and summary.broken():
            return


def run_given(job: RunOne, send: Send) -> None:
    """Run one seed as the job wants it, and give back what it takes to run it again."""
    began = Began()
    plan = swarm.plan_for(plan_of(job.subject.plan), job.seed, swarm=False)
    _enter(job)
    request = _request(job, plan, job.seed)
    if job.history_to:
        with recording(Path(job.history_to), plan.limits.history_bytes) as taken:
            result = run_one(request, taken.take)
        summary = _summary(plan, job.seed, result, began, taken)
    else:
        result = run_one(request)
        summary = _summary(plan, job.seed, result, began)
    script, tape = None, None
    if job.decisions:
        script = job.script or FixedScript.of(DrawnScript(plan), len(plan.faults))
        tape = result.tape
    send(RunDone(summary=summary, script=script, tape=tape))


def _request(job: Job, plan: Plan, seed: int) -> SimRequest:
    given = job if isinstance(job, RunOne) else None
    tape = given.tape if given else None
    return SimRequest(
        plan=plan,
        variant=job.subject.variant,
        patch=job.subject.patch,
        seed=seed,
        script=given.script if given else None,
        tape={} if tape is None and job.subject.calm else tape,
        keep_tape=given.decisions if given else False,
        limits=_limits(job.limits),
        app=job.subject.app or None,
    )


def _limits(limits: Limits) -> SimLimits:
    """The simulator's own limits, but for those that the job names."""
    named = {name: value for name, value in msgspec.structs.asdict(limits).items() if value}
    return SimLimits(**named)


def _enter(job: Job) -> None:
    """Make the user's own code importable, behind everything that is imported already."""
    folder = job.subject.folder
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)


@dataclass(frozen=True, slots=True)
class Began:
    """When a run began, on both clocks."""

    wall_ns: int = field(default_factory=time.perf_counter_ns)
    cpu_ns: int = field(default_factory=time.process_time_ns)


# --- judging --------------------------------------------------------------------------------------


def _summary(
    plan: Plan, seed: int, result: SimResult, began: Began, taken: Recording | None = None
) -> Summary:
    """A run, judged. `taken` has what its result has not kept."""
    verdict = judge.judge_timeline(plan, result.timeline)
    events = taken.count if taken else len(result.history)
    met = taken.interleavings.pairs() if taken else coverage.met_in(result.history)
    return Summary(
        seed=seed,
        verdict=_short(verdict, standstill(result, events)),
        ended=result.ended,
        digest=result.digest,
        decisions=result.decisions,
        events=events,
        steps=result.steps,
        virtual_us=result.virtual_us,
        reason=result.reason,
        stacks=result.stacks[:STACK_CHARACTERS],
        interleavings=met,
        spent_us=(time.perf_counter_ns() - began.wall_ns) // 1_000,
        cpu_us=(time.process_time_ns() - began.cpu_ns) // 1_000,
    )


def standstill(result: SimResult, events: int) -> PromiseVerdict:
    """The promise that only a simulator can judge: a run neither spins nor waits for nothing.

    Spinning is many steps without any time passing (livelock); waiting for nothing is nobody having
    anything to do before the run is over (deadlock).
    """
    findings: tuple[Finding, ...] = ()
    if result.ended in (LIVELOCK, DEADLOCK):
        where = result.stacks[:STACK_CHARACTERS].rstrip()
        message = f"{result.ended} after {result.virtual_us / SECOND_US:.6f} s: {result.reason}"
        findings = (Finding(kind=result.ended, message=f"{message}\n{where}", events=(events,)),)
    return PromiseVerdict(
        promise=STANDSTILL,
        outcome=Outcome.INVALID if findings else Outcome.VALID,
        count=len(findings),
        exposure=1,
        exposure_name="runs",
        kinds={result.ended: 1} if findings else {},
        findings=findings,
    )


def _short(verdict: VariantVerdict, moves: PromiseVerdict) -> VariantVerdict:
    """The verdict with `moves` among its promises and the first few findings of each."""
    promises = tuple(
        msgspec.structs.replace(one, findings=one.findings[:FINDINGS_KEPT])
        if len(one.findings) > FINDINGS_KEPT
        else one
        for one in verdict.promises
    )
    return msgspec.structs.replace(
        verdict,
        promises=(*promises, moves),
        outcome=worst((verdict.outcome, moves.outcome)),
    )
