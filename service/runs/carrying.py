"""One run from its turn in the queue to its end: its process, its messages, its limits.

    Start ──► RunnerProcess ──messages──► events, phase, metrics ──► Ended ──► outcome
                   ▲
         stop, inject, time limit, and a kill where a stop does not end it

It never raises for what a runner does: one that is killed, hangs, cannot be started or says nothing
ends the run as `error` with a text. What such a run had recorded is judged afterwards by `judging`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
from pydantic import ValidationError

from chaos.metrics import Snapshot, decode
from chaos.variants import parse
from service.errors import Conflict
from service.models import EventData, GateSummary, Run, VariantSummary
from service.run_files import size_of
from service.runs import messages, summary
from service.runs.journal import Journal
from service.runs.paths import without_paths
from service.runs.process import RunnerProcess

STOP_SECONDS = 120.0
EXIT_SECONDS = 30.0
ANSWER_SECONDS = 15.0
SILENT_SECONDS = 120.0  # a run that goes on says something every second
LOG_TAIL = 2_000
Why = Literal["asked", "closing", "failing"]
_LOG = logging.getLogger("service.runs")


class Metrics(Protocol):
    """What adds the runs up for `/metrics` (`service.metrics.collector`)."""

    def begin(self, run: str, plan: str, world: str, variants: tuple[str, ...]) -> None:
        """A run begins."""

    def update(self, run: str, taken: Snapshot) -> None:
        """What it shows now."""

    def end(self, run: str) -> None:
        """It is over."""


@dataclass
class Carrying:
    """One run that goes on.

    Attributes:
        run: what it is now.
        start: what its runner is told.
        journal: where its events go.
        folder: its run directory, which the runner makes.
        log: where the runner's stderr goes.
        run_s: the longest that it may take.
        stop_s: how long it may take to end once it was told to stop.
        metrics: what is told of the run's metrics.
        is_cut_off: afterwards: it ended without a verdict of its own.
    """

    run: Run
    start: messages.Start
    journal: Journal
    folder: Path
    log: Path
    run_s: float
    stop_s: float = STOP_SECONDS
    metrics: Metrics | None = None
    is_cut_off: bool = False
    _process: RunnerProcess | None = None
    _stopping: str = ""
    _why: Why = "asked"
    _code: int | None = None
    _telling: asyncio.Future[bool] | None = None
    _ended: messages.Ended | None = None
    _killed: str = ""
    _number: int = 0
    _answers: dict[int, asyncio.Future[messages.Answered]] = field(default_factory=dict)
    _timers: list[asyncio.TimerHandle] = field(default_factory=list)
    _silence: asyncio.TimerHandle | None = None

    async def carry(self) -> Run:
        """Make the run; what it is at its end."""
        self._now(state="running", started_at=datetime.now(UTC))
        self.journal.say(self.run.id, "state", EventData(state="running"))
        problem = ""
        if self.metrics is not None:
            labels = tuple(parse(variant).label for variant in self.run.variants)
            self.metrics.begin(self.run.id, self.run.plan, self.run.world, labels)
        try:
            self._process = await RunnerProcess.start(self.start, self.log)
            await self._follow(self._process)
        except OSError as error:
            problem = f"its process could not be started: {error.strerror}"
        finally:
            await asyncio.shield(self._leave())
            if self.metrics is not None:
                self.metrics.end(self.run.id)
        self._conclude(problem)
        return self.run

    async def _follow(self, process: RunnerProcess) -> None:
        self._after(self.run_s, self._too_long)
        if self._stopping:
            await process.tell(messages.Stop())
        async for message in process.messages():
            self._heard(message)
            self._listen(message)
        self._after(EXIT_SECONDS, self._kill, "it did not exit after its last message")
        self._code = await process.exited()

    def _listen(self, message: messages.Message) -> None:
        """Wait for the next word while a variant goes on: building and judging may be silent."""
        is_tick = isinstance(message, messages.Said) and message.type == "tick"
        if self._silence is None and not is_tick:
            return
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None
        if self._stopping or (isinstance(message, messages.Said) and _is_done(message)):
            return
        why = f"the runner stood still for {SILENT_SECONDS:g} s"
        loop = asyncio.get_running_loop()
        self._silence = loop.call_later(SILENT_SECONDS, self._kill, why)

    async def _leave(self) -> None:
        for timer in (*self._timers, *filter(None, [self._silence])):
            timer.cancel()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(Conflict("the run has ended"))
                answer.exception()  # nobody may be waiting any more
        if self._process is not None:
            await self._process.close()
        with suppress(OSError):
            if not self.log.stat().st_size:
                self.log.unlink()

    # --- what it says -----------------------------------------------------------------------------

    def _heard(self, message: messages.Message) -> None:
        if isinstance(message, messages.Said):
            self._said(message.type, message.data)
        elif isinstance(message, messages.Answered):
            answer = self._answers.pop(message.number, None)
            if answer is not None and not answer.done():
                answer.set_result(message)
        elif isinstance(message, messages.Measured):
            self._measured(bytes(message.snapshot))
        elif isinstance(message, messages.Ended):
            self._ended = message
            self._after(EXIT_SECONDS, self._kill, "it did not exit after its last message")

    def _measured(self, snapshot: bytes) -> None:
        if self.metrics is not None:
            try:
                self.metrics.update(self.run.id, decode(snapshot))
            except msgspec.DecodeError as error:
                _LOG.error("run %s: no snapshot of metrics: %s", self.run.id, error)

    def _said(self, kind: str, data: dict[str, Any]) -> None:
        try:
            said = EventData.model_validate(data)
        except ValidationError as error:
            _LOG.error("run %s said what is no event: %s", self.run.id, error)
            return
        texts = {"text": said.text, "error": said.error}
        plain = {name: without_paths(text) for name, text in texts.items() if text}
        said = said.model_copy(update=plain) if kind in ("note", "fault") else said
        if kind == "phase" and said.phase != self.run.phase:
            self._now(phase=said.phase)
        if kind in ("phase", "tick", "fault", "finding", "note"):
            is_written = self.journal.say(self.run.id, kind, said)  # type: ignore[arg-type]
            if not is_written:
                self.stop("", f"its events cannot be kept: {self.journal.trouble}", "failing")

    # --- what it is told --------------------------------------------------------------------------

    def stop(self, by: str, text: str, why: Why = "asked") -> None:
        """End it. asked: somebody did; closing: the service goes; failing: it cannot go on."""
        if self._stopping:
            return
        self._stopping, self._why = text, why
        if by:
            said = EventData(state="running", by=by, text=text)
            self.journal.say(self.run.id, "state", said)
        self._after(self.stop_s, self._kill, "it did not end when it was told to stop")
        if self._process is not None:
            self._telling = asyncio.ensure_future(self._process.tell(messages.Stop()))

    def _too_long(self) -> None:
        self.stop("limit", f"it took longer than {self.run_s:g} s (SAQCHAOS_LIMITS__RUN_S)")

    def _kill(self, why: str) -> None:
        if self._process is not None:
            self._killed = self._killed or why
            self._process.kill()

    async def inject(
        self, fault: dict[str, Any], variants: tuple[str, ...] | None, by: str
    ) -> tuple[str, ...]:
        """Inject a fault; the labels of the variants that it reaches.

        Raises:
            Conflict: the run does not take it now.
        """
        if self._process is None or self._stopping:
            raise Conflict("nothing can be injected: the run has not begun, or is ending")
        self._number += 1
        number = self._number
        answer = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        command = messages.Inject(number=number, fault=fault, variants=variants, by=by)
        try:
            await self._process.tell(command)
            found: messages.Answered = await asyncio.wait_for(answer, ANSWER_SECONDS)
        except TimeoutError as error:
            raise Conflict("the run did not answer in time") from error
        finally:
            self._answers.pop(number, None)
        if found.error:
            raise Conflict(found.error)
        return found.variants

    # --- its end ----------------------------------------------------------------------------------

    def _conclude(self, problem: str) -> None:
        self.is_cut_off = self._ended is None or self._ended.verdict is None
        if self._ended is not None:
            self._by_its_word(self._ended)
        else:
            text = problem or self._how_it_died()
            self._now(outcome="error", exit_code=4, error=text)
        if self._stopping and self._why == "failing":
            self._now(outcome="error", exit_code=4, error=self._stopping)
        self._now(state="ended", ended_at=datetime.now(UTC))
        text = self.run.error or (self._stopping if self.run.exit_code == 130 else "")
        self.journal.conclude(self.run, text, size_of(self.folder))

    def _by_its_word(self, ended: messages.Ended) -> None:
        verdict = [VariantSummary.model_validate(one) for one in ended.verdict or ()]
        self._now(
            outcome=summary.outcome(
                ended.exit_code, stopped=bool(self._stopping) and self._why == "asked"
            ),
            exit_code=ended.exit_code,
            error=without_paths(ended.error) or None,
            verdict=verdict or None,
            gate_answer=GateSummary.model_validate(ended.gate) if ended.gate else None,
        )

    def _how_it_died(self) -> str:
        code = self._code
        how = f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        text = f"its process ended without a word ({how})"
        if self._killed:
            text = f"its process was killed: {self._killed}"
        tail = _tail_of(self.log)
        return f"{text}; its last words: {without_paths(tail)}" if tail else text

    def _now(self, **changes: Any) -> None:
        self.run = self.run.model_copy(update=changes)
        if self.run.state != "ended":
            self.journal.put(self.run)

    def _after(self, seconds: float, call: Any, *arguments: Any) -> None:
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(seconds, call, *arguments))


def _is_done(said: messages.Said) -> bool:
    """Whether it tells that a variant, or each of them, is through its phases."""
    if said.type == "tick":
        return all(one.get("phase") == "done" for one in said.data.get("variants") or ())
    return said.type == "phase" and said.data.get("phase") == "done"


def _tail_of(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - LOG_TAIL))
            return file.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""
