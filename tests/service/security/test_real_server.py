"""A real process on a real socket: what no client library lets a test send."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.service.conftest import Server, StartServer, environment
from tests.service.security.stage import tokens_in

READ_S = 60


def ask(server: Server, request: bytes) -> str:
    """Send raw bytes; everything that comes back until the server closes."""
    port = urlsplit(server.url).port
    with socket.create_connection(("127.0.0.1", port or 0), READ_S) as connection:
        connection.settimeout(READ_S)
        received = []
        try:
            connection.sendall(request)
            while chunk := connection.recv(65_536):
                received.append(chunk)
        except ConnectionError:
            pass  # it closed while we were sending: what came before counts
    return b"".join(received).decode("latin-1")


def head(server: Server, line: str, *headers: str) -> bytes:
    """A request's head for this server, which closes the connection after it."""
    host = f"Host: {urlsplit(server.url).netloc}"
    lines = (line, *(() if "Host:" in "".join(headers) else (host,)), "Connection: close", *headers)
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def test_what_only_raw_bytes_can_say_is_refused(server: Server) -> None:
    json_type = "Content-Type: application/json"
    chunk = b"fff\r\n" + b"x" * 4095 + b"\r\n"
    answers = {
        "no host": ask(server, b"GET /v1/runs HTTP/1.0\r\n\r\n"),
        "other host": ask(server, head(server, "GET /v1/runs HTTP/1.1", "Host: evil.example")),
        "dots": ask(server, head(server, "GET /v1/runs/../../etc/passwd HTTP/1.1")),
        "encoded": ask(server, head(server, "GET /v1/runs/%2e%2e%2f%2e%2e/verdict HTTP/1.1")),
        "zero": ask(server, head(server, "GET /v1/runs/a%00b HTTP/1.1")),
        "long": ask(server, head(server, f"GET /v1/runs/{'a' * 3000} HTTP/1.1")),
        "headers": ask(server, head(server, "GET /v1/runs HTTP/1.1", f"X: {'a' * 100_000}")),
        "chunked": ask(
            server,
            head(server, "POST /v1/runs HTTP/1.1", "Transfer-Encoding: chunked", json_type)
            + chunk * 100,
        ),
        "length": ask(
            server, head(server, "POST /v1/runs HTTP/1.1", "Content-Length: 99999999", json_type)
        ),
        "nested": ask(
            server,
            head(server, "POST /v1/runs HTTP/1.1", "Content-Length: 100000", json_type)
            + b"[" * 100_000,
        ),
    }
    assert {name: answer.split(" ")[1] for name, answer in answers.items()} == {
        "no host": "400", "other host": "400", "dots": "404", "encoded": "404", "zero": "404",
        "long": "404", "headers": "400", "chunked": "413", "length": "413", "nested": "400",
    }  # fmt: skip
    assert [name for name, answer in answers.items() if "root:" in answer] == []
    assert httpx.get(f"{server.url}/healthz", timeout=READ_S).status_code == 200


def test_a_server_names_no_software_and_believes_no_proxy(server: Server) -> None:
    forged = {"X-Forwarded-For": "192.0.2.99", "X-Forwarded-Proto": "https"}
    answer = httpx.get(f"{server.url}/v1/session", headers=forged, timeout=READ_S)
    assert answer.status_code == 200
    assert "server" not in answer.headers


def test_log_in_act_and_log_out(start_server: StartServer, tmp_path: Path) -> None:
    path, secret = tokens_in(tmp_path, ann="admin", prometheus="viewer")
    server = start_server(SAQCHAOS_TOKENS_FILE=str(path))
    with httpx.Client(base_url=server.url, timeout=READ_S) as page:
        assert page.get("/v1/runs").status_code == 401
        me = page.post("/v1/session", json={"token": secret["ann"]}).json()
        csrf = {"X-CSRF-Token": me["csrf"]}
        assert page.get("/v1/runs").status_code == 200
        assert page.put("/v1/lock", json={"reason": "deploy"}).status_code == 403
        assert page.put("/v1/lock", json={"reason": "deploy"}, headers=csrf).status_code == 200
        assert page.delete("/v1/lock", headers=csrf).status_code == 200
        entries = page.get("/v1/audit").json()["entries"]
        assert page.delete("/v1/session", headers=csrf).status_code == 204
        assert page.get("/v1/runs").status_code == 401
    assert [entry["caller"] for entry in entries] == ["ann", "ann", "ann", "anonymous"]
    assert server.end() == 0
    assert secret["ann"] not in server.said()
    assert [
        item.name
        for item in server.data_dir.rglob("*")
        if item.is_file() and item.stat().st_mode & 0o77
    ] == []


def test_nothing_listens_beyond_loopback_without_tokens(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "service"],
        env=environment(tmp_path / "data", {"SAQCHAOS_HOST": "0.0.0.0"}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 2
    assert "would listen on '0.0.0.0'" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("command", [["token", "ci", "operator"]])
def test_the_service_makes_tokens(command: list[str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "service", *command], capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("saqchaos_")
    assert ran.stderr.startswith("ci operator sha256:")
