"""What `gate` does between the command line and a service: ask, follow, fetch, answer.

    POST /v1/runs ──► GET …/events (taken up again where it broke) ──► GET …/junit, report, summary
         │                      │
      429, 503: come again      ^C, timeout: POST …/stop

Whatever the network does, it is asked again until the time is over; the Idempotency-Key makes sure
that asking twice starts one run. It knows the service by its HTTP API alone.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar
from urllib.parse import urlsplit

import msgspec
import yaml

from chaos import plan_file
from chaos.cli import output
from chaos.clock import SECOND_US, parse_duration_us
from chaos.errors import SaqChaosError, UsageError, WorldError
from chaos.reports.escape import terminal
from chaos.reports.words import EXIT_MEANINGS

TOKEN_VARIABLE = "SAQCHAOS_TOKEN"  # noqa: S105 - the name of a variable, no secret
ANSWER_SECONDS = 30.0
STOP_SECONDS = 10.0
LEAST_SECONDS = 0.1
LAST_SECONDS = 5.0  # for what is asked although the time has run out, such as the end of the run
SILENT_SECONDS = 60.0  # the service pings more often than that
PAUSE_SECONDS = 2.0
COME_AGAIN = (429, 502, 503, 504)
REDIRECTS = (301, 302, 303, 307, 308)

RunId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]


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

    id: RunId
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


Shape = TypeVar("Shape", Answer, Refusal)


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
    _check_folders(options)
    with Service(server, token(options["token_file"]), deadline) as service:
        key = options["idempotency_key"] or secrets.token_hex(16)
        run = service.start(body, key)
        say = (lambda _text: None) if options["quiet"] else output.say
        say(f"run {run.id} on {service.url}")
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
    """The token, from its file or its variable; empty if there is none.

    Raises:
        UsageError: what is there cannot be a token. It is not shown.
    """
    where = TOKEN_VARIABLE if file is None else str(file)
    try:
        text = os.environ.get(TOKEN_VARIABLE, "") if file is None else file.read_text("ascii")
    except (OSError, ValueError) as error:
        raise UsageError(f"the token cannot be read from {where}: {_reason(error)}") from error
    found = text.strip()
    if not all("!" <= character <= "~" for character in found):
        raise UsageError(f"{where} holds no token: one line of ASCII without blanks, nothing else")
    return found


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or "") if isinstance(error, OSError) else "it is no ASCII text"


def _check_folders(options: dict[str, Any]) -> None:
    """A file that cannot be written later is said before the run, not after it."""
    for name in ("junit", "report", "summary"):
        path = options[name]
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"--{name} {path}: there is no folder {path.absolute().parent}")


def _plan(plan: str) -> Any:
    if not plan.endswith((".yaml", ".yml")):
        return plan
    return yaml.safe_load(plan_file.dump(plan_file.load(plan)))


def _label(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name:
        raise UsageError(f"--label {text!r} is no label: write NAME=VALUE")
    return name, value


def conclude(service: Service, run_id: str, options: dict[str, Any]) -> int:
    """Fetch what was asked for and say the answer."""
    where = f"/v1/runs/{run_id}"
    raw = service.get(where)
    run = service.read(raw, Answer)
    for name, mode in (("junit", "wb"), ("report", "wb"), ("summary", "ab")):
        if options[name] is not None:
            _keep(options[name], mode, service, f"{where}/{name}")
    code = run.exit_code if run.exit_code in EXIT_MEANINGS else 4
    if options["as_json"]:
        output.answer(json.dumps(json.loads(raw)) + "\n")
        return code
    output.answer(f"{terminal(run.outcome or run.state)}: run {run.id} on {service.url}\n")
    for reason in run.gate_answer.reasons if run.gate_answer else ():
        output.answer(f"  - {terminal(reason)}\n")
    if run.error:
        output.answer(f"  - {terminal(run.error)}\n")
    output.answer(f"exit code {code}: {EXIT_MEANINGS[code]}\n")
    return code


def _keep(path: Path, mode: str, service: Service, where: str) -> None:
    """Write an artefact. A run that failed early may have none, which is said and no error.

    The exit code stays the run's: it is what a pipeline waits for.
    """
    try:
        content = service.get(where)
        with path.open(mode) as file:
            file.write(content)
    except UsageError as error:
        output.say(f"saq-chaos: {path} is not written: {error}")
    except OSError as error:
        output.say(f"saq-chaos: {path} could not be written: {error.strerror}")


@dataclass
class Service:
    """A service, asked until `deadline` (monotonic seconds)."""

    url: str
    token: str
    deadline: float
    _waits_for: str = field(default="", init=False)

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # such as a port that is no number
            known = False
        if not known:
            raise UsageError(f"--server {self.url!r} is no address: write http://host:port")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise UsageError(
                "--server holds more than an address: a token belongs into "
                f"{TOKEN_VARIABLE} or --token-file"
            )
        self.url = self.url.rstrip("/")

    def __enter__(self) -> Self:
        try:
            import httpx
            import httpx_sse  # noqa: F401 - said now, not once the run goes on
        except ImportError as error:
            raise UsageError(f"gate needs {error.name}: pip install 'saq-chaos[gate]'") from error
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        self._failed = (httpx.RequestError,)
        try:
            self._client = httpx.Client(base_url=self.url, headers=headers)
        except httpx.InvalidURL as error:
            raise UsageError(f"--server {self.url!r} is no address: {error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def start(self, body: dict[str, Any], key: str) -> Answer:
        """Ask for the run, again and again while the service is busy or away."""
        headers = {"Idempotency-Key": key}
        raw = self._ask("POST", "/v1/runs", json=body, headers=headers)
        return self.read(raw, Answer)

    def get(self, where: str) -> bytes:
        """The body of an answer.

        Raises:
            UsageError: the service refuses; the message is the service's own.
        """
        return self._ask("GET", where)

    def read(self, raw: bytes, shape: type[Shape]) -> Shape:
        """What an answer says.

        Raises:
            UsageError: it is no answer of a saq-chaos service, but of something on the way there.
        """
        try:
            return msgspec.json.decode(raw, type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{self.url} does not answer as a saq-chaos service does ({error}): "
                "is the address right, and is there a log-in page before it?"
            ) from error

    def stop(self, run: str) -> None:
        """Ask once for the run's end; the caller is on its way out already."""
        try:
            response = self._client.post(f"/v1/runs/{run}/stop", timeout=STOP_SECONDS)
        except self._failed as error:
            output.say(f"saq-chaos: run {run} goes on: {_words(error)}")
            return
        if response.is_success or response.status_code == 409:  # 409: it has ended by itself
            output.say(f"saq-chaos: asked {self.url} to stop run {run}")
        else:
            said = refusal(response.status_code, response.content)
            output.say(f"saq-chaos: run {run} goes on: {said}")

    def follow(self, run: str, say: Callable[[str], None]) -> None:
        """Show events until the run has ended; a stream that breaks is taken up again."""
        self._last = "0"
        while self._left() > 0:
            before = self._last
            try:
                ended = self._stream(run, say)
            except self._failed:
                ended = False
            if ended or (self._has_ended(run) and self._last == before):
                return
            time.sleep(max(0.0, min(PAUSE_SECONDS, self._left())))
        raise WorldError(f"run {run} has not ended in time: give a longer --timeout")

    def _stream(self, run: str, say: Callable[[str], None]) -> bool:
        """Show events from the last one on; whether the one that ends the run has come."""
        import httpx
        from httpx_sse import connect_sse

        left = max(LEAST_SECONDS, self._left())
        patience = httpx.Timeout(min(ANSWER_SECONDS, left), read=min(SILENT_SECONDS, left))
        where, headers = f"/v1/runs/{run}/events", {"Last-Event-ID": self._last}
        with connect_sse(self._client, "GET", where, headers=headers, timeout=patience) as source:
            if source.response.status_code != 200:
                return False
            for event in source.iter_sse():
                self._last = event.id or self._last
                line = described(event.event, event.data)
                if line:
                    say(line)
                if event.event == "ended":
                    return True
                if self._left() <= 0:
                    break
        return False

    def _has_ended(self, run: str) -> bool:
        return self.read(self.get(f"/v1/runs/{run}"), Answer).state == "ended"

    def _left(self) -> float:
        return self.deadline - time.monotonic()

    def _ask(self, method: str, where: str, **more: Any) -> bytes:
        """Ask until there is an answer; at least once, also when the time has just run out."""
        problem, asked = "", False
        while not asked or self._left() > 0:
            pause, asked = PAUSE_SECONDS, True
            left = self._left()
            timeout = min(ANSWER_SECONDS, max(LEAST_SECONDS, left)) if left > 0 else LAST_SECONDS
            try:
                response = self._client.request(method, where, timeout=timeout, **more)
            except self._failed as error:
                problem = _words(error)
            else:
                if response.is_success:
                    return bytes(response.content)
                status = response.status_code
                problem = refusal(status, response.content)
                if status in REDIRECTS:
                    problem = f"it points to {terminal(response.headers.get('Location', ''))!r}"
                if status not in COME_AGAIN:
                    raise _refused(status, problem)
                pause = _retry_after(response.headers.get("Retry-After", ""))
            self._wait(pause, problem)
        raise WorldError(f"{self.url} did not answer in time: {problem}")

    def _wait(self, pause: float, problem: str) -> None:
        """Before it is asked again. What stands in the way is said, once."""
        if problem != self._waits_for and self._left() > 0:
            self._waits_for = problem
            output.say(f"{self.url}: {problem}; asked again for {self._left():.0f} s (--timeout)")
        time.sleep(max(0.0, min(pause, self._left())))


def described(kind: str, data: str) -> str:
    """One line for an event; empty for what is not shown, such as ticks and what is not known."""
    try:
        event = msgspec.json.decode(data, type=Phase)
    except msgspec.DecodeError:  # a later service says something new: the run is followed still
        return ""
    words = {
        "state": f"{event.state} {event.outcome or ''}",
        "phase": f"{event.variant}: {event.phase}",
        "fault": f"{event.variant}: {event.fault} {event.change}",
        "finding": f"{event.variant}: {event.promise} is broken ({event.count}) {event.text or ''}",
        "note": event.text or "",
    }
    return terminal(words.get(kind, "").strip())


def _words(error: Exception) -> str:
    return terminal(f"{type(error).__name__}: {error}".removesuffix(": "))


def refusal(status: int, content: bytes) -> str:
    """What the service says of a request that it does not carry out."""
    try:
        said = msgspec.json.decode(content, type=Refusal)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return f"status {status}"
    problems = [problem for problem in said.problems if problem != said.detail]
    lines = [f"{said.title} ({status}): {said.detail}", *problems]
    return "\n  ".join(terminal(line) for line in lines)


def _refused(status: int, problem: str) -> SaqChaosError:
    if status >= 500 or status == 423:
        return WorldError(f"the service says: {problem}")
    return UsageError(f"the service says: {problem}")


def _retry_after(value: str) -> float:
    return float(value) if value.isdigit() else PAUSE_SECONDS
