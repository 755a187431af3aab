"""Hosts and faults: who lived when, who was stopped or killed, and when something was injected.

A worker whose name ends in `.2` or more replaced the one before it in its slot; how that one ended
(killed, stopped, or by itself) is what kind of restart it was.
"""

from __future__ import annotations

import msgspec

from chaos.event import (
    Blind,
    Event,
    FaultHealed,
    FaultInjected,
    HostBegan,
    HostEnded,
    HostExited,
    HostSignalled,
)

RESTART_KINDS = ("rolling", "kill", "crash")
FREEZING = ("redis_pause", "redis_restart")
ABORT_US = 1_000_000


class Freeze(msgspec.Struct, kw_only=True, eq=False):
    """A process stood still (SIGSTOP); open until it went on, or was gone."""

    began: HostSignalled
    over: HostSignalled | HostExited | None = None


class Host(msgspec.Struct, kw_only=True, eq=False):
    """One process. `stopping` is the first sign that it was asked to stop."""

    name: str
    began: HostBegan | None = None
    stopping: Event | None = None
    killed: Event | None = None
    ended: HostEnded | None = None
    exited: HostExited | None = None
    blind: list[Blind] = []
    freezes: list[Freeze] = []

    @property
    def role(self) -> str:
        if self.began is not None:
            return self.began.role
        return self.name.rpartition("/")[2].partition("-")[0]

    @property
    def gone(self) -> Event | None:
        """What tells that it runs no more."""
        return self.ended or self.exited

    @property
    def abort_us(self) -> int:
        """How often it looks for aborts."""
        return ABORT_US if self.began is None else self.began.abort_us

    def signalled(self, event: HostSignalled) -> None:
        """The controller sent it a signal."""
        if event.signal == "SIGKILL":
            self.killed = self.killed or event
        elif event.signal in ("SIGTERM", "SIGINT"):
            self.stopping = self.stopping or event
        elif event.signal == "SIGSTOP":
            self.freezes.append(Freeze(began=event))
        elif event.signal == "SIGCONT":
            self._thaw(event)

    def exit(self, event: HostExited) -> None:
        """It is gone."""
        self.exited = event
        self._thaw(event)

    def _thaw(self, event: HostSignalled | HostExited) -> None:
        if self.freezes and self.freezes[-1].over is None:
            self.freezes[-1].over = event

    def stopping_at(self, event: Event) -> bool:
        """Whether it had been asked to stop when `event` came."""
        stop = self.stopping
        if stop is None:
            return False
        if stop.host == event.host:
            return (stop.t_us, stop.n) <= (event.t_us, event.n)
        return stop.t_us <= event.t_us


class Hosts:
    """Every host of one variant, in the order in which the history met them."""

    def __init__(self) -> None:
        self._hosts: dict[str, Host] = {}

    def __getitem__(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name=name)
        return host

    def all(self) -> list[Host]:
        """All hosts, in order."""
        return list(self._hosts.values())

    def restarts(self) -> dict[str, int]:
        """How many workers replaced another, by how that one ended; all kinds, also at 0."""
        counts = dict.fromkeys(RESTART_KINDS, 0)
        for host in self._hosts.values():
            if host.role == "worker" and host.began is not None:
                before = self._hosts.get(_predecessor(host.name))
                if before is not None:
                    counts[_how_it_ended(before)] += 1
        return counts

    def kills(self) -> int:
        """How many workers were killed."""
        return sum(host.role == "worker" and host.killed is not None for host in self.all())

    def blind(self, *needs: str) -> str:
        """Why something in `needs` could not be seen on some host; empty if all could."""
        for host in self._hosts.values():
            for spot in host.blind:
                if spot.what in needs:
                    return f"{host.name} could not see {spot.what}: {spot.reason}"
        return ""


class FaultWindow(msgspec.Struct, kw_only=True, eq=False):
    """One injection of a fault; open until it is healed."""

    injected: FaultInjected
    healed: FaultHealed | None = None


class Faults:
    """The windows of every injection, in order; `freezing` are those in which Redis stood still."""

    def __init__(self) -> None:
        self.windows: dict[tuple[str, int], FaultWindow] = {}
        self.freezing: list[FaultWindow] = []

    def injected(self, event: FaultInjected) -> None:
        """An injection began."""
        window = FaultWindow(injected=event)
        self.windows[event.fault, event.number] = window
        if event.fault in FREEZING:
            self.freezing.append(window)

    def healed(self, event: FaultHealed) -> None:
        """It was healed."""
        window = self.windows.get((event.fault, event.number))
        if window is not None and window.healed is None:
            window.healed = event

    def of(self, *faults: str) -> list[FaultWindow]:
        """The windows of these faults, in order."""
        return [one for one in self.windows.values() if one.injected.fault in faults]

    def active(self) -> tuple[str, ...]:
        """The faults that are injected and not healed, in the order of their first injection."""
        return tuple(name for name, count in self.active_counts().items() if count)

    def active_counts(self) -> dict[str, int]:
        """How many injections of each fault are open now, also 0 for one that is healed."""
        counts: dict[str, int] = {}
        for window in self.windows.values():
            name = window.injected.fault
            counts[name] = counts.get(name, 0) + (window.healed is None)
        return counts


def _predecessor(name: str) -> str:
    slot, _, incarnation = name.rpartition(".")
    return f"{slot}.{int(incarnation) - 1}" if incarnation.isdecimal() else ""


def _how_it_ended(host: Host) -> str:
    if host.killed is not None:
        return "kill"
    crashed = host.exited is not None and not host.exited.expected
    return "crash" if crashed and host.stopping is None else "rolling"
