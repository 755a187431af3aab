"""The plan: the immutable recipe of a run, as frozen pydantic models.

YAML keys are the plain words (`every: 250ms`); the fields behind them carry their unit
(`every_us`). A key that nothing acts on is an error, and all problems of a plan are reported at
once, with their lines: that is `chaos.plan_file`'s work. Nothing here reads a file or a clock.
"""

from __future__ import annotations

import json
import hashlib
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from chaos.clock import SECOND_US, parse_duration_us


def _duration(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str):
        raise ValueError(f"{value!r} is no duration: write a number and its unit, such as '250ms'")
    return parse_duration_us(value)


def _rate(value: Any) -> Any:
    """Microseconds between two events, from `20/s`, `6/m` or `1/h`."""
    units = {"s": SECOND_US, "m": 60 * SECOND_US, "h": 3_600 * SECOND_US}
    if isinstance(value, str) and "/" in value:
        count, _, unit = value.partition("/")
        try:
            return round(units[unit.strip()] / float(count))
        except (KeyError, ValueError, ZeroDivisionError):
            pass
    raise ValueError(f"{value!r} is no rate: write a count and /s, /m or /h, such as '20/s'")


Duration = Annotated[int, BeforeValidator(_duration, json_schema_input_type=str), Field(ge=0)]
Interval = Annotated[int, BeforeValidator(_rate, json_schema_input_type=str), Field(ge=1)]


class Spec(BaseModel):
    """Base of every part of a plan: frozen, strict, and no key that nothing acts on."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


# --- workers --------------------------------------------------------------------------------------


class Timers(Spec):
    """saq's upkeep timers. saq takes seconds; fractions work in every version."""

    schedule_us: Duration = Field(1 * SECOND_US, alias="schedule")
    worker_info_us: Duration = Field(10 * SECOND_US, alias="worker_info")
    sweep_us: Duration = Field(60 * SECOND_US, alias="sweep")
    abort_us: Duration = Field(1 * SECOND_US, alias="abort")


class Workers(Spec):
    """The fleet of one variant."""

    count: int = Field(2, ge=1, le=64)
    concurrency: int = Field(10, ge=1, le=1000)
    timers: Timers = Timers()
    grace_us: Duration = Field(2 * SECOND_US, alias="grace")
    deadline_us: Duration = Field(1 * SECOND_US, alias="deadline")


# --- workloads ------------------------------------------------------------------------------------


class JobOptions(Spec):
    """What saq is told about each job. Times are seconds for saq; fractions work."""

    timeout_us: Duration = Field(10 * SECOND_US, alias="timeout")
    heartbeat_us: Duration = Field(0, alias="heartbeat")
    retries: int = Field(3, ge=0, le=1000)
    ttl_us: Duration = Field(60 * SECOND_US, alias="ttl")
    retry_delay_us: Duration = Field(0, alias="retry_delay")


class Body(Spec):
    """One body profile and how often it is drawn.

    quick: takes `takes`, lets itself be cancelled. heartbeat: the same, with an update each `beat`.
    stubborn: on a cancel it goes on for `winds_down` before it ends. swallow: returns on a cancel.
    raising: raises `error` after `takes`. thread: a sync function (blocks its thread for `takes`).
    """

    profile: Literal["quick", "heartbeat", "stubborn", "swallow", "raising", "thread"]
    weight: int = Field(1, ge=1, le=1000)
    takes_us: Duration = Field(50_000, alias="takes")
    spread_us: Duration = Field(0, alias="spread")
    beat_us: Duration = Field(100_000, alias="beat")
    winds_down_us: Duration = Field(300_000, alias="winds_down")
    error: Literal["ValueError", "KeyError", "TimeoutError"] = "ValueError"


class SameKey(Spec):
    """K keys, enqueued again and again; a body profile per attempt, drawn from the seed."""

    kind: Literal["same_key"]
    keys: int = Field(16, ge=0, le=100_000, description="0: every job has a key of its own")
    interval_us: Interval = Field(50_000, alias="rate")
    bodies: tuple[Body, ...] = Field((Body(profile="quick"),), min_length=1)
    scheduled_share: float = Field(0.0, ge=0, le=1, description="share of jobs scheduled ahead")
    scheduled_ahead_us: Duration = Field(1 * SECOND_US, alias="scheduled_ahead")
    job: JobOptions = JobOptions()


class AppCall(Spec):
    """One function of the app and how it is enqueued. `{i}` counts calls, `{n}` is 0..spread-1."""

    function: str
    key: str | None = Field(None, description="template with {i} and {n}; none: saq's own unique key")
    kwargs: dict[str, Any] = Field({}, description="string values are templates too")
    spread: int = Field(1, ge=1)
    interval_us: Interval = Field(100_000, alias="rate")
    job: dict[str, Any] = Field({}, description="options of saq's Job, e.g. {timeout: 600}")


class App(Spec):
    """The functions of a user's own saq settings (`--app module:settings`)."""

    kind: Literal["app"]
    app: str | None = Field(None, description="module:settings; --app overrides it")
    calls: tuple[AppCall, ...] = Field(min_length=1)


Workload = Annotated[SameKey | App, Field(discriminator="kind")]


# --- faults ---------------------------------------------------------------------------------------


class FaultSpec(Spec):
    """When a fault is injected: each `every` (± `jitter`) or at the times in `at`, within SAFETY."""

    every_us: Duration | None = Field(None, alias="every")
    at_us: tuple[Duration, ...] = Field((), alias="at")
    jitter_us: Duration = Field(0, alias="jitter")
    after_us: Duration = Field(0, alias="after", description="nothing before this")

    @model_validator(mode="after")
    def _has_a_schedule(self) -> Self:
        if (self.every_us is None) == (not self.at_us):
            raise ValueError("say when: either `every: 500ms` or `at: [5s, 9s]`, not both")
        if self.every_us is not None and self.every_us < 1_000:
            raise ValueError("`every` must be at least 1ms")
        return self


class SweepFault(FaultSpec):
    """A forced sweep: lock cleared, stuck jobs waited for `wait` each (saq's own: 5 s)."""

    fault: Literal["sweep"]
    wait_us: Duration = Field(5 * SECOND_US, alias="wait")


class RollingRestartFault(FaultSpec):
    """SIGTERM, grace and replacement, worker by worker; old and new overlap by `max_surge`."""

    fault: Literal["rolling_restart"]
    max_surge: int = Field(1, ge=0)
    max_unavailable: int = Field(0, ge=0)

    @model_validator(mode="after")
    def _can_move(self) -> Self:
        if self.max_surge + self.max_unavailable == 0:
            raise ValueError("max_surge and max_unavailable are both 0: nothing could be replaced")
        return self


class KillFault(FaultSpec):
    """SIGKILL of one worker; a replacement after `replace_after`."""

    fault: Literal["kill"]
    replace_after_us: Duration = Field(500_000, alias="replace_after")


class PauseFault(FaultSpec):
    """SIGSTOP of one worker, SIGCONT after `for`."""

    fault: Literal["pause"]
    for_us: Duration = Field(alias="for")


class AbortFault(FaultSpec):
    """Aborts jobs by key, drawn from what is running, queued and scheduled."""

    fault: Literal["abort"]
    count: int = Field(1, ge=1, le=1000, description="how many jobs each time")


class RedisRestartFault(FaultSpec):
    """The server goes away for `for` and comes back, with its data or without."""

    fault: Literal["redis_restart"]
    for_us: Duration = Field(500_000, alias="for")
    data: Literal["kept", "lost"] = "kept"


class RedisPauseFault(FaultSpec):
    """SIGSTOP of the server, SIGCONT after `for`."""

    fault: Literal["redis_pause"]
    for_us: Duration = Field(alias="for")


Fault = Annotated[
    SweepFault | RollingRestartFault | KillFault | PauseFault | AbortFault | RedisRestartFault
    | RedisPauseFault,
    Field(discriminator="fault"),
]  # fmt: skip
SERVER_FAULTS = ("redis_restart", "redis_pause")


# --- judging --------------------------------------------------------------------------------------


class Threshold(Spec):
    """`counter op number`, judged over one variant's counters."""

    that: str = Field(description="e.g. `key_errors == 0`")
    abort_on_fail: bool = False


class Limits(Spec):
    """What a run may not exceed; reaching one ends it as UNKNOWN."""

    jobs: int = Field(1_000_000, ge=1)
    events: int = Field(5_000_000, ge=1)
    history_bytes: int = Field(4 << 30, ge=1 << 20)


class Plan(Spec):
    """The recipe of a run. `chaos.plan_file.load` makes one from YAML."""

    plan: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", description="its name")
    description: str = ""
    seed: int = Field(1, ge=0, lt=1 << 63)
    variants: tuple[str, ...] = Field(("stock@0.26.4",), min_length=1, max_length=16)
    baseline: str | None = None
    gate: Literal["strict", "baseline"] = "strict"
    order: Literal["side-by-side", "in-turn"] = "side-by-side"
    workers: Workers = Workers()
    workload: Workload
    faults: tuple[Fault, ...] = ()
    duration_us: Duration = Field(alias="duration")
    drain_us: Duration = Field(30 * SECOND_US, alias="drain")
    slack_us: Duration = Field(50_000, alias="slack", description="clock slack across hosts")
    limits: Limits = Limits()
    promises: tuple[str, ...] = Field(min_length=1)
    exposures: dict[str, Annotated[int, Field(ge=1)]] = {}
    thresholds: tuple[Threshold, ...] = ()

    def digest(self) -> str:
        """SHA-256 of the recipe without its variants: equal digests, the same run but for the code."""
        recipe = self.model_dump(mode="json", exclude={"variants", "baseline", "gate"})
        return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()
