"""Publish and subscribe: what is published reaches whoever is subscribed at that instant.

Pushes are lists, as the wire has them before RESP3: [b"message", channel, data] for a channel,
[b"pmessage", pattern, channel, data] for a pattern. A client whose channel and pattern both match
gets both.
"""

from __future__ import annotations

from .client import Client
from .command import IN_PUBSUB, LOADING, NO_SCRIPT, Args, command
from .glob import matches
from .replies import NO_REPLY, CommandError, Reply

_SUBSCRIBING = NO_SCRIPT | LOADING | IN_PUBSUB


@command("SUBSCRIBE", -2, _SUBSCRIBING)
def subscribe(client: Client, args: Args) -> Reply:
    return _subscribe(client, args[1:], client.channels, client.server.channels, b"subscribe")


@command("PSUBSCRIBE", -2, _SUBSCRIBING)
def psubscribe(client: Client, args: Args) -> Reply:
    return _subscribe(client, args[1:], client.patterns, client.server.patterns, b"psubscribe")


def _subscribe(
    client: Client,
    names: Args,
    own: dict[bytes, None],
    everybodys: dict[bytes, dict[int, Client]],
    kind: bytes,
) -> Reply:
    for name in names:
        own[name] = None
        everybodys.setdefault(name, {})[client.number] = client
        client.deliver([kind, name, _count(client)])
    return NO_REPLY


@command("UNSUBSCRIBE", -1, _SUBSCRIBING)
def unsubscribe(client: Client, args: Args) -> Reply:
    return _unsubscribe(client, args[1:], client.channels, client.server.channels, b"unsubscribe")


@command("PUNSUBSCRIBE", -1, _SUBSCRIBING)
def punsubscribe(client: Client, args: Args) -> Reply:
    return _unsubscribe(client, args[1:], client.patterns, client.server.patterns, b"punsubscribe")


def _unsubscribe(
    client: Client,
    names: Args,
    own: dict[bytes, None],
    everybodys: dict[bytes, dict[int, Client]],
    kind: bytes,
) -> Reply:
    """Leave the named ones, or all; leaving nothing is answered once, with nil."""
    leaving = names or tuple(own)
    for name in leaving:
        own.pop(name, None)
        _leave(client, name, everybodys)
        client.deliver([kind, name, _count(client)])
    if not leaving:
        client.deliver([kind, None, _count(client)])
    return NO_REPLY


def _leave(client: Client, name: bytes, everybodys: dict[bytes, dict[int, Client]]) -> None:
    members = everybodys.get(name, {})
    if members.pop(client.number, None) is not None and not members:
        del everybodys[name]


def _count(client: Client) -> int:
    return len(client.channels) + len(client.patterns)


def unsubscribe_all(client: Client) -> None:
    """Leave everything, silently."""
    for name in client.channels:
        _leave(client, name, client.server.channels)
    for name in client.patterns:
        _leave(client, name, client.server.patterns)
    client.channels.clear()
    client.patterns.clear()


@command("PUBLISH", 3, LOADING)
def publish(client: Client, args: Args) -> Reply:
    _, channel, data = args
    server = client.server
    reached = 0
    for member in server.channels.get(channel, {}).values():
        member.push([b"message", channel, data])
        reached += 1
    for pattern, members in server.patterns.items():
        if matches(pattern, channel):
            for member in members.values():
                member.push([b"pmessage", pattern, channel, data])
                reached += 1
    return reached


@command("PUBSUB CHANNELS", -2, LOADING)
def pubsub_channels(client: Client, args: Args) -> Reply:
    if len(args) > 3:
        raise CommandError(
            f"ERR unknown subcommand or wrong number of arguments for "
            f"'{args[1].decode(errors='replace')}'. Try PUBSUB HELP."
        )
    names = list(client.server.channels)
    return [name for name in names if len(args) == 2 or matches(args[2], name)]


@command("PUBSUB NUMSUB", -2, LOADING)
def pubsub_numsub(client: Client, args: Args) -> Reply:
    answer: list[Reply] = []
    for name in args[2:]:
        answer += [name, len(client.server.channels.get(name, {}))]
    return answer


@command("PUBSUB NUMPAT", 2, LOADING)
def pubsub_numpat(client: Client, _args: Args) -> Reply:
    return len(client.server.patterns)
