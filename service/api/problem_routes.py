"""/problems/{kind}: what a problem's `type` points at, for whoever follows it. Open to all."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from service.api.problems import TYPE_PREFIX, answers, kinds
from service.api.shapes import ProblemKind
from service.errors import Invalid, NotFound

router = APIRouter(prefix="/problems", tags=["health"])


@router.get("/{kind}", operation_id="explainProblem", responses=answers(NotFound, Invalid))
async def explain(
    kind: Annotated[str, Path(pattern="^[a-z-]{1,40}$", examples=["not-found"])],
) -> ProblemKind:
    """What a kind of problem means. docs/api.md says more."""
    for one in kinds():
        if one.kind == kind:
            meaning = (one.__doc__ or "").strip().partition("\n")[0]
            return ProblemKind(
                type=f"{TYPE_PREFIX}{kind}", title=one.title, status=one.status, meaning=meaning
            )
    raise NotFound(f"no problem is of kind {kind!r}: docs/api.md has them all")
