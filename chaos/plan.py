"""The plan: the immutable recipe of a run, as frozen pydantic models.

YAML keys are the plain words (`every: 250ms`); the fields behind them carry their unit
(`every_us`), and in JSON mode they are written as the YAML form again. The types and ranges stand
here, with the sentence that the schema and docs/plans.md show for each key. What takes two parts of
a plan to see (a fault that would never fire, a key that nothing acts on) is judged by
`chaos.plan_file`, which reports all problems at once, with their lines. The faults stand in
`chaos.plan_faults`. Nothing here reads a file or a clock.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from chaos.clock import SECOND_US
from chaos.plan_faults import (
    FAULTS,
    NO_SCHEDULE,
    NOTHING_MOVES,
    SERVER_FAULTS,
    AbortFault,
    ClockSkewFault,
    CutFault,
    Fault,
    FaultSpec,
    KillFault,
    LatencyFault,
    LinkFault,
    LostReplyFault,
    PauseFault,
    RedisAwayFault,
    RedisErrorFault,
    RedisPauseFault,
    RedisRestartFault,
    RollingRestartFault,
    ScriptFlushFault,
    SweepFault,
)
from chaos.plan_units import (
    Duration,
    Interval,
    PositiveDuration,
    PositiveSeconds,
    Spec,
    WholeSeconds,
)

__all__ = [
    "FAULTS",
    "NOTHING_MOVES",
    "NO_SCHEDULE",
    "SERVER_FAULTS",
    "AbortFault",
    "App",
    "AppCall",
    "AppJob",
    "Body",
    "ClockSkewFault",
    "CutFault",
    "Fault",
    "FaultSpec",
    "JobOptions",
    "KillFault",
    "LatencyFault",
    "Limits",
    "LinkFault",
    "LostReplyFault",
    "PauseFault",
    "Plan",
    "RedisAwayFault",
    "RedisErrorFault",
    "RedisPauseFault",
    "RedisRestartFault",
    "RollingRestartFault",
    "SameKey",
    "ScriptFlushFault",
    "Spec",
    "SweepFault",
    "Threshold",
    "Timers",
    "Workers",
    "Workload",
]

# --- workers --------------------------------------------------------------------------------------


class Timers(Spec):
    """saq's upkeep timers: how often a worker looks. Only `abort` can be a fraction of a second."""

    schedule_us: PositiveSeconds = Field(
        1 * SECOND_US, alias="schedule", description="moves due scheduled jobs into the queue"
    )
    worker_info_us: PositiveSeconds = Field(
        10 * SECOND_US, alias="worker_info", description="writes the worker's statistics"
    )
    sweep_us: PositiveSeconds = Field(
        60 * SECOND_US, alias="sweep", description="looks for stuck jobs (one worker at a time)"
    )
    abort_us: PositiveDuration = Field(
        1 * SECOND_US, alias="abort", description="looks for aborted jobs among those it runs"
    )


class Workers(Spec):
    """The fleet of one variant. With an app, what is left out is the app's own (but `count`)."""

    count: int = Field(2, ge=1, le=64, description="worker processes")
    concurrency: int = Field(10, ge=1, le=1000, description="jobs at a time in each process")
    timers: Timers = Field(Timers(), description="saq's upkeep timers")
    grace_us: Duration = Field(
        2 * SECOND_US, alias="grace", description="after SIGTERM, before running jobs are cancelled"
    )
    deadline_us: Duration = Field(
        1 * SECOND_US, alias="deadline", description="how long saq waits for a cancelled job to end"
    )


# --- workloads ------------------------------------------------------------------------------------


class JobOptions(Spec):
    """What saq is told about each job."""

    timeout_us: Duration = Field(
        10 * SECOND_US, alias="timeout", description="a running job is cancelled then; 0s: never"
    )
    heartbeat_us: Duration = Field(
        0, alias="heartbeat", description="a job without an update for so long is stuck; 0s: never"
    )
    retries: int = Field(3, ge=0, le=1000, description="attempts before a job fails for good")
    ttl_us: WholeSeconds = Field(
        60 * SECOND_US, alias="ttl", description="how long a finished record is kept; 0s: for ever"
    )
    retry_delay_us: Duration = Field(0, alias="retry_delay", description="wait before a retry")


class Body(Spec):
    """What one attempt does, and how often this is drawn."""

    profile: Literal["quick", "heartbeat", "stubborn", "swallow", "raising", "thread"] = Field(
        description="quick: a cancel ends it. heartbeat: quick, with an update each `beat`. "
        "stubborn: on a cancel it goes on for `winds_down`, then ends cancelled. swallow: on a "
        "cancel it returns as if done. raising: raises `error` after `takes`. thread: a sync "
        "function, which no cancel reaches (a job is all thread or not at all)"
    )
    weight: int = Field(1, ge=1, le=1000, description="how often it is drawn, beside the others")
    takes_us: Duration = Field(50_000, alias="takes", description="how long it takes undisturbed")
    spread_us: Duration = Field(0, alias="spread", description="added to `takes`: 0 to this, drawn")
    beat_us: PositiveDuration = Field(
        100_000, alias="beat", description="heartbeat only: time between two updates"
    )
    winds_down_us: PositiveDuration = Field(
        300_000, alias="winds_down", description="stubborn only: how long it goes on once cancelled"
    )
    error: Literal["ValueError", "KeyError", "TimeoutError"] = Field(
        "ValueError", description="raising only: what it raises"
    )


class SameKey(Spec):
    """K keys, enqueued again and again; a body for each attempt, drawn from the seed."""

    kind: Literal["same_key"] = Field(description="which workload")
    keys: int = Field(
        16, ge=0, le=100_000, description="how many keys; 0: every job has a key of its own"
    )
    interval_us: Interval = Field(50_000, alias="rate", description="enqueues of all keys together")
    bodies: tuple[Body, ...] = Field(
        (Body(profile="quick"),), min_length=1, max_length=64, description="what attempts do"
    )
    scheduled_share: float = Field(
        0.0, ge=0, le=1, description="share of jobs that are scheduled ahead"
    )
    scheduled_ahead_us: PositiveDuration = Field(
        1 * SECOND_US, alias="scheduled_ahead", description="how far ahead those are scheduled"
    )
    job: JobOptions = Field(JobOptions(), description="what saq is told about each job")


def _backoff(value: Any) -> Any:
    if isinstance(value, bool) or (isinstance(value, int | float) and value >= 0):
        return value
    raise ValueError(f"{value!r} is no backoff: write true, false or the longest delay in seconds")


class AppJob(Spec):
    """Options of saq's own Job, in saq's units (seconds). What is left out, saq decides."""

    timeout: float | None = Field(None, ge=0, description="seconds; 0: none")
    heartbeat: float | None = Field(None, ge=0, description="seconds; 0: none")
    retries: int | None = Field(None, ge=0, description="attempts before it fails for good")
    ttl: int | None = Field(None, ge=-1, description="seconds; 0: for ever, -1: not kept")
    retry_delay: float | None = Field(None, ge=0, description="seconds")
    retry_backoff: Annotated[
        bool | float | None,
        BeforeValidator(_backoff),
        WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "number", "minimum": 0}]}),
    ] = Field(None, description="true, false, or the longest delay in seconds")
    meta: dict[str, Any] | None = Field(None, description="whatever the app puts there")


class AppCall(Spec):
    """One function of the app, and how it is enqueued."""

    function: str = Field(min_length=1, description="its name in the app's settings")
    key: str | None = Field(
        None,
        min_length=1,
        description="template: `{i}` counts calls from 0, `{n}` is drawn from 0 to `spread` - 1; "
        "left out: saq makes a key of its own for each job",
    )
    kwargs: dict[str, Any] = Field({}, description="its arguments; texts are templates too")
    spread: int = Field(1, ge=1, le=1_000_000, description="how many values `{n}` has")
    interval_us: Interval = Field(100_000, alias="rate", description="enqueues of this function")
    scheduled_ahead_us: Duration = Field(
        0, alias="scheduled_ahead", description="how far ahead it is scheduled; 0s: not at all"
    )
    job: AppJob = Field(AppJob(), description="options of saq's Job")


class App(Spec):
    """The functions of a user's own saq settings."""

    kind: Literal["app"] = Field(description="which workload")
    app: str | None = Field(
        None,
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$",
        description="`module:settings`; `--app` overrides it",
    )
    calls: tuple[AppCall, ...] = Field(min_length=1, max_length=64, description="what is enqueued")


Workload = Annotated[SameKey | App, Field(discriminator="kind")]


# --- judging --------------------------------------------------------------------------------------


class Threshold(Spec):
    """`counter op number`, judged over each variant's counters."""

    that: str = Field(description="what must hold, such as `key_errors == 0`")
    abort_on_fail: bool = Field(False, description="end the run as soon as it can hold no more")


class Limits(Spec):
    """What a run may not exceed; reaching one ends it as UNKNOWN."""

    jobs: int = Field(1_000_000, ge=1, description="enqueues of one variant")
    events: int = Field(5_000_000, ge=1, description="events of the history")
    history_bytes: int = Field(4 << 30, ge=1 << 20, description="size of the history on disk")


class Plan(Spec):
    """The recipe of a run. `chaos.plan_file.load` makes one from YAML."""

    plan: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", description="its name: a-z, 0-9 and -")
    description: str = Field("", description="one sentence for `saq-chaos list plans`")
    seed: int = Field(1, ge=0, lt=1 << 63, description="every draw of the run comes from it")
    variants: tuple[str, ...] = Field(
        ("stock@0.26.4",), min_length=1, max_length=16, description="saq builds: `PATCH@SAQ`"
    )
    baseline: str | None = Field(None, description="the variant that gate `baseline` compares with")
    gate: Literal["strict", "baseline"] = Field(
        "strict", description="strict: every promise holds; baseline: none is worse than there"
    )
    order: Literal["side-by-side", "in-turn"] = Field(
        "side-by-side", description="whether variants run at the same time"
    )
    workers: Workers = Field(Workers(), description="the fleet of each variant")
    workload: Workload = Field(description="what is enqueued")
    faults: tuple[Fault, ...] = Field((), max_length=64, description="what goes wrong, and when")
    duration_us: PositiveDuration = Field(
        alias="duration", description="how long load and faults go on"
    )
    drain_us: PositiveDuration = Field(
        30 * SECOND_US, alias="drain", description="how long the queue may take to drain after it"
    )
    slack_us: Duration = Field(
        50_000, alias="slack", description="stamps of two processes closer than this are unordered"
    )
    limits: Limits = Field(Limits(), description="what the run may not exceed")
    promises: tuple[str, ...] = Field(min_length=1, description="the claims that are judged")
    exposures: dict[str, Annotated[int, Field(ge=1)]] = Field(
        {}, description="dangers, and how often each must be met for a verdict to count"
    )
    thresholds: tuple[Threshold, ...] = Field((), max_length=64, description="limits for counters")

    def digest(self) -> str:
        """SHA-256 of the recipe without its variants: equal for runs that differ in code only."""
        recipe = self.model_dump(mode="json", exclude={"variants", "baseline", "gate"})
        return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()
