"""The main job over HTTP: a live run, a rolling restart forced from outside, what is left of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from tests.service.api.made_runs import PATIENCE_S, VARIANT
from tests.service.conftest import Server

LOAD = {
    "plan": "forced",
    "variants": [VARIANT],
    "duration": "15s",
    "drain": "20s",
    "workers": {"count": 2, "grace": "1s", "deadline": "500ms"},
    "workload": {
        "kind": "same_key",
        "keys": 50,
        "rate": "10/s",
        "bodies": [{"profile": "quick", "takes": "20ms"}],
    },
    "promises": ["no-internal-errors", "no-lost-jobs"],
}


def events(stream: httpx.Response) -> Iterator[tuple[str, dict[str, Any]]]:
    """Type and data of each event, as they come."""
    kind = ""
    for line in stream.iter_lines():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))


def restarts(metrics: str) -> float:
    found = re.findall(
        r'^saqchaos_restarts_total\{[^}]*variant="stock@0\.26\.4"[^}]*\} ([\d.e+]+)$',
        metrics,
        re.MULTILINE,
    )
    return sum(float(value) for value in found)


def test_a_rolling_restart_is_forced_into_a_live_run_and_shows_everywhere(
    server: Server, environment: Callable[[str], object]
) -> None:
    environment(VARIANT)
    with httpx.Client(base_url=server.url, timeout=PATIENCE_S) as client:
        started = client.post("/v1/runs", json={"plan": LOAD})
        assert started.status_code == 201, started.text
        run = started.json()["id"]
        seen: list[tuple[str, dict[str, Any]]] = []
        with client.stream("GET", f"/v1/runs/{run}/events") as stream:
            for kind, data in events(stream):
                seen.append((kind, data))
                if (kind, data.get("phase")) == ("phase", "safety"):
                    forced = {"fault": {"fault": "rolling_restart", "max_surge": 1}}
                    answer = client.post(f"/v1/runs/{run}/faults", json=forced)
                    assert answer.status_code == 202, answer.text
                    assert answer.json()["variants"] == [VARIANT]
        faults = [data for kind, data in seen if kind == "fault"]
        assert [(one["fault"], one["change"]) for one in faults] == [
            ("rolling_restart", "injected"),
            ("rolling_restart", "healed"),
        ]
        ended = client.get(f"/v1/runs/{run}").json()
        assert (ended["outcome"], ended["exit_code"]) == ("passed", 0), ended
        assert ended["verdict"][0]["counters"]["restarts"] == 2
        assert restarts(client.get("/metrics").text) == 2
        for name in ("verdict", "history", "report", "junit", "summary", "plan"):
            assert client.get(f"/v1/runs/{run}/{name}").status_code == 200
