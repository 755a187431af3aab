"""One simulating child process, as its parent sees it: started, given jobs, read, ended.

    Child.start ─► launcher ─exec─► chaos/sim/child.py in the variant's interpreter
    Child.ask(job) ─► answers, as they come ─► until Done

The launcher ties the child to the thread that starts it, so it never outlives its parent. A child
that dies is one clear error with the last lines of its stderr, and the next job starts another one.
Not thread-safe: one thread, one child.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from chaos.environments import Environment
from chaos.errors import HostFailed, UsageError
from chaos.explore.protocol import (
    Answer,
    Done,
    Failed,
    Job,
    Ready,
    RunDone,
    RunOne,
    RunSeeds,
    SeedDone,
    decode_answer,
    encode,
)
from chaos.installer import clean_environment

CHILD = Path(__file__).parents[1] / "sim" / "child.py"
LAUNCHER = Path(__file__).parents[1] / "live" / "launcher.py"
READY_SECONDS = 60.0
ANSWER_SECONDS = 1_800.0
END_SECONDS = 5.0
_CHUNK = 1 << 16
_STDERR_BYTES = 4_000
_STDERR_LINES = 15


class Child:
    """A simulating process on a variant's interpreter.

    Args:
        environment: where it runs.
        hash_seed: PYTHONHASHSEED for it; none: whatever Python draws.
        extra: more variables for its environment.
    """

    def __init__(
        self, environment: Environment, *, hash_seed: int | None = None, **extra: str
    ) -> None:
        self._environment = environment
        self._variables = {**environment.env, **extra}
        if hash_seed is not None:
            self._variables["PYTHONHASHSEED"] = str(hash_seed)
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = bytearray()
        self.ready: Ready | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> Ready:
        """Start the process, unless it runs already, and wait until it is ready.

        Raises:
            HostFailed: it did not come up; the message ends with what it printed.
        """
        if self._process is not None and self.ready is not None and self._process.poll() is None:
            return self.ready
        self.close()
        self._stderr = tempfile.TemporaryFile(prefix="saqchaos-sim-")  # noqa: SIM115 - close() does
        argv = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid())]
        self._process = subprocess.Popen(
            [*argv, str(self._environment.python), str(CHILD)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr,
            env=clean_environment(self._variables), start_new_session=True, bufsize=0,
        )  # fmt: skip
        answer = self._read(READY_SECONDS)
        if not isinstance(answer, Ready):
            raise self._died(f"it said {answer!r} instead of being ready")
        self.ready = answer
        return answer

    def ask(self, job: Job) -> Iterator[Answer]:
        """Give it a job; its answers as they come, without the closing Done.

        Raises:
            UsageError: the job cannot be carried out.
            HostFailed: the process died, or met a fault of ours.
        """
        self._send(job)
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline:
            answer = self._read(ANSWER_SECONDS)
            if isinstance(answer, Done):
                return
            if isinstance(answer, Failed):
                raise UsageError(answer.message) if answer.usage else HostFailed(answer.message)
            yield answer
            deadline = time.monotonic() + ANSWER_SECONDS

    def seeds(self, job: RunSeeds) -> Iterator[SeedDone]:
        """The seeds of a RunSeeds as they are done."""
        return (answer for answer in self.ask(job) if isinstance(answer, SeedDone))

    def one(self, job: RunOne) -> RunDone:
        """Carry out a RunOne."""
        done = [answer for answer in self.ask(job) if isinstance(answer, RunDone)]
        return done[-1]

    def end_run(self, number: int) -> None:
        """End the run that goes on, from any thread: a signal of `chaos.explore.recording`.

        A process that is still starting would die of it, so it is not told: ask again.
        """
        process = self._process
        if process is not None and self.ready is not None and process.poll() is None:
            process.send_signal(number)

    def kill(self) -> None:
        """Kill the process, from any thread: whoever reads from it is told that it ended."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process. No error if there is none."""
        process, self._process = self._process, None
        self.ready, self._rest = None, bytearray()
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        process.kill()
        process.wait(END_SECONDS)
        self._stderr.close()

    # --- the line protocol ------------------------------------------------------------------------

    def _send(self, job: Job) -> None:
        self.start()
        assert self._process is not None
        assert self._process.stdin is not None
        line = memoryview(encode(job) + b"\n")
        try:
            while line:
                line = line[os.write(self._process.stdin.fileno(), line) :]
        except BrokenPipeError as error:
            raise self._died("it ended") from error

    def _read(self, seconds: float) -> Answer:
        assert self._process is not None
        assert self._process.stdout is not None
        end = self._rest.find(b"\n")
        while end < 0:
            ready, _, _ = select.select([self._process.stdout], [], [], seconds)
            if not ready:
                raise self._died(f"it has said nothing for {seconds:.0f} s")
            data = os.read(self._process.stdout.fileno(), _CHUNK)
            if not data:
                raise self._died("it ended")
            place = len(self._rest)
            self._rest += data
            end = self._rest.find(b"\n", place)
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        try:
            return decode_answer(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._died(f"it said what is no answer ({error})") from error

    def _died(self, what: str) -> HostFailed:
        """The error for a child that cannot be used any more, which is over now."""
        process, tail = self._process, ""
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
            code = process.poll()
            what += f" with exit code {code}" if code is not None and what == "it ended" else ""
            tail = self._tail()
        self.close()
        return HostFailed(
            f"the simulating process of {self._environment.python} failed: {what}\n{tail}"
        )

    def _tail(self) -> str:
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - _STDERR_BYTES))
        lines = self._stderr.read().decode("utf-8", "replace").splitlines()[-_STDERR_LINES:]
        return "\n".join(f"  {line}" for line in lines) or "  (it printed nothing)"
