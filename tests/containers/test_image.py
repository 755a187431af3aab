"""The image and the compose file, built and run for real: `make test-containers`.

It takes minutes, root and Debian's container tools, so it is no part of `make test`.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.containers import tools

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1_800)]
HERE = Path(__file__).parent
SERVICE, PROMETHEUS = "http://127.0.0.1:8080", "http://127.0.0.1:9090"


@pytest.fixture(scope="module")
def base() -> str:
    reason = tools.why_not()
    if reason:
        pytest.skip(reason)
    return tools.base_image()


@pytest.fixture(scope="module")
def image(base: str) -> str:
    return tools.build("saq-chaos", base)


@pytest.fixture(scope="module")
def composed(base: str, image: str) -> Iterator[tools.Compose]:
    """The services of the compose file whose images can be had without a registry."""
    images = {"SAQCHAOS_IMAGE": image, "SAQCHAOS_STANDING_PLAN": "smoke"}
    for name in ("redis", "prometheus"):
        made = HERE / "images" / f"{name}.Dockerfile"
        tag = f"saq-chaos-test-{name}"
        images[f"{name.upper()}_IMAGE"] = tools.build(tag, base, made, HERE / "images")
    with tools.compose("saqchaostest", images) as project:
        project.up("service", "redis", "prometheus")
        yield project


def test_the_main_job_runs_inside_without_a_network_as_nobody_special(image: str) -> None:
    said = tools.inside(
        image, "sh", "-c",
        "id -u; saq-chaos soak same-key --duration 15s --quiet --json --run-dir /data/runs "
        "--variant stock@0.26.3 --variant guarded@0.26.3 > /data/out.json; echo $?; "
        "cat /data/out.json",
    )  # fmt: skip
    user, code, verdict = said.split("\n", 2)
    assert user == "10001"
    assert code in ("0", "3")  # 15 s meet fewer collisions than the plan asks for
    judged = json.loads(verdict)
    counted = {one["variant"]: one["counters"] for one in judged["variants"]}
    assert counted["stock@0.26.3"]["key_errors"] > 0
    assert counted["guarded@0.26.3"]["key_errors"] == 0
    assert counted["guarded@0.26.3"]["slot_collisions"] > 0


def test_nothing_listens_beyond_loopback_without_tokens(image: str) -> None:
    said = tools.inside(
        image, "sh", "-c", "env -u SAQCHAOS_TOKENS_FILE saq-chaos serve 2>&1; echo code $?"
    )
    assert "has no tokens" in said
    assert said.endswith("code 2\n")


def test_the_image_holds_no_tool_that_a_run_does_not_need(image: str) -> None:
    said = tools.inside(image, "sh", "-c", "command -v uv gcc git; ls /src /tests 2>&1; true")
    assert "/uv" not in said
    assert "gcc" not in said
    assert said.count("No such file") == 2


def test_the_services_come_up_healthy_and_a_standing_soak_begins(composed: tools.Compose) -> None:
    composed.ask_health()
    assert composed.health("service") == "healthy"
    assert composed.health("redis") == "healthy"
    runs = wait_for(lambda: get(composed, "/v1/runs")["runs"])
    assert runs[0]["trigger"] == "standing"
    assert runs[0]["plan"] == "smoke"


def test_strangers_get_no_run_and_no_metrics(composed: tools.Compose) -> None:
    assert status_of(f"{SERVICE}/v1/runs") == 401
    assert status_of(f"{SERVICE}/metrics") == 401
    assert status_of(f"{SERVICE}/healthz") == 200


def test_a_run_is_started_and_judged_from_outside(composed: tools.Compose) -> None:
    request = {"plan": "same-key", "world": "sim", "duration": "10s", "variants": ["stock@0.26.3"]}
    run = get(composed, "/v1/runs", request)
    ended = wait_for(
        lambda: [
            one for one in [get(composed, f"/v1/runs/{run['id']}")] if one["state"] == "ended"
        ],
        seconds=400,  # the standing soak in front of it ends first
    )
    assert ended[0]["exit_code"] in (1, 3)
    assert ended[0]["verdict"][0]["counters"]["key_errors"] > 0


def test_prometheus_scrapes_the_service_with_the_viewers_token(composed: tools.Compose) -> None:
    def active() -> list[Any]:
        with urllib.request.urlopen(f"{PROMETHEUS}/api/v1/targets", timeout=10) as answer:
            targets = json.load(answer)["data"]["activeTargets"]
        return [one for one in targets if one["health"] == "up"]

    assert wait_for(active)[0]["labels"]["job"] == "saq-chaos"


def test_killed_children_are_reaped_by_the_first_process(composed: tools.Compose) -> None:
    first = composed.execute("service", "cat", "/proc/1/cmdline").split("\0")[0]
    assert first == "dumb-init"
    states = composed.execute("service", "sh", "-c", "cat /proc/[0-9]*/stat 2>/dev/null")
    assert [line for line in states.splitlines() if ") Z " in line] == []


def get(composed: tools.Compose, where: str, body: object | None = None) -> Any:
    """The JSON answer of the API, asked from outside the container."""
    token = composed.execute("service", "cat", "/secrets/admin-token").strip()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{SERVICE}{where}", data, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def status_of(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def wait_for(ask: Any, seconds: int = 120) -> Any:
    """What `ask` gives once it gives something."""
    end, last = time.monotonic() + seconds, None
    while time.monotonic() < end:
        try:
            last = ask()
        except OSError as error:
            last = None
            said = repr(error)
        else:
            said = repr(last)
        if last:
            return last
        time.sleep(1)
    raise AssertionError(f"nothing came in {seconds} s; the last answer was {said}")
