"""What goes in and out over HTTP: requests, runs, events, schedules, as frozen pydantic models.

    POST /v1/runs ── RunRequest ──► Run ◄── GET /v1/runs/{id}
                                     │
    GET …/events ◄── Event* ─────────┘

`openapi.json` is made from these, so every field says what it is. Times are UTC in ISO 8601,
durations are text as in a plan (`90s`). The console, the gate and the webhooks use these alone.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

NAME = r"^[A-Za-z0-9][A-Za-z0-9@._+-]{0,99}$"
LABEL = r"^[A-Za-z0-9@._/+: -]{0,200}$"
DURATION = r"^[0-9]{1,9}(\.[0-9]{1,6})?(us|ms|s|m|h)$"

Name = Annotated[str, StringConstraints(pattern=NAME)]
Label = Annotated[str, StringConstraints(pattern=LABEL)]
RunId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
DurationText = Annotated[str, StringConstraints(pattern=DURATION)]

State = Literal["queued", "running", "ended"]
Outcome = Literal["passed", "failed", "unknown", "error", "interrupted", "stopped"]
Judgement = Literal["VALID", "UNKNOWN", "INVALID"]
Role = Literal["viewer", "operator", "admin"]
EventType = Literal["state", "phase", "tick", "fault", "finding", "note", "ended"]


class Model(BaseModel):
    """Frozen, and a key that nothing reads is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RunRequest(Model):
    """One run to be made. Whatever it names, the server's settings must list."""

    plan: Annotated[str, StringConstraints(min_length=1, max_length=100)] | dict[str, Any] = Field(
        description="The name of a plan that this server offers, or a plan as a JSON object."
    )
    variants: list[str] | None = Field(None, max_length=50, description="None: the plan's own.")
    gate: Literal["strict", "baseline"] | None = None
    baseline: str | None = Field(None, max_length=200)
    world: Literal["live", "sim"] = "live"
    seed: int | None = Field(None, ge=0, le=2**63 - 1, description="None: the plan's own.")
    duration: DurationText | None = Field(None, description="None: the plan's own.")
    labels: dict[Name, Label] = Field(default_factory=dict, max_length=20)
    app: Name | None = Field(None, description="An app of the server's settings.")
    redis: Name | None = Field(None, description="A Redis of the settings; None: embedded.")
    webhooks: list[Name] = Field(default_factory=list, max_length=10)
    dry_run: bool = Field(False, description="Validate and show the fault schedule; run nothing.")


class PromiseSummary(Model):
    """How one promise did on one variant. `count` is the number of violations."""

    promise: str
    outcome: Judgement
    count: int


class VariantSummary(Model):
    """How one variant did: promises in the plan's order, and the counters by name."""

    variant: str
    outcome: Judgement
    promises: list[PromiseSummary]
    counters: dict[str, float]


class GateSummary(Model):
    """What decided the exit code, and why."""

    kind: str
    passed: bool | None
    reasons: list[str]


class Run(Model):
    """One run, from the queue to its end."""

    id: RunId
    state: State
    outcome: Outcome | None = Field(None, description="Set once the run has ended.")
    exit_code: int | None = Field(None, description="0 passed, 1 failed, 3 unknown, 4 error, 130.")
    plan: str
    world: Literal["live", "sim"]
    seed: int
    variants: list[str]
    gate: str
    labels: dict[str, str]
    trigger: Literal["api", "schedule", "standing"]
    schedule: str | None = Field(None, description="The schedule that triggered it.")
    requested_by: str
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    place: int | None = Field(None, description="Runs before it in the queue, while it waits.")
    phase: str | None = Field(None, description="The latest phase of any variant.")
    error: str | None = Field(None, description="Why it failed, where it failed by itself.")
    verdict: list[VariantSummary] | None = None
    gate_answer: GateSummary | None = None
    events: int = Field(0, description="Id of its latest event.")


class RunPage(Model):
    """A page of runs, the newest first. `next` is the cursor of the page after it."""

    runs: list[Run]
    next: str | None = None


class PlannedFault(Model):
    """One injection that a plan's seed has drawn, in seconds from the beginning of the load."""

    fault: str
    at_s: float
    for_s: float


class Preview(Model):
    """What a request would run."""

    plan: str
    plan_yaml: str
    seed: int
    world: Literal["live", "sim"]
    variants: list[str]
    gate: str
    duration_s: float
    drain_s: float
    jobs: int = Field(description="Jobs that the plan enqueues, at most.")
    faults: list[PlannedFault]
    faults_left_out: int = Field(0, description="Injections beyond the first 2,000.")


class VariantTick(Model):
    """How a variant does now. Counters that are 0 are left out."""

    variant: str
    phase: str
    left_s: float
    counters: dict[str, float]
    faults_active: list[str]


class EventData(Model):
    """What an event says; which fields are set follows from its type.

    state: state, outcome, by, text. phase: variant, phase. tick: at_s, variants. fault: variant,
    fault, number, change, error, by. finding: variant, promise, count, text. note: text.
    ended: outcome, exit_code, text.
    """

    state: State | None = None
    outcome: Outcome | None = None
    exit_code: int | None = None
    by: str | None = None
    text: str | None = None
    at_s: float | None = Field(None, description="Seconds since the run's process began.")
    variant: str | None = None
    phase: str | None = None
    variants: list[VariantTick] | None = None
    fault: str | None = None
    number: int | None = None
    change: Literal["injected", "healed"] | None = None
    error: str | None = None
    promise: str | None = None
    count: int | None = None


class Event(Model):
    """One event of a run. Ids count from 1 without gaps."""

    id: int
    run: RunId
    type: EventType
    at: datetime
    data: EventData


class FaultRequest(Model):
    """A fault to inject now, as a plan writes it but without its times."""

    fault: dict[str, Any] = Field(description='Such as {"fault": "sweep"}, in a plan\'s words.')
    variants: list[str] | None = Field(None, max_length=50, description="None: all of the run.")


class FaultAccepted(Model):
    """Injections that are under way; events tell how they go."""

    run: RunId
    fault: str
    variants: list[str]


class ComparisonRow(Model):
    """One promise or counter of one variant in both runs."""

    variant: str
    what: Literal["promise", "counter"]
    name: str
    a: str | float | None
    b: str | float | None
    worse: bool | None = Field(None, description="Whether b is worse than a, where that has sense.")
    p: float | None = Field(None, description="One-sided exact test, where both have a rate.")


class Comparison(Model):
    """Two runs side by side. `rows` has what differs first; figures are per variant."""

    a: Run
    b: Run
    same_plan: bool
    rows: list[ComparisonRow]


class ScheduleRequest(Model):
    """Runs by the clock."""

    name: Name
    cron: Annotated[str, StringConstraints(min_length=9, max_length=100)] = Field(
        description="Five fields, UTC: minute hour day month weekday."
    )
    run: RunRequest
    concurrency: Literal["allow", "forbid", "replace"] = Field(
        "forbid", description="What happens while the last run of it goes on."
    )
    keep: int = Field(10, ge=1, le=1_000, description="How many of its ended runs are kept.")
    enabled: bool = True


class Schedule(Model):
    """A schedule and what became of it."""

    request: ScheduleRequest
    created_by: str
    created_at: datetime
    next_at: datetime | None
    last_run: RunId | None = None
    last_at: datetime | None = None
    last_error: str | None = None


class LockRequest(Model):
    """Why nothing may run."""

    reason: Annotated[str, StringConstraints(min_length=1, max_length=500)]


class Lock(Model):
    """Whether the service is locked."""

    locked: bool
    reason: str | None = None
    by: str | None = None
    at: datetime | None = None


class SessionRequest(Model):
    """A log-in of the console."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=500)]


class Session(Model):
    """Who is asking. `csrf` goes into the header X-CSRF-Token of whatever changes something."""

    name: str
    role: Role
    csrf: str | None = None


class Problem(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    problems: list[str] = Field(default_factory=list)
