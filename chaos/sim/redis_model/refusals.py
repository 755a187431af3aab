"""What a server refuses before a command runs: states that a fault switches on, and contexts.

The order of the checks is the server's own. A command refused inside a transaction breaks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .command import DENY_OOM, IN_PUBSUB, LOADING, NO_MULTI, WRITE, Command
from .replies import CommandError

if TYPE_CHECKING:
    from .client import Client

OOM = "OOM command not allowed when used memory > 'maxmemory'."
READ_ONLY = "READONLY You can't write against a read only replica."
IS_LOADING = "LOADING {} is loading the dataset in memory"


class Refusals:
    """The switches, and the check that every command passes."""

    __slots__ = ("_any", "_loading", "_out_of_memory", "_read_only")

    def __init__(self) -> None:
        self._any = self._loading = self._out_of_memory = self._read_only = False

    @property
    def loading(self) -> bool:
        """Whether the data set is still being read: only a few commands are answered."""
        return self._loading

    @loading.setter
    def loading(self, on: bool) -> None:
        self._loading = on
        self._any = self._loading or self._out_of_memory or self._read_only

    @property
    def out_of_memory(self) -> bool:
        """Whether commands that may need memory are refused."""
        return self._out_of_memory

    @out_of_memory.setter
    def out_of_memory(self, on: bool) -> None:
        self._out_of_memory = on
        self._any = self._loading or self._out_of_memory or self._read_only

    @property
    def read_only(self) -> bool:
        """Whether this is a replica: every write is refused."""
        return self._read_only

    @read_only.setter
    def read_only(self, on: bool) -> None:
        self._read_only = on
        self._any = self._loading or self._out_of_memory or self._read_only

    def check(self, client: Client, command: Command) -> None:
        """Let a command through.

        Raises:
            CommandError: what the client reads instead.
        """
        if client.transaction is not None and command.flags & NO_MULTI:
            raise CommandError(f"ERR Command '{command.name}' not allowed inside a transaction")
        if self._any:
            self._check_states(client, command)
        if (client.channels or client.patterns) and not command.flags & IN_PUBSUB:
            raise CommandError(
                f"ERR Can't execute '{command.name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / "
                f"PING / QUIT / RESET are allowed in this context"
            )

    def _check_states(self, client: Client, command: Command) -> None:
        flags = command.flags
        if command.name == "exec" and client.transaction is not None:
            for queued, _ in client.transaction.queue:
                flags |= queued.flags & (DENY_OOM | WRITE)
        self.check_flags(flags)
        if self._loading and not flags & LOADING:
            raise CommandError(IS_LOADING.format("Redis"))

    def check_flags(self, flags: int) -> None:
        """What is refused within a script too, command by command."""
        if self._out_of_memory and flags & DENY_OOM:
            raise CommandError(OOM)
        if self._read_only and flags & WRITE:
            raise CommandError(READ_ONLY)
