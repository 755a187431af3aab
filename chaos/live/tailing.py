"""Follows the event files of a world's hosts while the processes write them.

    hosts/*.events ──every 50 ms──► events, by stamp ──► readers (the world itself, then the caller)

A batch is ordered by stamp; across batches a host may be some milliseconds behind another. A host
whose process is gone is read to its end once more and then left alone; bytes of a record that it
never committed are counted as torn. Nothing is judged here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from chaos.event import Event
from chaos.live.hosts import Host

INTERVAL_SECONDS = 0.05

Reader = Callable[[list[Event]], None]


class Tail:
    """Reads all event files of one world. `run` is a task; `poll` reads once more at the end."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self.torn: list[str] = []
        self._readers = readers
        self._hosts: list[Host] = []
        self._following = True

    def follow(self, host: Host) -> None:
        """Read this host's events from now on."""
        self._hosts.append(host)

    async def run(self) -> None:
        """Poll until `stop`.

        Raises:
            HistoryError: a file is no recorder's.
        """
        while self._following:
            self.poll()
            await asyncio.sleep(INTERVAL_SECONDS)

    def stop(self) -> None:
        """Let `run` come to its end."""
        self._following = False

    def poll(self) -> None:
        """Hand over what was committed since the last time."""
        batch: list[Event] = []
        for host in list(self._hosts):
            gone = not host.process.running  # asked before the read: nothing is written after it
            batch += host.events.read()
            if gone:
                self._hosts.remove(host)
                if host.events.torn():
                    self.torn.append(host.name)
        if batch:
            batch.sort(key=lambda event: event.t_us)
            for reader in self._readers:
                reader(batch)
