"""Runs programs on both sides, step by step, and cuts down those on which they disagree.

The model goes first: it says what each client must read now and who is blocked, and the real side
is held to that. So nothing is waited for in vain, and a reply too many or too few is a difference
too. Programs in which something ends soon are repeated when the machine was too slow for them.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from redis.exceptions import RedisError

from chaos.clock import MILLISECOND_US
from chaos.seed import Seed

from .drawing import CLIENTS, Drawer
from .program import (
    HURRY_MS,
    PAUSE_MS,
    Close,
    Mode,
    Program,
    Send,
    agree,
    as_seen,
    in_order,
    is_error,
    is_push,
)
from .report import ConformanceReport, Difference
from .saq_scripts import KnownScript
from .sides import Modelled, Real, contents

REPEATS_MAX = 16
REPEATS_ALIKE = 3  # then all times are doubled
ROUNDS_MAX = 5


@dataclass(slots=True)
class Figures:
    """What was compared so far."""

    programs: int = 0
    steps: int = 0
    replies: int = 0
    errors: int = 0
    blocked: int = 0
    pauses: int = 0
    repeated: int = 0
    given_up: int = 0
    commands: Counter[str] = field(default_factory=Counter)


class Disagreement(Exception):
    """The two sides differ."""

    def __init__(self, where: str, real: Any, model: Any) -> None:
        super().__init__(where)
        self.where = where
        self.real = repr(real)
        self.model = repr(model)


class _TooSlow(Exception):
    """The machine took too long: what was to end later may have ended."""


class Comparison:
    """Compares programs against one server.

    Args:
        url: a server of our own: everything on it is deleted.
    """

    def __init__(self, url: str) -> None:
        self.figures = Figures()
        self._url = url
        self._real = Real(url, CLIENTS)
        self.server = self._real.version()

    def close(self) -> None:
        """Close the connections."""
        self._real.disconnect()

    def compare(self, program: Program) -> Disagreement | None:
        """Run a program on both sides; how they differ, or None."""
        for attempt in range(REPEATS_MAX):
            try:
                _Lockstep(self._real, self.figures, 1 << attempt // REPEATS_ALIKE).run(program)
            except _TooSlow:
                self.figures.repeated += 1
                self._start_over()
            except Disagreement as difference:
                self._start_over()
                return difference
            else:
                self.figures.programs += 1
                return None
        self.figures.given_up += 1
        return None

    def _start_over(self) -> None:
        """New connections: the old ones may have unread replies, or be blocked."""
        self._real.disconnect()
        self._real = Real(self._url, CLIENTS)

    def cut_down(self, program: Program, difference: Disagreement) -> tuple[Program, Disagreement]:
        """The program without the steps that the difference does not need."""
        for _ in range(ROUNDS_MAX):
            before = len(program)
            for place in range(len(program) - 1, -1, -1):
                candidate = program[:place] + program[place + 1 :]
                found = self.compare(candidate)
                if found is not None:
                    program, difference = candidate, found
            if len(program) == before:
                break
        return program, difference


class _Lockstep:
    """One program on both sides.

    Args:
        factor: how far its short times and pauses are stretched.
    """

    def __init__(self, real: Real, figures: Figures, factor: int) -> None:
        self._factor = factor
        self._real = real
        self._figures = figures
        self._model = Modelled(CLIENTS, real.empty())
        self._modes: list[deque[Mode]] = [deque() for _ in range(CLIENTS)]
        self._queued: list[list[Mode]] = [[] for _ in range(CLIENTS)]
        self._gives_up = [False] * CLIENTS
        self._hurry_since_us: int | None = None

    def run(self, program: Program) -> None:
        """Go through it, and compare the data at the end.

        Raises:
            Disagreement: the sides differ.
            _TooSlow: it is not known whether they do.
        """
        for number, step in enumerate(program, 1):
            where = f"step {number}: {step}"
            if isinstance(step, Send):
                if self._depends_on_speed(step):
                    continue
                self._send(step)
            elif isinstance(step, Close):
                self._close(step)
            else:
                self._pause()
            self._compare_reads(where)
            if isinstance(step, Send):
                self._compare_blocked(step.client, where)
        self._finish()

    def _depends_on_speed(self, step: Send) -> bool:
        """Whether a command would run when a client gives up waiting, or begin to wait then."""
        is_blocked = self._model.is_blocked(step.client)
        return is_blocked and (bool(step.short) or self._gives_up[step.client])

    def _send(self, step: Send) -> None:
        if step.short and self._hurry_since_us is None:
            self._hurry_since_us = self._real.now_us()
        self._gives_up[step.client] = bool(step.short)
        self._figures.steps += 1
        self._figures.commands[_name(step.args)] += 1
        if not step.args[0].upper().endswith(b"SUBSCRIBE"):
            self._modes[step.client].append(step.mode)
        args = step.stretched(self._factor)
        self._model.send(step.client, args)
        self._real.send(step.client, args)

    def _close(self, step: Close) -> None:
        self._modes[step.client].clear()
        self._queued[step.client].clear()
        self._model.close(step.client)
        self._real.close(step.client)

    def _pause(self) -> None:
        self._check_time()
        self._figures.pauses += 1
        pause_ms = PAUSE_MS * self._factor
        self._model.pause(pause_ms)
        time.sleep((pause_ms + 2) / 1_000)

    def _check_time(self) -> None:
        """A pause may come: until now nothing can have ended by itself."""
        since_us, self._hurry_since_us = self._hurry_since_us, None
        is_late = since_us is not None and (
            self._real.now_us() - since_us > HURRY_MS * self._factor * MILLISECOND_US
        )
        if is_late:
            raise _TooSlow

    def _compare_reads(self, where: str) -> None:
        for client, expected in enumerate(self._model.read):
            wanted = list(expected)
            expected.clear()
            seen = [self._read(client, where, one) for one in wanted]
            for one, other in zip(in_order(wanted), in_order(seen), strict=True):
                self._compare(client, where, one, other)

    def _read(self, client: int, where: str, wanted: Any) -> Any:
        try:
            return self._real.read(client, self._gives_up[client])
        except (RedisError, OSError) as error:
            self._check_if_late()
            problem = f"nothing ({type(error).__name__})"
            raise Disagreement(f"{where}, read by {client}", problem, as_seen(wanted)) from error

    def _compare(self, client: int, where: str, wanted: Any, seen: Any) -> None:
        self._figures.replies += 1
        self._figures.errors += is_error(wanted)
        mode = Mode.EXACT
        if not is_push(wanted) and self._modes[client]:
            mode = self._modes[client].popleft()
        if not self._agrees(client, as_seen(wanted), as_seen(seen), mode):
            self._check_if_late()
            raise Disagreement(f"{where}, read by {client}", as_seen(seen), as_seen(wanted))

    def _agrees(self, client: int, wanted: Any, seen: Any, mode: Mode) -> bool:
        queued = self._queued[client]
        if wanted == b"QUEUED":
            queued.append(mode)
        elif queued:
            modes = tuple(queued)
            queued.clear()
            if isinstance(wanted, list) and isinstance(seen, list) and len(wanted) == len(seen):
                modes += (Mode.EXACT,) * (len(wanted) - len(modes))
                return all(map(agree, wanted, seen, modes))
        return agree(wanted, seen, mode)

    def _check_if_late(self) -> None:
        """A difference is none if something may have ended while the machine was slow."""
        self._check_time()

    def _compare_blocked(self, client: int, where: str) -> None:
        if self._model.is_blocked(client):
            self._figures.blocked += 1
            if not self._real.becomes_blocked(client):
                self._check_if_late()
                seen = as_seen(self._read(client, where, "blocked"))
                raise Disagreement(f"{where}, is it blocked?", f"no, it reads {seen!r}", "yes")

    def _finish(self) -> None:
        for client in range(CLIENTS):
            if self._real.has_more(client):
                self._check_if_late()
                more = as_seen(self._real.read(client))
                raise Disagreement(f"at the end, read by {client}", more, "nothing")
        self._compare_data()
        for client in range(CLIENTS):
            if self._model.is_blocked(client):
                self._real.close(client)

    def _compare_data(self) -> None:
        wanted, seen = contents(self._model), contents(self._real)
        if wanted != seen:
            self._check_if_late()
            for place in sorted({**wanted, **seen}):
                if wanted.get(place) != seen.get(place):
                    raise Disagreement(f"at the end, {place}", seen.get(place), wanted.get(place))


def _name(args: tuple[bytes, ...]) -> str:
    words = args[:2] if args[0].upper() in (b"CLIENT", b"SCRIPT", b"PUBSUB") else args[:1]
    return b" ".join(words).upper().decode(errors="replace")[:20]


def run_conformance(
    programs: int,
    seed: int,
    url: str,
    *,
    scripts: tuple[KnownScript, ...] = (),
    differences_max: int = 5,
    progress: Callable[[str], None] = lambda _: None,
) -> ConformanceReport:
    """Draw programs from a seed and compare the model with a real server.

    Args:
        programs: how many to draw.
        seed: the same seed draws the same programs.
        url: a Redis server of our own: everything on it is deleted.
        scripts: saq's (`scripts_in`), run by some of the programs.
        differences_max: where to stop; each is cut down first, which takes a moment.
        progress: told a line every thousand programs and at each difference.

    Raises:
        ServerFailed: the server does not answer.
    """
    began = time.monotonic()
    comparison, drawer, root = Comparison(url), Drawer(scripts), Seed(seed)
    found: list[Difference] = []
    try:
        for number in range(programs):
            program = drawer.program(_draws(root, number))
            difference = comparison.compare(program)
            if difference is not None:
                found.append(_described(comparison, number, program, difference))
                progress(f"program {number}: {found[-1].where}")
            if len(found) >= differences_max:
                break
            if (number + 1) % 1_000 == 0:
                progress(f"{number + 1}/{programs} programs, {len(found)} differences")
    finally:
        comparison.close()
    return _report(comparison, seed, len(scripts), found, time.monotonic() - began)


def _draws(root: Seed, number: int) -> Random:
    return root.stream("conformance", number)


def _described(
    comparison: Comparison, number: int, program: Program, difference: Disagreement
) -> Difference:
    program, difference = comparison.cut_down(program, difference)
    return Difference(
        number=number,
        steps=tuple(str(step) for step in program),
        where=difference.where,
        real=difference.real,
        model=difference.model,
    )


def _report(
    comparison: Comparison, seed: int, scripts: int, found: list[Difference], seconds: float
) -> ConformanceReport:
    figures = comparison.figures
    return ConformanceReport(
        server=comparison.server,
        seed=seed,
        programs=figures.programs,
        steps=figures.steps,
        replies=figures.replies,
        errors=figures.errors,
        blocked=figures.blocked,
        pauses=figures.pauses,
        repeated=figures.repeated,
        given_up=figures.given_up,
        commands=tuple(figures.commands.most_common()),
        scripts=scripts,
        differences=tuple(found),
        seconds=round(seconds, 1),
    )
