"""What `gate` does between the command line and a service: ask, follow, fetch, answer.

    POST /v1/runs ──► GET …/events (taken up again where it broke) ──► GET …/junit, report, summary
         │                      │
      429, 503: come again      ^C, timeout: POST …/stop

Whatever the network does, it is asked again until the time is over; the Idempotency-Key makes sure
that asking twice starts one run. It knows the service by its HTTP API alone.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import msgspec

from chaos import plan_file
from chaos.cli import output
from chaos.clock import SECOND_US, parse_duration_us
from chaos.errors import SaqChaosError, UsageError, WorldError
from chaos.reports.escape import terminal
from chaos.reports.words import EXIT_MEANINGS

TOKEN_VARIABLE = "SAQCHAOS_TOKEN"  # noqa: S105 - the name of a variable, no secret
ANSWER_SECONDS = 30.0
SILENT_SECONDS = 60.0  # the service pings more often than that
PAUSE_SECONDS = 2.0
COME_AGAIN = (429, 502, 503, 504)


class Phase(msgspec.Struct, frozen=True):
    """What is shown of an event."""

    text: str | None = None
    variant: str | None = None
    phase: str | None = None
    state: str | None = None
    outcome: str | None = None
    fault: str | None = None
    change: str | None = None
    promise: str | None = None
    count: int | None = None


class Answer(msgspec.Struct, frozen=True):
    """What is read of a run."""

    id: str
    state: str
    outcome: str | None = None
    exit_code: int | None = None
    error: str | None = None
    gate_answer: GateAnswer | None = None


class GateAnswer(msgspec.Struct, frozen=True):
    """Why the gate says what it says."""

    reasons: list[str]


class Refusal(msgspec.Struct, frozen=True):
    """RFC 9457, as the service answers errors."""

    title: str = ""
    detail: str = ""
    problems: list[str] = []


def gate(server: str, plan: str, options: dict[str, Any]) -> int:
    """Make the run and follow it to its end.

    Returns:
        The exit code of the run.

    Raises:
        UsageError: the service refuses the request, or the token.
        WorldError: the service cannot be reached, or the time is over.
    """
    deadline = time.monotonic() + parse_duration_us(options["timeout"]) / SECOND_US
    body = request_body(plan, options)
    with Service(server, token(options["token_file"]), deadline) as service:
        key = options["idempotency_key"] or secrets.token_hex(16)
        run = service.start(body, key)
        say = (lambda _text: None) if options["quiet"] else output.say
        say(f"run {terminal(run.id)} on {service.url}")
        try:
            service.follow(run.id, say)
        except (KeyboardInterrupt, WorldError):
            service.stop(run.id)
            raise
        return conclude(service, run.id, options)


def request_body(plan: str, options: dict[str, Any]) -> dict[str, Any]:
    """The run as the service is asked for it. A plan that is a file here is sent as it is."""
    body: dict[str, Any] = {"plan": _plan(plan), "world": options["world"]}
    for name in ("gate", "baseline", "seed", "duration", "app", "redis"):
        if options[name] is not None:
            body[name] = options[name]
    if options["variants"]:
        body["variants"] = list(options["variants"])
    if options["webhooks"]:
        body["webhooks"] = list(options["webhooks"])
    body["labels"] = dict(_label(text) for text in options["labels"])
    return body


def token(file: Path | None) -> str:
    """The token, from its file or its variable; empty if there is none."""
    if file is None:
        return os.environ.get(TOKEN_VARIABLE, "").strip()
    return file.read_text("utf-8").strip()


def _plan(plan: str) -> Any:
    if not plan.endswith((".yaml", ".yml")):
        return plan
    return plan_file.load(plan).model_dump(mode="json")


def _label(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name:
        raise UsageError(f"--label {text!r} is no label: write NAME=VALUE")
    return name, value


def conclude(service: Service, run_id: str, options: dict[str, Any]) -> int:
    """Fetch what was asked for and say the answer."""
    raw = service.get(f"/v1/runs/{run_id}")
    run = msgspec.json.decode(raw, type=Answer)
    for name in ("junit", "report"):
        if options[name] is not None:
            _keep(options[name], service, f"/v1/runs/{run_id}/{name}")
    if options["summary"] is not None:
        text = service.get(f"/v1/runs/{run_id}/summary").decode()
        with options["summary"].open("a", encoding="utf-8") as file:
            file.write(text)
    code = 4 if run.exit_code is None else run.exit_code
    if options["as_json"]:
        output.answer(raw.decode() + "\n")
        return code
    output.answer(f"{run.outcome}: run {terminal(run.id)} on {service.url}\n")
    for reason in run.gate_answer.reasons if run.gate_answer else ():
        output.answer(f"  - {terminal(reason)}\n")
    if run.error:
        output.answer(f"  - {terminal(run.error)}\n")
    output.answer(f"exit code {code}: {EXIT_MEANINGS.get(code, 'see the run')}\n")
    return code


def _keep(path: Path, service: Service, where: str) -> None:
    """Write an artefact; a run that failed early may have none, which is said and no error."""
    try:
        content = service.get(where)
    except UsageError as error:
        output.say(f"saq-chaos: {path} is not written: {error}")
        return
    path.write_bytes(content)


@dataclass
class Service:
    """A service, asked until `deadline` (monotonic seconds)."""

    url: str
    token: str
    deadline: float

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"--server {self.url!r} is no address: write http://host:port")
        if parts.username or parts.password or parts.query:
            raise UsageError(
                "--server holds more than an address: a token belongs into "
                f"{TOKEN_VARIABLE} or --token-file"
            )
        self.url = self.url.rstrip("/")

    def __enter__(self) -> Self:
        try:
            import httpx
        except ImportError as error:
            raise UsageError("gate needs httpx: pip install 'saq-chaos[gate]'") from error
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        self._client = httpx.Client(base_url=self.url, headers=headers, timeout=ANSWER_SECONDS)
        self._failed = (httpx.TransportError,)
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def start(self, body: dict[str, Any], key: str) -> Answer:
        """Ask for the run, again and again while the service is busy or away."""
        headers = {"Idempotency-Key": key}
        raw = self._ask(lambda: self._client.post("/v1/runs", json=body, headers=headers))
        return msgspec.json.decode(raw, type=Answer)

    def get(self, where: str) -> bytes:
        """The body of an answer.

        Raises:
            UsageError: the service refuses; the message is the service's own.
        """
        return self._ask(lambda: self._client.get(where))

    def stop(self, run: str) -> None:
        """Ask once for the run's end; the caller is on its way out already."""
        try:
            self._client.post(f"/v1/runs/{run}/stop")
            output.say(f"saq-chaos: asked {self.url} to stop run {terminal(run)}")
        except self._failed as error:
            output.say(f"saq-chaos: run {terminal(run)} goes on: {error}")

    def follow(self, run: str, say: Callable[[str], None]) -> None:
        """Show events until the run has ended; a stream that breaks is taken up again."""
        last = "0"
        while self._left() > 0:
            try:
                last, ended = self._stream(run, last, say)
            except self._failed:
                ended = False
            if ended or self._has_ended(run):
                return
            time.sleep(PAUSE_SECONDS)
        raise WorldError(f"run {run} has not ended in time: give a longer --timeout")

    def _stream(self, run: str, last: str, say: Callable[[str], None]) -> tuple[str, bool]:
        import httpx
        from httpx_sse import connect_sse

        patience = httpx.Timeout(ANSWER_SECONDS, read=SILENT_SECONDS)
        where, headers = f"/v1/runs/{run}/events", {"Last-Event-ID": last}
        with connect_sse(self._client, "GET", where, headers=headers, timeout=patience) as source:
            if source.response.status_code != 200:
                return last, False
            for event in source.iter_sse():
                last = event.id or last
                line = described(event.event, event.data)
                if line:
                    say(line)
                if event.event == "ended":
                    return last, True
                if self._left() <= 0:
                    break
        return last, False

    def _has_ended(self, run: str) -> bool:
        raw = self.get(f"/v1/runs/{run}")
        return msgspec.json.decode(raw, type=Answer).state == "ended"

    def _left(self) -> float:
        return self.deadline - time.monotonic()

    def _ask(self, ask: Callable[[], Any]) -> bytes:
        problem = ""
        while self._left() > 0:
            pause = PAUSE_SECONDS
            try:
                response = ask()
            except self._failed as error:
                problem = f"{type(error).__name__}: {error}"
            else:
                if response.is_success:
                    return bytes(response.content)
                problem = refusal(response.status_code, response.content)
                if response.status_code not in COME_AGAIN:
                    raise _refused(response.status_code, problem)
                pause = _retry_after(response.headers.get("Retry-After", ""))
            time.sleep(max(0.0, min(pause, self._left())))
        raise WorldError(f"{self.url} did not answer in time: {problem}")


def described(kind: str, data: str) -> str:
    """One line for an event; empty for what is not shown, such as ticks."""
    event = msgspec.json.decode(data, type=Phase)
    words = {
        "state": f"{event.state} {event.outcome or ''}",
        "phase": f"{event.variant}: {event.phase}",
        "fault": f"{event.variant}: {event.fault} {event.change}",
        "finding": f"{event.variant}: {event.promise} is broken ({event.count}) {event.text or ''}",
        "note": event.text or "",
    }
    return terminal(words.get(kind, "").strip())


def refusal(status: int, content: bytes) -> str:
    """What the service says of a request that it does not carry out."""
    try:
        said = msgspec.json.decode(content, type=Refusal)
    except msgspec.DecodeError:
        return f"status {status}"
    lines = [f"{said.title} ({status}): {said.detail}", *said.problems]
    return "\n  ".join(terminal(line) for line in lines)


def _refused(status: int, problem: str) -> SaqChaosError:
    if status >= 500 or status == 423:
        return WorldError(f"the service says: {problem}")
    return UsageError(f"the service says: {problem}")


def _retry_after(value: str) -> float:
    return float(value) if value.isdigit() else PAUSE_SECONDS
