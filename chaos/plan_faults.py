"""The faults that a plan can name, as frozen pydantic models: what goes wrong, when, how long.

One model for each fault, discriminated by its `fault` key; `chaos.faults` has what each of them
does. Faults of the network act on what passes between hosts and the Redis server, so a world needs
a network of its own for them.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from chaos.clock import SECOND_US
from chaos.plan_units import Duration, PositiveDuration, Spec

NO_SCHEDULE = "say when: either `every: 500ms` or `at: [5s, 9s]`, not both"
NOTHING_MOVES = "max_surge and max_unavailable are both 0: nothing could be replaced"


class FaultSpec(Spec):
    """When a fault is injected: each `every` (± `jitter`), or at the times in `at`."""

    every_us: PositiveDuration | None = Field(
        None, alias="every", description="time between two injections; this or `at`"
    )
    at_us: tuple[Duration, ...] = Field(
        (), alias="at", max_length=10_000, description="injection times; this or `every`"
    )
    jitter_us: Duration = Field(
        0, alias="jitter", description="each time of `every` moves by up to this, drawn"
    )
    after_us: Duration = Field(
        0, alias="after", description="`every` counts from here: nothing before this"
    )

    @model_validator(mode="after")
    def _has_a_schedule(self) -> Self:
        if (self.every_us is None) == (not self.at_us):
            raise ValueError(NO_SCHEDULE)
        return self


class SweepFault(FaultSpec):
    """A forced sweep: the lock is cleared, and stuck jobs are waited for one after the other."""

    fault: Literal["sweep"] = Field(description="which fault")
    wait_us: PositiveDuration = Field(
        5 * SECOND_US, alias="wait", description="how long for each stuck job (saq's own: 5s)"
    )


class RollingRestartFault(FaultSpec):
    """A deploy: SIGTERM, grace and replacement, worker by worker."""

    fault: Literal["rolling_restart"] = Field(description="which fault")
    max_surge: int = Field(1, ge=0, le=64, description="workers added before old ones end")
    max_unavailable: int = Field(0, ge=0, le=64, description="workers missing meanwhile")

    @model_validator(mode="after")
    def _can_move(self) -> Self:
        if self.max_surge + self.max_unavailable == 0:
            raise ValueError(NOTHING_MOVES)
        return self


class KillFault(FaultSpec):
    """SIGKILL of one worker, and a replacement."""

    fault: Literal["kill"] = Field(description="which fault")
    replace_after_us: Duration = Field(
        500_000, alias="replace_after", description="until the replacement starts"
    )


class PauseFault(FaultSpec):
    """SIGSTOP of one worker, then SIGCONT."""

    fault: Literal["pause"] = Field(description="which fault")
    for_us: PositiveDuration = Field(alias="for", description="how long it stands still")


class ClockSkewFault(FaultSpec):
    """The wall clock of one worker is wrong for a time."""

    fault: Literal["clock_skew"] = Field(description="which fault")
    for_us: PositiveDuration = Field(alias="for", description="how long it is wrong")
    by_us: PositiveDuration = Field(alias="by", description="by how much")
    way: Literal["ahead", "behind", "either"] = Field(
        "either", description="in which way; either: drawn each time"
    )


class AbortFault(FaultSpec):
    """Aborts jobs by key, drawn from what is running, queued and scheduled."""

    fault: Literal["abort"] = Field(description="which fault")
    count: int = Field(1, ge=1, le=1000, description="how many jobs each time")


class RedisRestartFault(FaultSpec):
    """The Redis server goes away and comes back."""

    fault: Literal["redis_restart"] = Field(description="which fault")
    for_us: Duration = Field(500_000, alias="for", description="how long it is away")
    data: Literal["kept", "lost", "last_writes_lost"] = Field(
        "kept",
        description="what becomes of its data. last_writes_lost: it comes back as it was at the "
        "last full second, as with an append-only file that is synced each second",
    )


class RedisPauseFault(FaultSpec):
    """SIGSTOP of the Redis server, then SIGCONT."""

    fault: Literal["redis_pause"] = Field(description="which fault")
    for_us: PositiveDuration = Field(alias="for", description="how long it stands still")


# --- the network between hosts and Redis ----------------------------------------------------------


Share = Annotated[float, Field(gt=0, le=1)]
CommandName = Annotated[str, Field(pattern=r"^[A-Za-z]+$")]


class LinkFault(FaultSpec):
    """A fault of the connections to Redis, and whose they are."""

    whose: Literal["all", "workers", "producer", "one_worker"] = Field(
        "all", description="whose connections; one_worker: drawn each time"
    )


class LatencyFault(LinkFault):
    """Every message takes longer, each way, for a time."""

    fault: Literal["latency"] = Field(description="which fault")
    for_us: PositiveDuration = Field(alias="for", description="how long it goes on")
    min_us: Duration = Field(0, alias="min", description="the least that is added to a message")
    max_us: PositiveDuration = Field(alias="max", description="the most that is added to one")


class LostReplyFault(LinkFault):
    """Commands run, and their connection breaks before the reply is there."""

    fault: Literal["lost_reply"] = Field(description="which fault")
    for_us: PositiveDuration = Field(alias="for", description="how long it goes on")
    share: Share = Field(0.1, description="how many of the commands")
    commands: tuple[CommandName, ...] = Field(
        (), max_length=64, description="Redis commands, such as EXEC; none given: every command"
    )


class CutFault(LinkFault):
    """Connections break: what is under way on them is lost."""

    fault: Literal["cut"] = Field(description="which fault")
    share: Share = Field(1.0, description="how many of the connections")
    for_us: Duration = Field(
        0,
        alias="for",
        description="how long afterwards a command breaks its connection before it runs, in the "
        "same share",
    )


class RedisAwayFault(LinkFault):
    """Redis runs on, but nobody reaches it for a time."""

    fault: Literal["redis_away"] = Field(description="which fault")
    for_us: PositiveDuration = Field(alias="for", description="how long")
    how: Literal["refuse", "silent"] = Field(
        "refuse",
        description="refuse: connections break, and new ones are refused. silent: nothing comes "
        "through and nothing says so (a partition); what was sent arrives when it is over",
    )


class RedisErrorFault(LinkFault):
    """Redis answers commands with an error for a time, instead of running them."""

    fault: Literal["redis_error"] = Field(description="which fault")
    for_us: PositiveDuration = Field(alias="for", description="how long")
    error: Literal["LOADING", "READONLY", "OOM"] = Field(
        "LOADING",
        description="LOADING: nearly every command; READONLY: those that write; OOM: those that "
        "may need memory",
    )
    share: Share = Field(1.0, description="how many of those commands")


class ScriptFlushFault(FaultSpec):
    """SCRIPT FLUSH: Redis forgets its scripts, as after a failover."""

    fault: Literal["script_flush"] = Field(description="which fault")


Fault = Annotated[
    SweepFault | RollingRestartFault | KillFault | PauseFault | ClockSkewFault | AbortFault
    | RedisRestartFault | RedisPauseFault | LatencyFault | LostReplyFault | CutFault
    | RedisAwayFault | RedisErrorFault | ScriptFlushFault,
    Field(discriminator="fault"),
]  # fmt: skip
FAULTS = (
    "sweep", "rolling_restart", "kill", "pause", "clock_skew", "abort", "redis_restart",
    "redis_pause", "latency", "lost_reply", "cut", "redis_away", "redis_error", "script_flush",
)  # fmt: skip
SERVER_FAULTS = ("redis_restart", "redis_pause", "script_flush")
