"""GET /v1/audit: who did what, for administrators."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from service.security.audit import AuditPage
from service.security.dependencies import Admin, security_of
from service.security.security import Security

router = APIRouter(prefix="/v1/audit", tags=["audit"])


@router.get("", summary="Who did what")
def audit(
    _: Admin,
    security: Annotated[Security, Depends(security_of)],
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[str | None, Query(pattern=r"^\d{1,18}$", description="Of a page.")] = None,
) -> AuditPage:
    """The newest entries first; the cursor of a page stays valid while more come."""
    return security.audit.page(limit, None if cursor is None else int(cursor))
