"""`saq-chaos gate` against a real service: what it sends, shows, writes, and how it exits."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import httpx
import pytest

from chaos.cli import gating
from chaos.cli.gating import Service
from chaos.cli.main import run
from tests.cli.gate_stage import cutting, free_port, scripted
from tests.service.conftest import Server, start_process

PATIENCE_S = 120
VARIANT = "stock@0.26.4"
SHORT = ("--plan", "smoke", "--world", "sim", "--variant", VARIANT, "--duration", "3s")
LONG = ("--plan", "smoke", "--world", "sim", "--variant", VARIANT, "--duration", "40m")
CALM = """
plan: calm
variants: [stock@0.26.4]
duration: 2s
drain: 5s
workload: {kind: same_key, keys: 5, rate: 10/s, bodies: [{profile: quick, takes: 20ms}]}
promises: [no-internal-errors, no-lost-jobs]
"""
JSON = {"Content-Type": "application/json"}
STREAM = {"Content-Type": "text/event-stream"}


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, sim_environment: Callable[[str], object]
) -> Iterator[Server]:
    """One service for the tests that leave it as it was."""
    for variant in (VARIANT, "stock@0.26.3"):
        sim_environment(variant)
    started = start_process(tmp_path_factory.mktemp("gate"), {})
    yield started
    assert started.end() == 0


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SAQCHAOS_TOKEN", "SAQCHAOS_SERVER"):
        monkeypatch.delenv(name, raising=False)


def gate(url: str, *words: str) -> int:
    """The verb as the command line starts it."""
    return run(["gate", "--server", url, "--timeout", "2m", *words])


def started(url: str, *words: str) -> subprocess.Popen[str]:
    """The verb as a process of its own."""
    script = Path(sys.executable).with_name("saq-chaos")
    return subprocess.Popen(
        [script, "gate", "--server", url, "--timeout", "2m", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def said_until(process: subprocess.Popen[str], line: str) -> list[str]:
    """What it says on stderr, up to the first line that is `line`."""
    assert process.stderr is not None
    said: list[str] = []
    for text in process.stderr:
        said.append(text.rstrip())
        if said[-1] == line:
            return said
    raise AssertionError(f"it ended without saying {line!r}: {said}")


def the_rest(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it says until its end, on stdout and stderr."""
    assert process.stdout is not None
    assert process.stderr is not None
    said = (process.stdout.read(), process.stderr.read())
    process.stdout.close()
    process.stderr.close()
    process.wait(PATIENCE_S)
    return said


def runs_of(url: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = httpx.get(f"{url}/v1/runs", timeout=PATIENCE_S).json()["runs"]
    return found


def one_line(text: str) -> str:
    """The only message, which is no traceback."""
    assert "Traceback" not in text
    assert "fault of saq-chaos" not in text
    assert text.startswith("saq-chaos: ")
    return text.removeprefix("saq-chaos: ").rstrip()


def test_a_plan_of_the_users_own_is_sent_along_and_passes(
    service: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "calm.yaml"
    plan.write_text(CALM)
    assert gate(service.url, "--plan", str(plan), "--world", "sim", "--label", "pr=412") == 0
    out, err = capsys.readouterr()
    newest = runs_of(service.url)[0]
    assert (newest["plan"], newest["labels"]) == ("calm", {"pr": "412"})
    assert out == (f"passed: run {newest['id']} on {service.url}\nexit code 0: the gate passed\n")
    assert err.splitlines()[:4] == [
        f"run {newest['id']} on {service.url}", "queued", "running", f"{VARIANT}: safety",
    ]  # fmt: skip


def test_a_broken_promise_is_exit_code_1_with_its_reasons(
    service: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--plan", "same-key", "--world", "sim", "--duration", "3s", "--gate", "strict")
    assert gate(service.url, *words, "--variant", "stock@0.26.3", "--quiet") == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == f"failed: run {runs_of(service.url)[0]['id']} on {service.url}"
    assert "  - stock@0.26.3: no-internal-errors was broken " in out
    assert out.splitlines()[-1] == "exit code 1: the gate failed"
    assert err == ""


def test_a_danger_that_was_not_met_is_exit_code_3_and_the_files_are_written(
    service: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit, report, summary = (tmp_path / name for name in ("j.xml", "r.html", "s.md"))
    summary.write_text("# before\n")
    files = ("--junit", str(junit), "--report", str(report), "--summary", str(summary))
    assert gate(service.url, *SHORT, *files) == 3
    out = capsys.readouterr().out
    assert "  - stock@0.26.4: too little danger: 0 restarts, and the plan wants 2\n" in out
    assert ElementTree.parse(junit).getroot().tag == "testsuites"
    assert report.read_text().startswith("<!doctype html>")
    assert summary.read_text().startswith("# before\n")
    assert "UNKNOWN" in summary.read_text()


def test_json_is_the_run_and_nothing_else(
    service: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate(service.url, *SHORT, "--json", "--seed", "7") == 3
    said = json.loads(capsys.readouterr().out)
    assert (said["state"], said["outcome"], said["exit_code"], said["seed"]) == (
        "ended", "unknown", 3, 7,
    )  # fmt: skip


def test_the_same_idempotency_key_follows_the_run_that_is_there(
    service: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    key = ("--idempotency-key", "pipeline-81")
    first, second = (gate(service.url, *SHORT, *key), gate(service.url, *SHORT, *key))
    assert (first, second) == (3, 3)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("unknown:")]
    assert len(lines) == 2
    assert lines[0] == lines[1]
    assert gate(service.url, *SHORT, *key, "--seed", "8") == 2
    assert "(409): " in one_line(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--plan", "smoke", "--variant", "stock@0.22.0"), "stock@0.22.0"),
        (("--plan", "no-such-plan"), "no-such-plan"),
        (("--plan", "smoke", "--app", "shop"), "shop"),
        (("--plan", "smoke", "--redis", "staging"), "staging"),
        (("--plan", "smoke", "--duration", "2h"), "SAQCHAOS_LIMITS__RUN_S"),
        (("--plan", "smoke", "--label", "pr"), "--label 'pr' is no label: write NAME=VALUE"),
        (("--plan", "missing.yaml"), "missing.yaml"),
        (("--plan", "smoke", "--junit", "/no/such/folder/j.xml"), "there is no folder"),
        (("--plan", "smoke", "--idempotency-key", "a b"), "Idempotency-Key"),
    ],
)
def test_what_is_refused_is_said_once_and_is_exit_code_2(
    service: Server, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    before = len(runs_of(service.url))
    assert gate(service.url, *words) == 2
    assert says in one_line(capsys.readouterr().err)
    assert len(runs_of(service.url)) == before


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8080", "ftp://127.0.0.1", "http://", "http://127.0.0.1:port", "http://[::1", ""],
)
def test_what_is_no_address_is_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(url, *SHORT) == 2
    assert f"--server {url!r} is no address" in one_line(capsys.readouterr().err)


def test_a_secret_in_an_address_is_refused_and_not_repeated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert gate("http://ci:hunter2@127.0.0.1:1", *SHORT) == 2
    said = one_line(capsys.readouterr().err)
    assert "SAQCHAOS_TOKEN" in said
    assert "hunter2" not in said


def test_a_package_that_is_missing_is_said_before_a_run_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "httpx_sse", None)
    assert gate("http://127.0.0.1:1", *SHORT) == 2
    assert one_line(capsys.readouterr().err) == (
        "gate needs httpx_sse: pip install 'saq-chaos[gate]'"
    )


def test_nobody_who_listens_is_exit_code_4(capsys: pytest.CaptureFixture[str]) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    assert gate(url, *SHORT, "--timeout", "300ms") == 4
    *_, answer = capsys.readouterr().err.splitlines()
    refused = "ConnectError: [Errno 111] Connection refused"
    assert answer == f"saq-chaos: {url} did not answer in time: {refused}"


def test_what_is_asked_after_the_time_has_run_out_gets_time_for_its_answer() -> None:
    with (
        scripted({"GET /v1/runs/r-1": (200, JSON, b"{}")}, after_s=0.3) as url,
        Service(url, "", deadline=time.monotonic() - 1) as service,
    ):
        assert service.get("/v1/runs/r-1") == b"{}"


def test_what_it_waits_for_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    service = Service("http://ci:1", "", deadline=time.monotonic() + 1e6)
    for problem in ("no answer", "no answer", "it is busy"):
        service._wait(0, problem)
    said = re.sub(r"for \d+ s", "for N s", capsys.readouterr().err)
    assert said.splitlines() == [
        "http://ci:1: no answer; asked again for N s (--timeout)",
        "http://ci:1: it is busy; asked again for N s (--timeout)",
    ]


def test_tokens_and_roles_and_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    sim_environment: Callable[[str], object],
) -> None:  # fmt: skip
    sim_environment(VARIANT)
    tokens = {role: _token(tmp_path / "tokens", role) for role in ("viewer", "operator", "admin")}
    server = start_process(tmp_path, {"SAQCHAOS_TOKENS_FILE": str(tmp_path / "tokens")})
    try:
        assert gate(server.url, *SHORT) == 2
        assert "(401): " in one_line(capsys.readouterr().err)
        monkeypatch.setenv("SAQCHAOS_TOKEN", tokens["viewer"])
        assert gate(server.url, *SHORT) == 2
        assert "(403): " in one_line(capsys.readouterr().err)
        file = tmp_path / "token"
        file.write_text(f"{tokens['operator']}\n")
        assert gate(server.url, *SHORT, "--token-file", str(file), "--quiet") == 3
        capsys.readouterr()
        admin = {"Authorization": f"Bearer {tokens['admin']}"}
        with httpx.Client(base_url=server.url, headers=admin, timeout=PATIENCE_S) as client:
            locked = client.put("/v1/lock", json={"reason": "deploy"})
        assert locked.is_success, locked.text
        assert gate(server.url, *SHORT, "--token-file", str(file)) == 4
        said = one_line(capsys.readouterr().err)
        assert "The service is locked (423): " in said
        assert "deploy" in said
        file.write_bytes(b"\xff\xfe not ASCII")
        assert gate(server.url, *SHORT, "--token-file", str(file)) == 2
        assert "cannot be read" in one_line(capsys.readouterr().err)
        file.write_text("two words")
        assert gate(server.url, *SHORT, "--token-file", str(file)) == 2
        assert "two words" not in one_line(capsys.readouterr().err)
    finally:
        assert server.end() == 0


def _token(file: Path, role: str) -> str:
    words = ["-m", "service", "token", role, role, "--append", str(file)]
    done = subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_an_interrupt_stops_the_run_on_the_service_and_is_exit_code_130(service: Server) -> None:
    process = started(service.url, *LONG)
    said_until(process, f"{VARIANT}: safety")
    process.send_signal(signal.SIGINT)
    out, err = the_rest(process)
    assert process.returncode == 130
    assert out == ""
    newest = runs_of(service.url)[0]
    stopping, last = [line for line in err.splitlines() if line][-2:]
    assert stopping == f"saq-chaos: asked {service.url} to stop run {newest['id']}"
    assert last == "saq-chaos: interrupted"
    with httpx.stream(
        "GET", f"{service.url}/v1/runs/{newest['id']}/events", timeout=PATIENCE_S
    ) as ended:
        ended.read()
    assert runs_of(service.url)[0]["outcome"] == "stopped"


def test_a_time_that_is_over_stops_the_run_and_is_exit_code_4(
    service: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    passed_s = 0.0

    def described(kind: str, data: str) -> str:
        nonlocal passed_s
        line = gating_described(kind, data)
        if line == f"{VARIANT}: safety":
            passed_s = 7_200.0  # two hours later the run still goes on
        return line

    gating_described = gating.described
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed_s, sleep=time.sleep)
    monkeypatch.setattr(gating, "time", clock)
    monkeypatch.setattr(gating, "described", described)
    assert gate(service.url, *LONG) == 4
    newest = str(runs_of(service.url)[0]["id"])
    assert capsys.readouterr().err.splitlines()[-2:] == [
        f"saq-chaos: asked {service.url} to stop run {newest}",
        f"saq-chaos: run {newest} has not ended in time: give a longer --timeout",
    ]
    with httpx.stream("GET", f"{service.url}/v1/runs/{newest}/events", timeout=PATIENCE_S) as ended:
        ended.read()


def test_a_service_that_restarts_in_the_middle_is_waited_for(
    tmp_path: Path, sim_environment: Callable[[str], object]
) -> None:
    sim_environment(VARIANT)
    port = {"SAQCHAOS_PORT": str(free_port())}
    first = start_process(tmp_path, port)
    process = started(first.url, *LONG)
    said_until(process, f"{VARIANT}: safety")
    first.end(signal.SIGKILL)
    second = start_process(tmp_path, port)
    try:
        out, err = the_rest(process)
        newest = runs_of(second.url)[0]
        assert out.splitlines()[0] == f"interrupted: run {newest['id']} on {first.url}", err
        assert process.returncode == 130
    finally:
        assert second.end() == 0


def test_a_stream_that_breaks_is_taken_up_after_its_last_event(
    service: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    with cutting(service.url, cuts=2, after=200) as proxy:
        assert gate(proxy.url, *SHORT) == 3
        heads = [head.lower() for head in proxy.heads]
    said = capsys.readouterr().err.splitlines()
    asked = [re.findall(r"last-event-id: (\d+)", head) for head in heads]
    assert asked == [["0"], ["1"], ["2"]]
    assert said[1:4] == ["queued", "running", f"{VARIANT}: safety"]
    assert said.count("queued") == said.count("running") == 1


def _run(**more: object) -> bytes:
    return json.dumps({"id": "r-1", "state": "ended", "exit_code": 0, **more}).encode()


def test_hostile_text_is_made_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2J\x9b\u202eowned"
    note = f"id: 1\nevent: note\ndata: {json.dumps({'text': evil})}\n\n"
    events = f"{note}event: ended\ndata: {{}}\n\n"
    answer = _run(outcome=evil, error=evil, gate_answer={"reasons": [evil]})
    replies = {
        "POST /v1/runs": (201, JSON, _run()),
        "GET /v1/runs/r-1/events": (200, STREAM, events.encode()),
        "GET /v1/runs/r-1": (200, JSON, answer),
    }
    with scripted(replies) as url:
        assert gate(url, *SHORT) == 0
        assert gate(url, *SHORT, "--json") == 0
    out, err = capsys.readouterr()
    assert "owned" in out
    assert "owned" in err
    assert [character for character in "\x1b\x9b\u202e" if character in out + err] == []


def test_events_that_nobody_knows_are_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    events = (
        'id: 1\nevent: state\ndata: {"state":"running"}\n\n'
        "id: 2\nevent: state\ndata: <html>\n\n"
        'id: 3\nevent: phase\ndata: {"phase":7}\n\n'
        'id: 4\nevent: weather\ndata: {"sun":true}\n\n'
        "id: 5\nevent: ended\ndata: {}\n\n"
    )
    replies = {
        "POST /v1/runs": (201, JSON, _run()),
        "GET /v1/runs/r-1/events": (200, STREAM, events.encode()),
        "GET /v1/runs/r-1": (200, JSON, _run(outcome="passed")),
    }
    with scripted(replies) as url:
        assert gate(url, *SHORT) == 0
    assert capsys.readouterr().err == f"run r-1 on {url}\nrunning\n"


@pytest.mark.parametrize(
    ("reply", "code", "says"),
    [
        ((200, {"Content-Type": "text/html"}, b"<html>log in"), 2, "log-in page"),
        ((201, JSON, b'{"id":"../../admin","state":"queued"}'), 2, "log-in page"),
        ((201, JSON, b"\xff\xfe"), 2, "log-in page"),
        ((302, {"Location": "https://login.example.com/"}, b""), 2, "login.example.com"),
        ((404, {}, b"no"), 2, "status 404"),
        ((500, {}, b"oops"), 4, "status 500"),
    ],
)
def test_what_is_no_service_is_told_from_one(
    reply: tuple[int, dict[str, str], bytes], code: int, says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    with scripted({"POST /v1/runs": reply}) as url:
        assert gate(url, *SHORT) == code
    assert says in one_line(capsys.readouterr().err)


def test_an_exit_code_that_means_nothing_is_4(capsys: pytest.CaptureFixture[str]) -> None:
    replies = {
        "POST /v1/runs": (201, JSON, _run()),
        "GET /v1/runs/r-1/events": (204, {}, b""),
        "GET /v1/runs/r-1": (200, JSON, _run(outcome="passed", exit_code=256)),
    }
    with scripted(replies) as url:
        assert gate(url, *SHORT) == 4
    assert capsys.readouterr().out.endswith(
        "exit code 4: the world failed: no verdict on saq can be drawn\n"
    )
