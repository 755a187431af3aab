"""The simulated Redis server: what redis-py's connection would read, for what it would send.

    connection ──execute(client, args)──► find ─► refused? ─► queued? ─► handler ──deliver(reply)──►
                                                     a blocked client's reply comes later, by a
                                                     command of another or by advance()

It is a model of ours because no in-process server has what saq needs (DESIGN, decision 9): lists
that block, expiry to the millisecond, saq's own Lua, pub/sub. It answers to a real server: random
command programs run on both and must agree (`chaos.sim.conformance`). It knows no sockets, no RESP
bytes, no latency: a command happens at one instant, and the network around it decides when.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from chaos.errors import NotModelled, UsageError

from . import (
    blocking,
    expiry,
    generic,
    lists,
    pubsub,
    server,
    strings,
    transactions,
    zset_ranges,
    zsets,
)
from .client import Client
from .command import COMMANDS, IMMEDIATE, WRITE, Args, Command, find
from .journal import Journal
from .keyspace import Keyspace
from .refusals import Refusals
from .replies import NO_REPLY, QUEUED, CommandError, Reply, Unmodelled, as_exception
from .scripts import Scripts
from .waiting import Wait, Waiting

Data: TypeAlias = Literal["kept", "lost", "last_writes_lost"]

MODULES = (
    blocking,
    expiry,
    generic,
    lists,
    pubsub,
    server,
    strings,
    transactions,
    zset_ranges,
    zsets,
)  # fill COMMANDS
DATABASES = 16
EPOCH_US = 1_735_689_600_000_000  # 2025-01-01 00:00 UTC


class RedisModel:
    """One server with its data and connections.

    Args:
        now_us: the world's clock, in microseconds; it must never go back.
        epoch_us: wall clock (microseconds since 1970) when `now_us()` is 0: for TIME and EXPIREAT.
        strict: a command or option that the model has not raises NotModelled, so that it cannot be
            mistaken for a fault of the program under test; else it is answered as unknown.
        version: what INFO says (saq looks at it).
        fsync_every_us: how often data reaches the disk, for a restart that loses the last writes;
            None keeps no account of it, which is quicker.

    Attributes:
        refusals: switches `loading`, `read_only` and `out_of_memory`, off at first.
    """

    def __init__(
        self,
        now_us: Callable[[], int],
        *,
        epoch_us: int = EPOCH_US,
        strict: bool = True,
        version: str = "7.2.4",
        fsync_every_us: int | None = None,
    ) -> None:
        self.now_us = now_us
        self.epoch_us = epoch_us
        self.strict = strict
        self.version = version
        self.waiting = Waiting(self._rerun)
        self.keyspaces = [Keyspace(n, self.now_ms, self.waiting) for n in range(DATABASES)]
        self.clients: dict[int, Client] = {}
        self.channels: dict[bytes, dict[int, Client]] = {}
        self.patterns: dict[bytes, dict[int, Client]] = {}
        self.scripts = Scripts(self)
        self.refusals = Refusals()
        self.started_us = now_us()
        self.commands_done = 0
        self._journal = Journal(now_us, fsync_every_us) if fsync_every_us else None
        self._connected = 0
        self._freed: list[Client] = []
        self._missing: Unmodelled | None = None

    # --- what the network calls -----------------------------------------------------------------

    def connect(self, deliver: Callable[[Reply], None]) -> int:
        """Open a connection; its number is what CLIENT ID says.

        Args:
            deliver: gets each reply and each pub/sub message of this connection, in order: bytes,
                int, None, a list of these, or a redis-py exception. It must not call the model.
        """
        self._connected += 1
        self.clients[self._connected] = Client(self, self._connected, self.keyspaces[0], deliver)
        return self._connected

    def execute(self, client: int, args: Args) -> None:
        """Carry out one command of a connection, and whatever it sets free in others.

        The reply goes to `deliver`, later if the command blocks. What a blocked client sends waits
        until it is free again.

        Raises:
            KeyError: there is no such connection.
            NotModelled: strict, and the model has not what was asked for.
        """
        its = self.clients[client]
        if its.wait is not None:
            its.pending.append(args)
            return
        self._run(its, args)
        if self.waiting.signalled or self._freed:
            self._settle()
        if self._missing is not None:
            self._refuse_to_guess()

    def disconnect(self, client: int) -> None:
        """Close a connection. What it had asked for and not got is dropped; nothing is delivered.

        A connection that is already closed (a restart closes all) is no error.
        """
        its = self.clients.pop(client, None)
        if its is not None:
            if its.wait is not None:
                self.waiting.forget(its.wait)
            its.pending.clear()
            transactions.unwatch(its)
            pubsub.unsubscribe_all(its)

    def next_deadline_us(self) -> int | None:
        """When `advance` must be called: the first blocked client's time runs out then."""
        if not self.waiting.count:
            return None
        deadline_ms = self.waiting.next_deadline_ms()
        return None if deadline_ms is None else deadline_ms * 1_000 - self.epoch_us

    def advance(self) -> None:
        """Answer nil to every blocked client whose time has run out by now."""
        for wait in self.waiting.overdue(self.now_ms()):
            wait.client.deliver(None)
            self._freed.append(wait.client)
        self._settle()

    def restart(self, data: Data = "kept") -> None:
        """Start anew: no connections, no scripts, refusals off; the data as told.

        Args:
            data: kept, lost, or without what was written since the last fsync.

        Raises:
            UsageError: last_writes_lost, but the model was made without `fsync_every_us`.
        """
        if data == "last_writes_lost" and self._journal is None:
            raise UsageError("last_writes_lost needs RedisModel(fsync_every_us=…), such as 1000000")
        for client in list(self.clients):
            self.disconnect(client)
        self.waiting.clear()
        self.scripts.flush()
        self.refusals = Refusals()
        if data == "lost":
            for keyspace in self.keyspaces:
                keyspace.clear()
        elif data == "last_writes_lost" and self._journal is not None:
            self._journal.undo()
        self.started_us = self.now_us()

    def script_flush(self) -> None:
        """Forget every script, as SCRIPT FLUSH does."""
        self.scripts.flush()

    def is_blocked(self, client: int) -> bool:
        """Whether a connection is waiting for a reply that another must set free."""
        return self.clients[client].wait is not None

    # --- what handlers use ----------------------------------------------------------------------

    def now_ms(self) -> int:
        """Wall clock in milliseconds, the unit of expiry."""
        return (self.epoch_us + self.now_us()) // 1_000

    def perform(self, client: Client, command: Command, args: Args) -> Reply:
        """Carry out a command whose arity is right, now: in the open, a transaction or a script.

        Raises:
            CommandError: its error reply.
        """
        self.commands_done += 1
        if self._journal is not None and command.flags & WRITE:
            self._journal.before(client.keys, command.keys_of(args) or client.keys.values)
        return command.run(client, args)

    # --- one command ----------------------------------------------------------------------------

    def _run(self, client: Client, args: Args) -> None:
        command = COMMANDS.get(args[0])
        try:
            if command is None or not command.takes(len(args)):
                command = find(args)
            self.refusals.check(client, command)
        except CommandError as error:
            self._fail(client, transactions.refused(client, args, error))
            return
        if client.transaction is not None and not command.flags & IMMEDIATE:
            client.transaction.queue.append((command, args))
            client.deliver(QUEUED)
            return
        try:
            reply = self.perform(client, command, args)
        except CommandError as error:
            self._fail(client, error)
        else:
            if reply is not NO_REPLY:
                client.deliver(reply)

    def _fail(self, client: Client, error: CommandError) -> None:
        if isinstance(error, Unmodelled):
            self.note_missing(error)
        client.deliver(as_exception(error.text))

    def note_missing(self, error: Unmodelled) -> None:
        """Remember that something was asked for that the model has not; the first is reported."""
        if self.strict and self._missing is None:
            self._missing = error

    def _refuse_to_guess(self) -> None:
        error, self._missing = self._missing, None
        if error is not None:
            raise NotModelled(
                f"the simulated Redis has no {error.what}; a real one answers it, so the run could "
                f"blame saq for what is missing here: use the live world, or add it to "
                f"chaos/sim/redis_model"
            )

    # --- blocked clients ------------------------------------------------------------------------

    def _rerun(self, wait: Wait) -> None:
        client = wait.client
        client.deadline_ms = wait.deadline_ms
        try:
            self.refusals.check(client, wait.command)
            reply = self.perform(client, wait.command, wait.args)
        except CommandError as error:
            self._fail(client, error)
        else:
            if reply is not NO_REPLY:
                client.deliver(reply)
        client.deadline_ms = None
        if client.wait is None:
            self._freed.append(client)

    def _settle(self) -> None:
        """Serve the blocked, then run what the freed had sent meanwhile, until nobody is left."""
        self.waiting.serve(self.keyspaces)
        while self._freed:
            client = self._freed.pop(0)
            while client.pending and client.wait is None:
                self._run(client, client.pending.popleft())
                self.waiting.serve(self.keyspaces)
