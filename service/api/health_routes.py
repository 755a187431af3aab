"""/healthz, /readyz and /metrics: for those who watch over the service.

`/healthz` says that the process answers, `/readyz` that runs can be made; both are open, since a
probe has no token. They say nothing that a stranger may not know.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from chaos.version import VERSION
from service.api.problems import answers
from service.api.shapes import Health, Readiness
from service.api.state import RunsOf
from service.errors import Unavailable

router = APIRouter(tags=["health"])
HEAD = ["HEAD"]  # what some probes ask with; the answer is GET's without its body


@router.api_route("/healthz", methods=HEAD, include_in_schema=False)
@router.get("/healthz", operation_id="health", responses=answers())
async def healthz() -> Health:
    """The process is alive."""
    return Health(status="ok", version=VERSION)


@router.api_route("/readyz", methods=HEAD, include_in_schema=False)
@router.get("/readyz", operation_id="ready", responses=answers(Unavailable))
async def readyz(runs: RunsOf) -> Readiness:
    """Runs can be made now. A locked service is ready: it does what it is asked."""
    reason = runs.ready()
    if reason:
        raise Unavailable(reason, retry_after_s=5)
    return Readiness(status="ready")


@router.get(
    "/metrics",
    operation_id="metrics",
    response_class=Response,
    responses={
        200: {
            "description": "Prometheus text, or OpenMetrics with exemplars if that is asked for.",
            "content": {
                "text/plain": {"schema": {"type": "string"}},
                "application/openmetrics-text": {"schema": {"type": "string"}},
            },
        },
        **answers(),
    },
)
def metrics(request: Request) -> Response:
    """All metrics: docs/metrics.md names them. Beyond loopback it needs a viewer's token."""
    accept = request.headers.get("accept", "")
    content, content_type = request.app.state.metrics.exposition_for(accept)
    return Response(content, headers={"Content-Type": content_type})
