"""`python -m service` and `saq-chaos serve` as processes: settings, ports, signals, restarts."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

from service.webhooks import signing
from tests.service.api import made_runs
from tests.service.conftest import StartServer, environment

SECRET = "the secret of a webhook"


def refused(tmp_path: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A service that is expected to end by itself."""
    return subprocess.run(
        [sys.executable, "-m", "service", *arguments],
        env=environment(tmp_path / "data", variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_wrong_settings_end_it_with_2_and_name_each_variable(tmp_path: Path) -> None:
    done = refused(tmp_path, SAQCHAOS_PORT="80800", SAQCHAOS_LIMITS__RUN_S="0")
    assert done.returncode == 2
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == [
        "SAQCHAOS_PORT='80800'",
        "SAQCHAOS_LIMITS__RUN_S='0'",
    ]
    assert not (tmp_path / "data").exists()


def test_a_taken_port_ends_it_with_4_before_it_touches_anything(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = refused(tmp_path, SAQCHAOS_PORT=str(port))
    assert done.returncode == 4
    assert f"port {port} of 127.0.0.1 is taken" in done.stderr
    assert "SAQCHAOS_PORT" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_second_service_on_a_data_directory_is_refused_and_touches_nothing(
    tmp_path: Path, start_server: StartServer
) -> None:
    first = start_server()
    port = (first.data_dir / "port").read_text("ascii")
    done = subprocess.run(
        [sys.executable, "-m", "service"],
        env=environment(first.data_dir, {"SAQCHAOS_PORT": "0"}),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "another service uses the data directory" in done.stderr
    assert "SAQCHAOS_DATA_DIR" in done.stderr
    assert (first.data_dir / "port").read_text("ascii") == port
    assert httpx.get(f"{first.url}/readyz", timeout=60).status_code == 200


def test_a_data_directory_is_free_again_after_its_service_was_killed(
    start_server: StartServer,
) -> None:
    first = start_server()
    first.end(signal.SIGKILL)
    second = start_server()
    assert httpx.get(f"{second.url}/readyz", timeout=60).status_code == 200


def test_it_refuses_to_be_open_to_strangers(tmp_path: Path) -> None:
    done = refused(tmp_path, SAQCHAOS_HOST="0.0.0.0")
    assert done.returncode == 2
    assert "SAQCHAOS_TOKENS_FILE" in done.stderr


def test_an_unknown_word_is_refused(tmp_path: Path) -> None:
    done = refused(tmp_path, "serve")
    assert done.returncode == 2
    assert "'serve' is no command" in done.stderr


def test_a_damaged_database_is_told_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "requests.sqlite3").write_bytes(b"no database at all" * 100)
    done = refused(tmp_path)
    assert done.returncode == 4
    assert "put it back from a backup" in done.stderr


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0(start_server: StartServer, how: signal.Signals) -> None:
    server = start_server(SAQCHAOS_PROT="1")
    assert httpx.get(f"{server.url}/readyz", timeout=60).status_code == 200
    assert server.end(how) == 0
    assert "did you mean SAQCHAOS_PORT?" in server.said()
    assert "Traceback" not in server.said()


def test_saq_chaos_serve_becomes_the_service_whatever_lies_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "service").mkdir()
    (tmp_path / "service" / "__init__.py").write_text("raise SystemExit('not ours')\n")
    command = Path(sys.executable).with_name("saq-chaos")
    process = subprocess.Popen(
        [command, "serve", "--port", "0", "--data-dir", "here"],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if not k.startswith("SAQCHAOS_")},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert " serves on http://127.0.0.1:" in line
        port = int((tmp_path / "here" / "port").read_text())
        assert f":{port}/" in line
        assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=60).status_code == 200
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    """A webhook's address on loopback, and what it was told."""
    told: list[tuple[dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}/hook", told
        listening.shutdown()
        thread.join()


def test_a_run_that_ended_while_its_webhook_could_not_be_told_is_told_after_a_restart(
    start_server: StartServer,
    receiver: tuple[str, list[tuple[dict[str, str], bytes]]],
    sim_environment: Callable[[str], object],
) -> None:
    sim_environment(made_runs.VARIANT)
    url, told = receiver
    hooks = {"ci": {"url": url, "secret": SECRET}}
    first = start_server(SAQCHAOS_WEBHOOKS=json.dumps(hooks))
    with httpx.Client(base_url=first.url, timeout=60) as client:
        waiting = client.post("/v1/runs", json=made_runs.wanted(webhooks=["ci"])).json()["id"]
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    second = start_server(SAQCHAOS_WEBHOOKS=json.dumps(hooks))
    with httpx.Client(base_url=second.url, timeout=120) as client:
        made_runs.follow(client, waiting)
        found = client.get(f"/v1/runs/{waiting}").json()
        delivery = _delivered(client, waiting)
    (headers, body), *more = told
    assert more == []
    at_s = int(headers[signing.SIGNATURE.lower()].partition(",")[0].removeprefix("t="))
    assert signing.verify(SECRET.encode(), body, headers[signing.SIGNATURE.lower()], at_s)
    assert json.loads(body) == {"event": "run.ended", "run": found}
    assert delivery["id"] == headers[signing.DELIVERY.lower()]


def _delivered(client: httpx.Client, run: str) -> dict[str, object]:
    """The one delivery of a run, once it is done."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = client.get("/v1/webhooks/deliveries", params={"run": run}).json()["deliveries"]
        if [one["state"] for one in found] == ["delivered"]:
            delivery: dict[str, object] = found[0]
            return delivery
        time.sleep(0.05)
    raise AssertionError(found)
