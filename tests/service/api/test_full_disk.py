"""A disk that is really full: a small file system is mounted as the data directory and filled up.

Only root may mount, and not in every container: elsewhere these tests are skipped, and the tests
that make SQLite refuse (`runs/test_keeping.py`) stand for them.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.api.made_runs import PATIENCE_S, VARIANT
from tests.service.conftest import Server, StartServer

SIZE = "48m"
MOUNT = shutil.which("mount")
BLOCKS = (1 << 16, 512)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system where a server of this test keeps its data."""
    folder = tmp_path / "data"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    tried = subprocess.run(mount, check=False, capture_output=True) if MOUNT else None
    if tried is None or tried.returncode:
        pytest.skip("nothing can be mounted here: that takes root and a kernel that lets it")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> None:
    """Use up every byte."""
    with (disk / "rubbish").open("ab", buffering=0) as file:
        for size in BLOCKS:
            try:
                for _ in range(1 << 20):
                    file.write(bytes(size))
            except OSError:
                continue
    assert shutil.disk_usage(disk).free == 0


def free(disk: Path) -> None:
    (disk / "rubbish").unlink()


def until(look: Callable[[], Any], what: str) -> Any:
    """What `look` finds, once it finds something."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.1)
    pytest.fail(f"{what} did not come within {PATIENCE_S:g} s")


def made(client: httpx.Client, **request: Any) -> str:
    asked = {"plan": "smoke", "variants": [VARIANT], **request}
    answer = client.post("/v1/runs", json=asked)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def ended(client: httpx.Client, run: str) -> Any:
    def look() -> Any:
        found = client.get(f"/v1/runs/{run}").json()
        return found if found["state"] == "ended" else None

    return until(look, f"the end of {run}")


def test_a_disk_that_is_filled_up_ends_the_run_and_loses_nothing_that_had_ended(
    disk: Path, start_server: StartServer, sim_environment: Callable[[str], object]
) -> None:
    sim_environment(VARIANT)
    server = start_server()
    with httpx.Client(base_url=server.url, timeout=PATIENCE_S) as client:
        kept, gone = (ended(client, made(client, world="sim"))["id"] for _ in range(2))
        cut = made(client, duration="60s")
        until(lambda: client.get(f"/v1/runs/{cut}").json()["phase"] == "safety", "phase safety")
        fill(disk)
        assert (ended(client, cut)["outcome"], ended(client, cut)["exit_code"]) == ("error", 4)
        _is_told(client, disk)
        assert client.get(f"/v1/runs/{kept}/verdict").status_code == 200
        assert client.delete(f"/v1/runs/{gone}").status_code == 204  # which makes room by itself
        free(disk)
        until(lambda: client.get("/readyz").status_code == 200, "readiness")
        client.delete("/v1/lock")
        left = [run["id"] for run in client.get("/v1/runs").json()["runs"]]
        assert left == [cut, kept]
        assert ended(client, made(client, world="sim"))["exit_code"] is not None
    assert server.end() == 0


def _is_told(client: httpx.Client, disk: Path) -> None:
    """Reading goes on, and what cannot be written is a problem that says why.

    A small write may still fit into blocks that a database holds already: then it is done.
    """
    cron = {"name": "n", "cron": "0 3 * * *", "run": {"plan": "smoke", "world": "sim"}}
    for method, path, body in (
        ("POST", "/v1/schedules", cron),
        ("PUT", "/v1/lock", {"reason": "the disk is full"}),
        ("DELETE", "/v1/lock", None),
    ):
        fill(disk)
        answer = client.request(method, path, json=body)
        assert answer.status_code in (200, 201, 503), answer.text
        if answer.status_code == 503:
            assert answer.json()["type"] == "/problems/unavailable"
            assert "full" in answer.json()["detail"]
    assert client.get("/healthz").status_code == 200
    assert client.get("/v1/runs").status_code == 200


def test_a_start_on_a_full_disk_says_what_is_full_in_a_line_and_a_later_one_finds_everything(
    disk: Path, start_server: StartServer, sim_environment: Callable[[str], object]
) -> None:
    sim_environment(VARIANT)
    server: Server = start_server()
    with httpx.Client(base_url=server.url, timeout=PATIENCE_S) as client:
        run = ended(client, made(client, world="sim"))
    server.end()
    (disk / "port").write_text("1\n", "ascii")  # so that what fails is the index, not this file
    fill(disk)
    failed = start_server()
    assert failed.process.wait(PATIENCE_S) == 4
    assert "the data directory is full: make room, and start the service again" in failed.said()
    assert "Traceback" not in failed.said()
    free(disk)
    again = start_server()
    assert httpx.get(f"{again.url}/v1/runs/{run['id']}", timeout=PATIENCE_S).json() == run
