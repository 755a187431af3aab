"""What the API says beside runs: plans, variants, faults, promises, health, webhook deliveries."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from service.models import Model, RunId, Schedule


class PlanSummary(Model):
    """A plan that a request may name."""

    name: str
    description: str
    source: Literal["shipped", "server"] = Field(description="server: from its own folder.")
    variants: list[str]
    gate: str
    duration_s: float
    drain_s: float
    faults: list[str] = Field(description="The kinds of its faults, in its order.")
    promises: list[str]


class PlanList(Model):
    """All plans. `broken` names files of the server's folder that are no plan, and why."""

    plans: list[PlanSummary]
    broken: dict[str, str] = Field(default_factory=dict)


class PlanDetail(Model):
    """One plan: as it is written, as data (fit for `plan` of a run's request), in short."""

    summary: PlanSummary
    yaml: str
    plan: dict[str, Any]


class VariantOffer(Model):
    """A saq build that a request may name."""

    variant: str
    patch: str
    saq: str
    description: str
    problem: str | None = Field(None, description="Why it cannot run, where that is known.")


class VariantList(Model):
    """All variants that this server offers, in the order of its settings."""

    variants: list[VariantOffer]


class TargetList(Model):
    """Names of the settings that a request may name beside variants; where they lead stays here."""

    apps: list[str]
    redis: list[str]
    webhooks: list[str]


class FaultOffer(Model):
    """A fault that a plan may have, or that may be injected now."""

    fault: str
    description: str
    worlds: list[Literal["live", "sim"]]
    fields: dict[str, Any] = Field(description="JSON Schema of what a plan writes for it.")


class FaultList(Model):
    """All faults, in the order of the documentation."""

    faults: list[FaultOffer]


class CheckerOffer(Model):
    """A promise that a plan may require, and the counter that says how often it was at risk."""

    promise: str
    claim: str
    exposure: str


class CheckerList(Model):
    """All promises, in the order of reports."""

    checkers: list[CheckerOffer]


class Health(Model):
    """The process is alive."""

    status: Literal["ok"]
    version: str


class Readiness(Model):
    """Runs can be made."""

    status: Literal["ready"]


class Delivery(Model):
    """What one webhook was told about one run, and what its address said."""

    id: str
    run: RunId
    webhook: str
    state: Literal["pending", "delivered", "failed"]
    attempts: int
    created_at: datetime
    next_at: datetime | None = Field(None, description="When it is tried again.")
    finished_at: datetime | None = None
    status: int | None = Field(None, description="The latest HTTP status that came back.")
    error: str | None = Field(None, description="Why the latest attempt failed.")


class DeliveryList(Model):
    """Deliveries, the newest first."""

    deliveries: list[Delivery]


class ScheduleList(Model):
    """All schedules by name."""

    schedules: list[Schedule]


class ProblemKind(Model):
    """What the `type` of a problem means."""

    type: str
    title: str
    status: int
    meaning: str
