"""One connection as the server sees it: its database, transaction, subscriptions, and its wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .command import Args, Command
from .replies import Reply

if TYPE_CHECKING:
    from .keyspace import Keyspace
    from .model import RedisModel
    from .waiting import Wait


@dataclass(slots=True)
class Transaction:
    """What came since MULTI. `broken`: something was refused, so EXEC discards it all."""

    queue: list[tuple[Command, Args]] = field(default_factory=list)
    broken: bool = False


class Client:
    """The state of one connection.

    Attributes:
        keys: the selected database.
        transaction: set from MULTI to EXEC or DISCARD.
        watched: keys under WATCH; `overtaken` once one of them changed.
        push: takes published messages: as `deliver`, but after the reply while EXEC runs.
        may_block: False while a transaction or script runs.
        wait: set while it is blocked; what it sends meanwhile lies in `pending`.
        deadline_ms: of the wait that is being served again.
    """

    __slots__ = ("channels", "deadline_ms", "deliver", "keys", "may_block", "name", "number",
                 "overtaken", "patterns", "pending", "push", "server", "transaction", "wait",
                 "watched")  # fmt: skip

    def __init__(
        self, server: RedisModel, number: int, keys: Keyspace, deliver: Callable[[Reply], None]
    ) -> None:
        self.server = server
        self.number = number
        self.keys = keys
        self.deliver = deliver
        self.push = deliver
        self.name = b""
        self.transaction: Transaction | None = None
        self.watched: list[tuple[Keyspace, bytes, bool]] = []
        self.overtaken = False
        self.channels: dict[bytes, None] = {}
        self.patterns: dict[bytes, None] = {}
        self.may_block = True
        self.wait: Wait | None = None
        self.deadline_ms: int | None = None
        self.pending: deque[Args] = deque()
