"""GET /v1/plans, /v1/variants, /v1/targets, /v1/faults, /v1/checkers: what can be chosen."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from service.api import catalogue
from service.api.problems import answers
from service.api.shapes import CheckerList, FaultList, PlanDetail, PlanList, TargetList, VariantList
from service.api.state import CatalogueOf
from service.errors import Invalid, NotFound
from service.security.dependencies import Viewer

router = APIRouter(prefix="/v1", tags=["catalogue"])
PlanName = Annotated[
    str, Path(min_length=1, max_length=100, description="A plan's name.", examples=["same-key"])
]


@router.get("/plans", operation_id="listPlans", responses=answers())
def list_plans(_: Viewer, offered: CatalogueOf) -> PlanList:
    """Every plan that a run may name, with what it is for."""
    return offered.plans()


@router.get("/plans/{plan}", operation_id="getPlan", responses=answers(NotFound, Invalid))
def get_plan(_: Viewer, offered: CatalogueOf, plan: PlanName) -> PlanDetail:
    """One plan: its YAML, the same as JSON, and a summary."""
    return offered.plan(plan)


@router.get("/variants", operation_id="listVariants", responses=answers())
def list_variants(_: Viewer, offered: CatalogueOf) -> VariantList:
    """The saq builds that a run may name."""
    return offered.variants()


@router.get("/targets", operation_id="listTargets", responses=answers())
def list_targets(_: Viewer, offered: CatalogueOf) -> TargetList:
    """The apps, Redis servers and webhooks that a run may name; no address or secret of them."""
    return offered.targets()


@router.get("/faults", operation_id="listFaults", responses=answers())
def list_faults(_: Viewer) -> FaultList:
    """The faults of plans, each with the JSON Schema of what a plan writes for it."""
    return catalogue.faults()


@router.get("/checkers", operation_id="listCheckers", responses=answers())
def list_checkers(_: Viewer) -> CheckerList:
    """The promises of plans, each with its claim and what it is rated by."""
    return catalogue.checkers()
