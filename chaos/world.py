"""Where one variant runs: the World protocol, its capabilities, and the commands for a producer.

A world holds one variant: its Redis, its workers and one producer. The conductor (`chaos.run`) and
the faults act on a world through these protocols alone, so the same plan runs in the live world and
in the simulator. What a world can do beyond the basics it says by having the methods of a
capability; a fault that needs a capability which a world lacks is refused before the run begins.

Events reach the history from the hosts themselves; nothing here returns what happened to a job.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Any, Protocol, runtime_checkable

import msgspec

from chaos.clock import Clock
from chaos.links import Rule, Selection


class Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="do"):
    """Something for the producer, a process of the variant under test. `call` numbers it."""

    call: int = 0


class Enqueue(Command, frozen=True, kw_only=True, tag="enqueue"):
    """Enqueue one job. `options` are saq's Job fields (timeout, heartbeat, … in seconds).

    `scheduled_in_us` > 0 schedules the job that far ahead of the producer's wall clock.
    """

    function: str
    key: str | None = None
    kwargs: dict[str, Any] = {}
    options: dict[str, Any] = {}
    scheduled_in_us: int = 0


class Sweep(Command, frozen=True, kw_only=True, tag="sweep"):
    """Clear the sweep lock and sweep now, waiting `wait_us` for each stuck job."""

    wait_us: int


class Abort(Command, frozen=True, kw_only=True, tag="abort"):
    """Abort the job with this key, whatever its state."""

    key: str


class Depth(Command, frozen=True, kw_only=True, tag="depth"):
    """Record a queue-depth event."""


class Inspect(Command, frozen=True, kw_only=True, tag="inspect"):
    """Record a job-state event for each of `keys` and for whatever else the lists hold."""

    keys: tuple[str, ...] = ()


class World(Protocol):
    """A place where one variant runs."""

    variant: str

    @property
    def clock(self) -> Clock:
        """The world's time."""

    async def tell(self, command: Command, wait_us: int = 0) -> bool:
        """Give the producer a command; with `wait_us`, wait that long for its answer.

        Returns:
            Whether it was answered without an error in time; true at once without `wait_us`.
        """

    def hosts(self, role: str) -> tuple[str, ...]:
        """Full names of the hosts of `role` (worker, producer, redis) that run now, in order."""


@runtime_checkable
class Restart(Protocol):
    """Worker slots that can be stopped gracefully and filled again."""

    async def stop(self, host: str) -> None:
        """SIGTERM, then wait until the host is gone; SIGKILL past grace + deadline + 5 s."""

    async def start(self, slot: int) -> str:
        """Start the next incarnation in worker slot `slot`; its full name once it is up."""


@runtime_checkable
class Slots(Protocol):
    """Worker slots that more than one fault may change: whoever changes one holds it."""

    def slots(self) -> tuple[int, ...]:
        """The numbers of all slots, filled or not, in order."""

    def hold(self, slot: int) -> AbstractAsyncContextManager[None]:
        """Nobody else stops, kills or fills this slot meanwhile."""


@runtime_checkable
class Keys(Protocol):
    """Worlds that know which jobs there are to be aborted."""

    def keys(self) -> tuple[str, ...]:
        """Keys whose job was enqueued and is not known to be finished, the oldest first.

        Taken from the hosts' events, so a moment behind; at most some thousands are remembered.
        """


@runtime_checkable
class Kill(Protocol):
    """Hosts that can crash."""

    async def kill(self, host: str) -> None:
        """SIGKILL, then wait until the host is gone."""


@runtime_checkable
class Pause(Protocol):
    """Hosts that can be frozen."""

    async def pause(self, host: str) -> None:
        """SIGSTOP: the host stops where it is."""

    async def resume(self, host: str) -> None:
        """SIGCONT. No error if the host is gone or was not paused."""


@runtime_checkable
class Server(Protocol):
    """A Redis server that is ours to stop and start."""

    async def stop_server(self, *, keep_data: bool) -> None:
        """Shut the server down, its data saved or thrown away."""

    async def start_server(self) -> None:
        """Start it again on the same address; returns once it answers."""


@runtime_checkable
class Rewind(Protocol):
    """A server of ours that can lose what it was told last."""

    async def crash_server(self) -> None:
        """It dies at once; `start_server` brings back what it held at the last full second.

        So much may be lost where an append-only file is synced each second.
        """


@runtime_checkable
class Links(Protocol):
    """A network between the hosts and the server on which rules can be put."""

    def add_rule(self, rule: Rule) -> int:
        """Let a rule stand for every message that is sent from now on; its handle."""

    def remove_rule(self, handle: int) -> None:
        """End a rule. No error if it does not stand."""


@runtime_checkable
class Cuts(Protocol):
    """A network whose open connections can be broken."""

    def cut(self, which: Selection, stream: Random) -> int:
        """Break the open connections of `which` (its hosts and its share, drawn from `stream`).

        What is under way on them is lost. Both ends learn of it a moment later.

        Returns:
            How many were broken.
        """


@runtime_checkable
class Scripts(Protocol):
    """A server whose cache of scripts can be emptied."""

    async def flush_scripts(self) -> None:
        """SCRIPT FLUSH: the next EVALSHA of any script is answered with NOSCRIPT."""


@runtime_checkable
class Clocks(Protocol):
    """Hosts whose wall clock can be set."""

    def set_clock(self, host: str, *, ahead_us: int) -> None:
        """Let its wall clock be so far ahead, or behind if negative. No error if it is gone."""


# What each kind of world can do beyond World. On a Redis of somebody else's a live world has no
# Server; that is refused where its URL is read.
CAPABILITIES: dict[str, tuple[type, ...]] = {
    "live": (Restart, Slots, Keys, Kill, Pause, Server),
    "sim": (Restart, Slots, Keys, Kill, Pause, Server, Rewind, Links, Cuts, Scripts, Clocks),
}


def slot_of(host: str) -> int:
    """The worker slot of a host name: 1 for `stock@0.26.3/worker-1.2`."""
    return int(host.rpartition("-")[2].partition(".")[0])
