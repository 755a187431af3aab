"""MULTI, EXEC, DISCARD, WATCH, UNWATCH: commands that run together or not at all.

EXEC runs the queue at one instant; an error of one command does not stop the others. Nothing runs
when a queued command had been refused, or when a watched key changed or ended in the meantime.
"""

from __future__ import annotations

from .client import Client, Transaction
from .command import ALL, IMMEDIATE, LOADING, NO_MULTI, NO_SCRIPT, Args, command
from .replies import NO_REPLY, OK, CommandError, Reply, Unmodelled, as_exception

DISCARDED = "EXECABORT Transaction discarded"
BROKEN = f"{DISCARDED} because of previous errors."


@command("MULTI", 1, NO_SCRIPT | LOADING | NO_MULTI | IMMEDIATE)
def multi(client: Client, _args: Args) -> Reply:
    client.transaction = Transaction()
    return OK


@command("DISCARD", 1, NO_SCRIPT | LOADING | IMMEDIATE)
def discard(client: Client, _args: Args) -> Reply:
    if client.transaction is None:
        raise CommandError("ERR DISCARD without MULTI")
    end(client)
    return OK


@command("EXEC", 1, NO_SCRIPT | LOADING | IMMEDIATE)
def exec_(client: Client, _args: Args) -> Reply:
    transaction = client.transaction
    if transaction is None:
        raise CommandError("ERR EXEC without MULTI")
    is_overtaken = client.overtaken or any(
        keyspace.is_expired(key) for keyspace, key, was_there in client.watched if was_there
    )
    end(client)
    if transaction.broken:
        raise CommandError(BROKEN)
    return None if is_overtaken else _run(client, transaction)


def refused(client: Client, args: Args, error: CommandError) -> CommandError:
    """A command was refused before it ran: a transaction can no longer succeed. EXEC ends it."""
    if args[0].upper() == b"EXEC":
        end(client)
        return CommandError(f"{DISCARDED} because of: {error.text.removeprefix('ERR ')}")
    if client.transaction is not None:
        client.transaction.broken = True
    return error


def end(client: Client) -> None:
    """Forget the transaction and what is watched for it."""
    client.transaction = None
    unwatch(client)


def _run(client: Client, transaction: Transaction) -> Reply:
    """The replies of all, as many as there are commands: more of a subscription come after them.

    What the transaction publishes to its own client comes last.
    """
    deliver = client.deliver
    stream: list[Reply] = []
    late: list[Reply] = []
    client.deliver, client.push, client.may_block = stream.append, late.append, False
    try:
        for command_, args in transaction.queue:
            try:
                reply = client.server.perform(client, command_, args)
            except CommandError as error:
                if isinstance(error, Unmodelled):
                    client.server.note_missing(error)
                reply = as_exception(error.text)
            if reply is not NO_REPLY:
                stream.append(reply)
    finally:
        client.deliver = client.push = deliver
        client.may_block = True
    count = len(transaction.queue)
    deliver(stream[:count])
    for reply in (*stream[count:], *late):
        deliver(reply)
    return NO_REPLY


@command("WATCH", -2, NO_SCRIPT | LOADING | NO_MULTI | IMMEDIATE, keys=ALL)
def watch(client: Client, args: Args) -> Reply:
    for key in args[1:]:
        keys = client.keys
        was_there = keys.get(key) is not None
        watchers = keys.watchers.setdefault(key, {})
        if client.number not in watchers:
            watchers[client.number] = client
            client.watched.append((keys, key, was_there))
    return OK


@command("UNWATCH", 1, NO_SCRIPT | LOADING)
def unwatch_all(client: Client, _args: Args) -> Reply:
    unwatch(client)
    return OK


def unwatch(client: Client) -> None:
    """Watch nothing any more."""
    for keyspace, key, _ in client.watched:
        watchers = keyspace.watchers[key]
        watchers.pop(client.number, None)
        if not watchers:
            del keyspace.watchers[key]
    client.watched.clear()
    client.overtaken = False
