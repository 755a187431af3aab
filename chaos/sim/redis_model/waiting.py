"""Clients that are blocked on lists: who waits for what, since when and until when.

    BLMOVE finds nothing ──► block() ──┬─ a list comes into being ──► signal() … serve()
                                       ├─ its time runs out ────────► expire(): nil
                                       └─ it is cut ────────────────► forget()

As in the server, a client is served after the command that made the list is through (a transaction
or script as a whole), first come first served for each key, by running its command again. When
another was quicker it blocks again, at the end of the line, with the deadline that it had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from .command import Args, Command

if TYPE_CHECKING:
    from .client import Client
    from .keyspace import Keyspace


@dataclass(slots=True, eq=False)
class Wait:
    """One blocked client.

    Attributes:
        keys: in the order of its command.
        deadline_ms: wall clock; 0 for none.
    """

    client: Client
    command: Command
    args: Args
    keyspace: Keyspace
    keys: Args
    deadline_ms: int


class Waiting:
    """All blocked clients of a server.

    Args:
        rerun: runs a command of a client again, and delivers the reply.

    Attributes:
        count: how many there are.
        signalled: the lists that came into being and that somebody waits for.
    """

    def __init__(self, rerun: Callable[[Wait], None]) -> None:
        self._rerun = rerun
        self._by_key: dict[tuple[int, bytes], dict[int, Wait]] = {}
        self._deadlines: list[tuple[int, int, int, Wait]] = []
        self._blocked_ever = 0
        self.signalled: dict[tuple[int, bytes], None] = {}
        self.count = 0

    def block(self, client: Client, wait: Wait) -> None:
        """Make a client wait; a deadline that it already has stays."""
        client.wait = wait
        self.count += 1
        for key in wait.keys:
            line = self._by_key.setdefault((wait.keyspace.number, key), {})
            line.setdefault(client.number, wait)
        if wait.deadline_ms:
            self._blocked_ever += 1
            heappush(self._deadlines, (wait.deadline_ms, client.number, self._blocked_ever, wait))

    def forget(self, wait: Wait) -> None:
        """Let a client go, without a reply."""
        wait.client.wait = None
        self.count -= 1
        for key in wait.keys:
            place = (wait.keyspace.number, key)
            line = self._by_key.get(place)
            if line is not None and line.pop(wait.client.number, wait) and not line:
                del self._by_key[place]

    def signal(self, keyspace: Keyspace, key: bytes) -> None:
        """A list came into being under this key."""
        place = (keyspace.number, key)
        if place in self._by_key:
            self.signalled.setdefault(place)

    def serve(self, keyspaces: list[Keyspace]) -> None:
        """Serve whoever waits for the lists that came into being, also those that serving makes."""
        while self.signalled:
            for place in list(self.signalled):
                del self.signalled[place]
                self._serve_key(keyspaces[place[0]], place)

    def _serve_key(self, keyspace: Keyspace, place: tuple[int, bytes]) -> None:
        for wait in list(self._by_key.get(place, {}).values()):
            if wait.client.wait is wait and keyspace.has_list(place[1]):
                self.forget(wait)
                self._rerun(wait)

    def next_deadline_ms(self) -> int | None:
        """When the first blocked client's time runs out."""
        deadlines = self._deadlines
        while deadlines and deadlines[0][3].client.wait is not deadlines[0][3]:
            heappop(deadlines)
        return deadlines[0][0] if deadlines else None

    def overdue(self, now_ms: int) -> list[Wait]:
        """Let go of the clients whose time has run out, in order of deadline, then of number."""
        late: list[Wait] = []
        while (first := self.next_deadline_ms()) is not None and first <= now_ms:
            wait = heappop(self._deadlines)[3]
            self.forget(wait)
            late.append(wait)
        return late

    def clear(self) -> None:
        """Forget everybody."""
        self._by_key.clear()
        self._deadlines.clear()
        self.signalled.clear()
        self.count = 0
