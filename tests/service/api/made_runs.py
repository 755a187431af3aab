"""A run that a test of the API can look at: made by a real server in the simulator, in seconds."""

from __future__ import annotations

from typing import Any

import httpx

PATIENCE_S = 120.0
VARIANT = "stock@0.26.4"


def wanted(**changes: Any) -> dict[str, Any]:
    """A request for a short run: the simulator makes it in about a second."""
    request = {"plan": "smoke", "world": "sim", "duration": "3s", "variants": [VARIANT]}
    return {**request, **changes}


def make(url: str, **changes: Any) -> dict[str, Any]:
    """Start a run and follow it to its end. Returns the run as it stands then."""
    with httpx.Client(base_url=url, timeout=PATIENCE_S) as client:
        started = client.post("/v1/runs", json=wanted(**changes))
        assert started.status_code == 201, started.text
        run = started.json()["id"]
        follow(client, run)
        ended: dict[str, Any] = client.get(f"/v1/runs/{run}").json()
        assert ended["state"] == "ended", ended
        return ended


def follow(client: httpx.Client, run: str, after: int = 0) -> str:
    """The text of a run's event stream, to its end."""
    with client.stream("GET", f"/v1/runs/{run}/events", params={"after": after}) as answer:
        assert answer.status_code == 200, answer.read()
        return "".join(answer.iter_text())
