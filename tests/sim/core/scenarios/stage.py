"""Hosts without saq: programs written down here, on a kernel with a given tape."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from chaos.sim import seams
from chaos.sim.host import SimHost
from chaos.sim.kernel import Kernel, Stuck
from chaos.sim.tape import FixedTape

Main = Callable[[SimHost], Awaitable[None]]


class Sink:
    """A host's events are not looked at here."""

    muted = False

    def record(self, *args: Any, **fields: Any) -> None:
        """Nothing."""

    record_fields = record


class Stage:
    """A kernel, and what its hosts wrote down: `[virtual ms, host, what]`, in order."""

    def __init__(self, tape: dict[str, int] | None = None, **limits: int) -> None:
        chosen = {"steps_max": 100_000, "steps_at_once_max": 1_000, "until_us": 10**10, **limits}
        self.kernel = Kernel(FixedTape(tape or {}), **chosen)
        self.notes: list[list[Any]] = []

    def host(self, name: str, main: Main | None = None) -> SimHost:
        """A host with this program."""
        host = SimHost(self.kernel, name, "worker", Sink())  # type: ignore[arg-type]
        if main is not None:
            host.start(main)  # type: ignore[arg-type]
        return host

    def note(self, what: Any) -> None:
        """Write down that something happens, now, on the host whose code runs."""
        host = self.kernel.current.name if self.kernel.current else None
        self.notes.append([self.kernel.time_us / 1000, host, what])

    def at(self, ms: float, callback: Callable[..., Any], *args: Any) -> None:
        """Do something to the hosts from outside."""
        self.kernel.call_at(round(ms * 1000), None, callback, *args)

    def run(self, *hosts: SimHost) -> Any:
        """Until the first host is gone; the notes, or how it got stuck."""
        with seams.installed(self.kernel):
            try:
                self.kernel.run(until=hosts[0])
                return list(self.notes)
            except Stuck as stuck:
                notes, stacks = list(self.notes), [host.stacks() for host in hosts]
                return {"stuck": stuck.kind, "reason": str(stuck), "notes": notes, "stacks": stacks}
            finally:
                self.kernel.dispose()


def report(*scenarios: Callable[[], Any]) -> None:
    """Run scenarios, and print what became of each."""
    say({scenario.__name__: scenario() for scenario in scenarios})


def say(found: Any) -> None:
    """Print what a test reads."""
    sys.stdout.write(json.dumps(found) + "\n")
