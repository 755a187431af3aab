"""The process of one run: `python -m service.runs.runner`, started by the service for each run.

    stdin   Start, then Inject | Stop ──reader thread──► Steering ──► chaos.soak (main thread)
    stdout  Said, Measured, Answered, Ended ◄── Teller ◄── Observer

It makes the run exactly as `saq-chaos soak` does, report files included, so a run directory looks
the same whoever asked for it. End of file on stdin means that the service is gone: the run ends as
after ^C, if the kernel has left it the time. Whatever fails ends in one Ended with a clear text; a
traceback goes to stderr, which the service keeps in its log.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from chaos import gate, judge, plan_file, stored
from chaos.clock import SECOND_US, MonotonicClock
from chaos.errors import SaqChaosError, UsageError
from chaos.event import RunBegan
from chaos.metrics import (
    Snapshot,
    Snapshots,
    TimelineCollector,
    encode,
    exposition,
    snapshot,
)
from chaos.plan import Plan
from chaos.reports import files
from chaos.request import SoakRequest, VariantStatus
from chaos.soak import METRICS_FILE, SoakResult, soak
from chaos.steering import Steering, Wanted
from chaos.timeline import Timeline
from chaos.verdict import Verdict
from chaos.version import VERSION
from service.models import EventData, VariantTick
from service.runs import messages, summary
from service.runs.news import News

TICK_US = SECOND_US
NOTE_MAX = 2_000
CHUNK = 1 << 16
ANSWER_SECONDS = 10.0
INTERRUPTED = 130
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Teller:
    """Writes messages to the service, from any thread. A service that is gone is no error."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._clock = MonotonicClock()
        self._began_us = self._clock.now_us()

    def tell(self, message: messages.Message) -> None:
        """Write one message."""
        with self._lock:
            try:
                self._out.write(messages.line(message))
                self._out.flush()
            except (BrokenPipeError, ValueError):
                return

    def say(self, kind: str, data: EventData) -> None:
        """Write one event, stamped with the seconds since this process began."""
        at_s = round((self._clock.now_us() - self._began_us) / SECOND_US, 3)
        said = data.model_copy(update={"at_s": at_s}).model_dump(mode="json", exclude_none=True)
        self.tell(messages.Said(type=kind, data=said))


class Reporter:
    """The observer of the run (`chaos.request.Observer`): turns what it is told into messages."""

    def __init__(self, plan: Plan, teller: Teller) -> None:
        self._plan = plan
        self._teller = teller
        self._clock = MonotonicClock()
        self._news = News(plan, self._clock)
        self._snapshots = Snapshots(plan, self._news.findings_so_far)
        self._next_us = 0
        self._is_due = True

    def phase(self, variant: str, phase: str) -> None:
        """Tell it at once."""
        self._teller.say("phase", EventData(variant=variant, phase=phase))

    def tick(self, status: tuple[VariantStatus, ...]) -> None:
        """Tell it at most once a second."""
        now_us = self._clock.now_us()
        self._is_due = now_us >= self._next_us
        if self._is_due:
            self._next_us = now_us + TICK_US
            self._teller.say("tick", EventData(variants=[_tick(one) for one in status]))

    def note(self, text: str) -> None:
        """Tell it at once."""
        self._teller.say("note", EventData(text=text[:NOTE_MAX]))

    def folded(self, timelines: tuple[Timeline, ...]) -> None:
        """Tell what is new in them."""
        for data in self._news.faults(timelines):
            self._teller.say("fault", data)
        if self._is_due:
            for data in self._news.findings(timelines):
                self._teller.say("finding", data)
            self._measured(self._snapshots.of(timelines))

    def finish(self, result: SoakResult) -> None:
        """Tell what the last tick did not: faults that healed at the end, what the judge found."""
        timelines, verdicts = result.timelines, result.verdict.variants
        for data in self._news.faults(timelines):
            self._teller.say("fault", data)
        for data in self._news.last(verdicts):
            self._teller.say("finding", data)
        counts = {
            one.variant: {promise.promise: promise.count for promise in one.promises}
            for one in verdicts
        }
        promises = self._plan.promises
        collector = TimelineCollector(timelines, promises, lambda: counts, self._plan)
        self._measured(snapshot(collector))

    def _measured(self, taken: Snapshot) -> None:
        self._teller.tell(messages.Measured(snapshot=msgspec.Raw(encode(taken))))


def _tick(status: VariantStatus) -> VariantTick:
    return VariantTick(
        variant=status.variant,
        phase=status.phase,
        left_s=round(status.left_us / SECOND_US, 1),
        counters={name: value for name, value in status.counters.items() if value},
        faults_active=list(status.faults_active),
    )


class Listener(threading.Thread):
    """Reads commands until end of file, and gives them to the run."""

    def __init__(self, lines: Iterator[bytes], steering: Steering, teller: Teller) -> None:
        super().__init__(name="commands", daemon=True)
        self._lines = lines
        self._steering = steering
        self._teller = teller
        self._interrupted = False

    def run(self) -> None:
        """Until end of file, which is a stop too."""
        for text in self._lines:
            try:
                self._obey(messages.read_command(text))
            except msgspec.DecodeError as error:
                self._teller.say("note", EventData(text=f"not a command: {error}"))
        self._stop()

    def _obey(self, command: messages.Command) -> None:
        if isinstance(command, messages.Stop):
            self._stop()
            return
        try:
            fault = plan_file.fault(command.fault)
            wanted = Wanted(fault, command.variants, command.by)
            reached = self._steering.inject(wanted).result(ANSWER_SECONDS)
        except (UsageError, TimeoutError) as error:
            text = str(error) or "the run did not answer in time"
            self._teller.tell(messages.Answered(number=command.number, error=text))
        else:
            self._teller.tell(messages.Answered(number=command.number, variants=reached))

    def _stop(self) -> None:
        """End the run in good order; one that is still preparing is interrupted, once."""
        if self._steering.stop() or self._steering.begun:
            return
        if not self._interrupted:
            self._interrupted = True
            os.kill(os.getpid(), signal.SIGINT)


def carry_out(start: messages.Start, steering: Steering, teller: Teller) -> messages.Ended:
    """Make the run, write its files, and say how it ended."""
    plan = plan_file.loads(start.plan, start.run)
    request = SoakRequest(
        plan=plan,
        runs_dir=Path(start.runs_dir),
        app=start.app,
        python=Path(start.python) if start.python else None,
        redis_url=start.redis_url,
        allow_external=start.redis_url is not None,
        world="sim" if start.world == "sim" else "live",
        run=start.run,
        repeat=repeat_of(start),
        steering=steering,
    )
    reporter = Reporter(plan, teller)
    result = _soak(request, reporter)
    reporter.finish(result)
    files.write(result.folder, result.verdict, result.history)
    return ended(result)


def repeat_of(start: messages.Start) -> str:
    """The command that makes a run again elsewhere, with the plan that the service hands out.

    It names no path, no interpreter and no Redis of this server.
    """
    words = ["saq-chaos", "soak", stored.PLAN_FILE]
    if start.world != "live":
        words += ["--world", start.world]
    if start.redis_url is not None:
        words += ["--redis-url", '"$SAQCHAOS_REDIS_URL"', "--allow-external"]
    return " ".join(words)


def judge_again(folder: Path) -> messages.Ended:
    """Judge what a run that was cut off has recorded, and write its files."""
    found = stored.open_run(folder)
    if found.plan_file is None:
        raise UsageError(f"{folder.name} holds no plan")
    plan = plan_file.load(found.plan_file)
    judged = judge.judge(plan, found.history)
    began = next((one for one in found.history if isinstance(one, RunBegan)), None)
    verdict = Verdict(
        run=folder.name,
        plan=plan.plan,
        world=began.world if began else "",
        seed=plan.seed,
        version=VERSION,
        history_digest=found.history.digest(),
        variants=judged.variants,
        gate=gate.decide(plan, judged.variants),
        ended="interrupted",
        repeat=f"saq-chaos check {stored.HISTORY_FILE} --plan {stored.PLAN_FILE}",
        events=len(found.history),
    )
    if found.rebuilt:
        found.history.write(folder / stored.HISTORY_FILE)
    (folder / METRICS_FILE).write_bytes(exposition(plan, judged))
    files.write(folder, verdict, found.history)
    return ended(SoakResult(verdict, found.history, folder))


def _soak(request: SoakRequest, reporter: Reporter) -> SoakResult:
    if request.world == "sim":
        from chaos.explore.simulated import soak_simulated

        return soak_simulated(request, reporter, os.cpu_count() or 1)
    return soak(request, reporter)


def ended(result: SoakResult) -> messages.Ended:
    """The last message of a run that has a verdict."""
    verdict = result.verdict
    return messages.Ended(
        exit_code=summary.exit_code(verdict),
        ended=verdict.ended,
        error=str(result.failure) if result.failure is not None else "",
        verdict=[one.model_dump(mode="json") for one in summary.of_variants(verdict)],
        gate=summary.of_gate(verdict.gate).model_dump(mode="json"),
    )


def attempt(start: messages.Start, commands: Iterator[bytes], teller: Teller) -> messages.Ended:
    """The same while commands are obeyed; whatever goes wrong is said in the last message."""
    steering = Steering()
    try:
        Listener(commands, steering, teller).start()  # from here on a stop can interrupt us
        if start.judge:
            return judge_again(Path(start.runs_dir) / start.run)
        return carry_out(start, steering, teller)
    except KeyboardInterrupt:
        text = "it was ended before there was anything to judge, or while it was being judged"
        return messages.Ended(exit_code=INTERRUPTED, ended="interrupted", error=text)
    except SaqChaosError as error:
        return messages.Ended(exit_code=error.exit_code, ended="failed", error=str(error))
    except OSError as error:
        text = "the disk is full" if error.errno in FULL else "the run's files cannot be written"
        return messages.Ended(exit_code=4, ended="failed", error=f"{text}: {error.strerror}")
    except Exception as error:  # noqa: BLE001 - the service must hear of it, whatever it is
        traceback.print_exc()
        text = f"a fault of saq-chaos: {type(error).__name__}: {error}"
        return messages.Ended(exit_code=4, ended="failed", error=text)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def lines_of(descriptor: int) -> Iterator[bytes]:
    """The lines of a pipe until end of file.

    Without a buffered reader: its lock, held by a thread that waits, is fatal when Python exits.
    """
    rest = bytearray()
    while data := os.read(descriptor, CHUNK):
        rest += data
        *lines, tail = bytes(rest).split(b"\n")
        rest = bytearray(tail)
        yield from lines


def main() -> int:
    """Read the request, make the run, say how it ended; the exit code is the run's."""
    teller = Teller(os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may write into the messages
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    lines = lines_of(sys.stdin.fileno())
    try:
        start = messages.read_start(next(lines, b""))
    except msgspec.DecodeError as error:
        teller.tell(messages.Ended(exit_code=2, ended="failed", error=f"no request: {error}"))
        return 2
    last = attempt(start, lines, teller)
    teller.tell(last)
    return last.exit_code


if __name__ == "__main__":
    sys.exit(main())
