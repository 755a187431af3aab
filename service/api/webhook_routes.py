"""/v1/webhooks/deliveries: what addresses of the settings were told, for administrators."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from service import errors
from service.api.problems import answers
from service.api.shapes import DeliveryList
from service.api.state import WebhooksOf
from service.security.dependencies import Admin

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"])


@router.get(
    "/deliveries",
    operation_id="listDeliveries",
    responses=answers(errors.Invalid, errors.Unavailable),
)
async def list_deliveries(
    _: Admin,
    webhooks: WebhooksOf,
    run: Annotated[
        str | None, Query(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$", description="Of one run.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> DeliveryList:
    """Deliveries, the newest first, with what came back."""
    return DeliveryList(deliveries=webhooks.deliveries(run, limit))
