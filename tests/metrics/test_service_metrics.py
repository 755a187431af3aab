"""What the service counts of itself, the page that documents all of it, and promtool's opinion."""

from __future__ import annotations

import shutil
import subprocess

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families

from service.metrics import OUTCOMES, Metrics
from service.metrics.docs import PAGE, page
from service.metrics.middleware import CountRequests
from service.metrics.own import Figures


def name_of(name: str, labels: dict[str, str]) -> str:
    return f"{name}{dict(sorted(labels.items())) or ''}"


def shown(metrics: Metrics, prefix: str) -> dict[str, float]:
    """The samples with this name and labels that are not 0."""
    text = metrics.exposition_for("")[0].decode()
    return {
        name_of(sample.name.removeprefix(prefix), sample.labels): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith(prefix) and sample.value
    }


def test_runs_are_counted_by_outcome_and_an_unknown_one_is_refused() -> None:
    metrics = Metrics(())
    metrics.service.run_ended("failed")
    metrics.service.run_ended("failed")
    assert shown(metrics, "saqchaos_runs_") == {"total{'outcome': 'failed'}": 2}
    with pytest.raises(ValueError, match="outcome 'lost' is none of passed, failed, unknown"):
        metrics.service.run_ended("lost")
    assert OUTCOMES == ("passed", "failed", "unknown", "error", "interrupted", "stopped")


def test_what_the_runs_come_to_is_asked_for_at_each_scrape() -> None:
    metrics, now = Metrics(()), [Figures(2, 1, 0, {})]
    metrics.service.follow(lambda: now[-1])
    assert shown(metrics, "saqchaos_queue_length") == {"": 2}
    now.append(Figures(3, 0, 4, {"failed": 2}))
    assert shown(metrics, "saqchaos_queue_length") == {"": 3}
    assert shown(metrics, "saqchaos_event_subscribers") == {}
    assert shown(metrics, "saqchaos_event_streams_dropped_") == {"total": 4}
    assert shown(metrics, "saqchaos_runs_") == {"total{'outcome': 'failed'}": 2}
    now.append(Figures(3, 0, 5, {"failed": 3, "passed": 1}))
    for _ in range(2):
        assert shown(metrics, "saqchaos_runs_") == {
            "total{'outcome': 'failed'}": 3,
            "total{'outcome': 'passed'}": 1,
        }
    assert shown(metrics, "saqchaos_event_streams_dropped_") == {"total": 5}


async def test_requests_are_counted_by_the_route_s_template_never_by_the_path() -> None:
    metrics = Metrics(())
    app = FastAPI()

    @app.get("/v1/runs/{run}")
    async def read(run: str) -> str:
        if run == "bad":
            raise RuntimeError(run)
        return run

    app.add_middleware(CountRequests, metrics=metrics.service)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        for path in ("/v1/runs/a", "/v1/runs/b", "/v1/runs/bad", "/secret-path"):
            await client.get(path)
        await client.request("BREW", "/v1/runs/a")
    counted = shown(metrics, "saqchaos_http_requests_")
    route = "'route': '/v1/runs/{run}'"
    assert counted == {
        f"total{{'method': 'GET', {route}, 'status': '2xx'}}": 2,
        f"total{{'method': 'GET', {route}, 'status': '5xx'}}": 1,
        "total{'method': 'GET', 'route': '(none)', 'status': '4xx'}": 1,
        f"total{{'method': 'other', {route}, 'status': '4xx'}}": 1,
    }
    seconds = shown(metrics, "saqchaos_http_request_seconds_count")
    assert seconds[f"{{'method': 'GET', {route}}}"] == 3


def test_promtool_has_nothing_to_say_about_an_exposition() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed here: apt-get install prometheus")
    metrics = Metrics(("stock@0.26.3", "guarded@0.26.3"))
    metrics.service.requested("/v1/runs/{run}", "GET", 200, 0.01)
    metrics.runs.begin("r", "smoke", "live", ("stock@0.26.3",))
    for accept in ("", "text/plain; version=0.0.4"):
        text, _ = metrics.exposition_for(accept)
        done = subprocess.run(
            [promtool, "check", "metrics"], input=text, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    wrong = text.replace(b"saqchaos_key_errors_total", b"saqchaos_key_errors")
    done = subprocess.run(
        [promtool, "check", "metrics"], input=wrong, capture_output=True, check=False
    )
    assert done.returncode != 0, "it would not see a counter without its _total"


def test_the_page_is_what_the_families_say() -> None:
    assert page() == PAGE.read_text("utf-8"), "run: python -m service.metrics.docs"
