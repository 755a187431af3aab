"""Commands about the server and the connection: INFO, PING, SELECT, HELLO, AUTH, CLIENT, TIME."""

from __future__ import annotations

from . import transactions
from .client import Client
from .command import IMMEDIATE, IN_PUBSUB, LOADING, NO_SCRIPT, Args, command
from .numerals import integer
from .pubsub import unsubscribe_all
from .replies import OK, PONG, CommandError, Reply, Status, Unmodelled, wrong_arity

_AUTH_ALONE = (
    "ERR AUTH <password> called without any password configured for the default user. Are you sure "
    "your configuration is correct?"
)
_SECTIONS = ("server", "clients", "memory", "persistence", "stats", "replication", "keyspace")
_ALL_SECTIONS = (b"all", b"default", b"everything")


@command("PING", -1, IN_PUBSUB)
def ping(client: Client, args: Args) -> Reply:
    if len(args) > 2:
        raise wrong_arity("ping")
    if client.channels or client.patterns:
        return [b"pong", args[1] if len(args) == 2 else b""]
    return args[1] if len(args) == 2 else PONG


@command("ECHO", 2, LOADING)
def echo(_client: Client, args: Args) -> Reply:
    return args[1]


@command("SELECT", 2, LOADING)
def select(client: Client, args: Args) -> Reply:
    number = integer(args[1])
    if not 0 <= number < len(client.server.keyspaces):
        raise CommandError("ERR DB index is out of range")
    client.keys = client.server.keyspaces[number]
    return OK


@command("TIME", 1, LOADING)
def time_(client: Client, _args: Args) -> Reply:
    now_us = client.server.epoch_us + client.server.now_us()
    return [b"%d" % (now_us // 1_000_000), b"%d" % (now_us % 1_000_000)]


@command("AUTH", -2, NO_SCRIPT | LOADING)
def auth(_client: Client, args: Args) -> Reply:
    if len(args) > 3:
        raise CommandError("ERR syntax error")
    if len(args) == 2:
        raise CommandError(_AUTH_ALONE)
    _check_user(args[1])
    return OK


def _check_user(name: bytes) -> None:
    """The one user needs no password, so every password is right."""
    if name != b"default":
        raise CommandError("WRONGPASS invalid username-password pair or user is disabled.")


@command("HELLO", -1, NO_SCRIPT | LOADING)
def hello(client: Client, args: Args) -> Reply:
    if len(args) > 1:
        _check_protocol(args[1])
    name = _hello_options(args[2:])
    if name is not None:
        client.name = name
    return [
        b"server", b"redis", b"version", client.server.version.encode(), b"proto", 2,
        b"id", client.number, b"mode", b"standalone", b"role", b"master", b"modules", [],
    ]  # fmt: skip


def _check_protocol(text: bytes) -> None:
    version = integer(text, "ERR Protocol version is not an integer or out of range")
    if version == 3:
        raise Unmodelled("NOPROTO unsupported protocol version", "HELLO 3 (RESP3)")
    if version != 2:
        raise CommandError("NOPROTO unsupported protocol version")


def _hello_options(words: Args) -> bytes | None:
    """The name of SETNAME, after a look at AUTH."""
    name = None
    rest = list(words[::-1])
    while rest:
        option = rest.pop()
        if option.upper() == b"AUTH" and len(rest) >= 2:
            _check_user(rest.pop())
            rest.pop()
        elif option.upper() == b"SETNAME" and rest:
            name = _checked(rest.pop(), "Client names")
        else:
            shown = option.decode(errors="replace")
            raise CommandError(f"ERR Syntax error in HELLO option '{shown}'")
    return name


@command("RESET", 1, NO_SCRIPT | LOADING | IMMEDIATE | IN_PUBSUB)
def reset(client: Client, _args: Args) -> Reply:
    transactions.end(client)
    unsubscribe_all(client)
    client.keys = client.server.keyspaces[0]
    client.name = b""
    return Status(b"RESET")


# --- CLIENT ---------------------------------------------------------------------------------------


@command("CLIENT ID", 2, NO_SCRIPT | LOADING)
def client_id(client: Client, _args: Args) -> Reply:
    return client.number


@command("CLIENT GETNAME", 2, NO_SCRIPT | LOADING)
def client_getname(client: Client, _args: Args) -> Reply:
    return client.name or None


@command("CLIENT SETNAME", 3, NO_SCRIPT | LOADING)
def client_setname(client: Client, args: Args) -> Reply:
    client.name = _checked(args[2], "Client names")
    return OK


@command("CLIENT SETINFO", 4, NO_SCRIPT | LOADING)
def client_setinfo(_client: Client, args: Args) -> Reply:
    option = args[2].lower()
    if option not in (b"lib-name", b"lib-ver"):
        raise CommandError(f"ERR Unrecognized option '{args[2].decode(errors='replace')}'")
    _checked(args[3], option.decode())
    return OK


def _checked(text: bytes, what: str) -> bytes:
    if any(not 33 <= byte <= 126 for byte in text):
        raise CommandError(f"ERR {what} cannot contain spaces, newlines or special characters.")
    return text


@command("CLIENT NO-EVICT", 3, NO_SCRIPT | LOADING)
def client_no_evict(_client: Client, args: Args) -> Reply:
    return _on_or_off(args[2])


@command("CLIENT NO-TOUCH", 3, NO_SCRIPT | LOADING)
def client_no_touch(_client: Client, args: Args) -> Reply:
    return _on_or_off(args[2])


def _on_or_off(word: bytes) -> Reply:
    if word.upper() not in (b"ON", b"OFF"):
        raise CommandError("ERR syntax error")
    return OK


# --- INFO -----------------------------------------------------------------------------------------


@command("INFO", -1, LOADING)
def info(client: Client, args: Args) -> Reply:
    """The sections asked for, or all. Figures that only a real server has are left out."""
    asked = tuple(word.lower() for word in args[1:])
    is_all = not asked or any(word in _ALL_SECTIONS for word in asked)
    shown = [name for name in _SECTIONS if is_all or name.encode() in asked]
    return "\r\n".join([_section(client, name) for name in shown]).encode()


def _section(client: Client, name: str) -> str:
    lines = [f"{field}:{value}" for field, value in _fields(client, name).items()]
    return "\r\n".join([f"# {name.capitalize()}", *lines, ""])


def _fields(client: Client, section: str) -> dict[str, str | int]:
    server = client.server
    if section == "server":
        return {
            "redis_version": server.version,
            "redis_mode": "standalone",
            "uptime_in_seconds": (server.now_us() - server.started_us) // 1_000_000,
        }
    if section == "clients":
        return {"connected_clients": len(server.clients), "blocked_clients": server.waiting.count}
    if section == "memory":
        return {"maxmemory": 0, "maxmemory_policy": "noeviction"}
    if section == "persistence":
        return {"loading": int(server.refusals.loading)}
    if section == "stats":
        return {"total_commands_processed": server.commands_done}
    if section == "replication":
        return {"role": "slave" if server.refusals.read_only else "master", "connected_slaves": 0}
    return _keyspace_fields(client)


def _keyspace_fields(client: Client) -> dict[str, str | int]:
    fields: dict[str, str | int] = {}
    for keyspace in client.server.keyspaces:
        keyspace.purge()
        if keyspace.values:
            counts = f"keys={len(keyspace.values)},expires={len(keyspace.expires)},avg_ttl=0"
            fields[f"db{keyspace.number}"] = counts
    return fields
