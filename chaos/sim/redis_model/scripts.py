"""EVAL, EVALSHA and SCRIPT: scripts run whole, at one instant, by the server's own language.

    EVALSHA ──► compiled script ──► sandbox ──redis.call──► the same commands, nothing queued
                                       │                    bytes | numbers | tables
                                       └─► reply: numbers cut to integers, false is nil,
                                           a list ends before its first nil

A compiled script is kept for the whole process, for many models run the same few; which of them a
server knows is its own affair.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from .client import Client
from .command import COMMANDS, NO_SCRIPT, Args, Command, command, find
from .numerals import INTEGER_MAX, INTEGER_MIN, integer, written
from .replies import OK, CommandError, Reply, Status, Unmodelled, as_exception
from .sandbox import ELSEWHERE, PRELUDE

if TYPE_CHECKING:
    from .model import RedisModel

NO_SUCH_SCRIPT = "NOSCRIPT No matching script."
LIST_AT_ONCE_MAX = 5_000  # more values than Lua's stack takes go in one by one


class Scripts:
    """The scripts that one server knows, and the client as which they act."""

    def __init__(self, server: RedisModel) -> None:
        self._server = server
        self._known: dict[bytes, Any] = {}
        self._client = Client(server, 0, server.keyspaces[0], lambda _: None)
        self._client.may_block = False

    def load(self, source: bytes) -> bytes:
        """Compile a script and know it from now on; its digest.

        Raises:
            CommandError: it does not compile.
        """
        digest = _digest(source)
        if digest not in self._known:
            self._known[digest] = _compiled(source)
        return digest

    def knows(self, digest: bytes) -> bool:
        """Whether EVALSHA would find this script."""
        return digest.lower() in self._known

    def flush(self) -> None:
        """Forget them all."""
        self._known.clear()

    def run(self, caller: Client, digest: bytes, args: Args) -> Reply:
        """Run a script with `numkeys key … arg …`.

        Raises:
            CommandError: there is none, the arguments are wrong, or it ended with an error.
        """
        key_count = _key_count(args)
        script = self._known.get(digest)
        if script is None:
            raise CommandError(NO_SUCH_SCRIPT)
        self._client.keys = caller.keys
        lua = _lua()
        lua.host.client = self._client
        try:
            ok, answer = _outcome(lua.run(script, key_count, *args[1:]))
        finally:
            lua.host.client = None
        if not ok:
            raise CommandError(_text(answer))
        return _reply(answer)


def _key_count(args: Args) -> int:
    count = integer(args[0])
    if count > len(args) - 1:
        raise CommandError("ERR Number of keys can't be greater than number of args")
    if count < 0:
        raise CommandError("ERR Number of keys can't be negative")
    return count


@command("EVAL", -3, NO_SCRIPT)
def eval_(client: Client, args: Args) -> Reply:
    _key_count(args[2:])
    scripts = client.server.scripts
    return scripts.run(client, scripts.load(args[1]), args[2:])


@command("EVALSHA", -3, NO_SCRIPT)
def evalsha(client: Client, args: Args) -> Reply:
    return client.server.scripts.run(client, args[1].lower(), args[2:])


@command("SCRIPT LOAD", 3, NO_SCRIPT)
def script_load(client: Client, args: Args) -> Reply:
    return client.server.scripts.load(args[2])


@command("SCRIPT EXISTS", -3, NO_SCRIPT)
def script_exists(client: Client, args: Args) -> Reply:
    return [int(client.server.scripts.knows(digest)) for digest in args[2:]]


@command("SCRIPT FLUSH", -2, NO_SCRIPT)
def script_flush(client: Client, args: Args) -> Reply:
    if len(args) > 3 or (len(args) == 3 and args[2].upper() not in (b"SYNC", b"ASYNC")):
        raise CommandError("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
    client.server.scripts.flush()
    return OK


# --- Lua ------------------------------------------------------------------------------------------


class _Lua:
    """The one Lua state of this process."""

    def __init__(self) -> None:
        from lupa import lua51

        runtime = lua51.LuaRuntime(encoding=None, unpack_returned_tuples=True, register_eval=False)
        self.host = _Host()
        self.table_from = runtime.table_from
        self.type_of: Callable[[Any], str | None] = lua51.lua_type
        exports = runtime.execute(PRELUDE, self.host.exports(runtime), ELSEWHERE)
        self.compile, self.run, self.open, self.list, self.single = exports


@cache
def _lua() -> _Lua:
    return _Lua()


@lru_cache(maxsize=512)
def _digest(source: bytes) -> bytes:
    return hashlib.sha1(source).hexdigest().encode()  # noqa: S324 - SCRIPT LOAD's own digest


@lru_cache(maxsize=512)
def _compiled(source: bytes) -> Any:
    if source.startswith(b"#!"):
        raise Unmodelled("ERR Could not find the engine", "script with a #! line")
    compiled = _lua().compile(source)
    if isinstance(compiled, tuple) and compiled[0] is None:
        text = compiled[1].decode(errors="replace")
        raise CommandError(f"ERR Error compiling script (new function): {text}")
    return compiled[0] if isinstance(compiled, tuple) else compiled


def _outcome(answer: Any) -> tuple[bool, Any]:
    """Whether a script ended well, and its first value."""
    if isinstance(answer, tuple):
        return answer[0], answer[1] if len(answer) > 1 else None
    return answer, None


def _text(answer: bytes) -> str:
    """An error line: one line, whatever the script put into it."""
    return answer.decode(errors="replace").replace("\r", " ").replace("\n", " ")


def _reply(value: Any) -> Reply:
    """What a client reads of a value that a script returned."""
    if value is None or type(value) is bytes:
        return value
    if type(value) is bool:
        return 1 if value else None
    if type(value) in (int, float):
        return _cut(value)
    if _lua().type_of(value) == "table":
        return _reply_of_table(value)
    return None


def _cut(value: float) -> int:
    """A number without its fraction; what does not fit 64 bits becomes the lowest integer."""
    if math.isnan(value) or not INTEGER_MIN <= value <= INTEGER_MAX:
        return INTEGER_MIN
    return int(value)


def _reply_of_table(table: Any) -> Reply:
    opened = _lua().open(table)
    kind, *items = opened if isinstance(opened, tuple) else (opened,)
    if kind == 1:
        return as_exception(_text(items[0]))
    if kind == 2:
        return Status(items[0].replace(b"\r", b" ").replace(b"\n", b" "))
    if kind == 3:
        raise Unmodelled("ERR syntax error", "RESP3 tables returned by scripts")
    if kind == 4:
        items = [table[place] for place in range(1, items[0] + 1)]
    return [_reply(item) for item in items]


def _to_lua(reply: Reply) -> Any:
    """What a script sees of a reply."""
    kind = type(reply)
    if kind is int or kind is bytes:
        return reply
    if reply is None:
        return False
    if kind is Status:
        return _lua().single(b"ok", bytes(reply))
    if kind is list:
        items = [_to_lua(item) for item in reply]
        return _lua().list(*items) if len(items) < LIST_AT_ONCE_MAX else _lua().table_from(items)
    return reply


class _Host:
    """What the sandbox calls: `redis.call` and its relatives, for the script that runs now."""

    def __init__(self) -> None:
        self.client: Client | None = None

    def exports(self, runtime: Any) -> Any:
        """The table of these functions."""
        names = ("call", "pcall", "sha1hex", "log", "error_reply", "status_reply", "setresp",
                 "missing", "text_of")  # fmt: skip
        return runtime.table_from({name.encode(): getattr(self, name) for name in names})

    def call(self, *args: Any) -> Any:
        """Run a command; its error ends the script unless `pcall` catches it."""
        client = self.client
        assert client is not None
        command_, words = self._command(args)
        reply = client.server.perform(client, command_, words)
        kind = type(reply)
        return reply if kind is bytes or kind is int else _to_lua(reply)

    def pcall(self, *args: Any) -> Any:
        """Run a command; its error is a table."""
        try:
            return self.call(*args)
        except Unmodelled as error:
            self._note(error)
            return _lua().single(b"err", error.text.encode())
        except CommandError as error:
            return _lua().single(b"err", error.text.encode())

    def _command(self, args: tuple[Any, ...]) -> tuple[Command, Args]:
        if not args:
            raise CommandError("ERR Please specify at least one argument for this call")
        words = tuple([arg if type(arg) is bytes else _word(arg) for arg in args])
        found = COMMANDS.get(words[0])
        if found is None or not found.takes(len(words)):
            found = _found_in_script(words)
        if found.flags & NO_SCRIPT:
            raise CommandError("ERR This Valkey command is not allowed from script")
        if self.client is not None:
            self.client.server.refusals.check_flags(found.flags)
        return found, words

    def sha1hex(self, *args: Any) -> bytes:
        """The SHA-1 of a text."""
        if len(args) != 1:
            raise CommandError("ERR wrong number of arguments")
        return _digest(args[0] if type(args[0]) is bytes else _word(args[0]))

    def log(self, *args: Any) -> None:
        """Write to the server's log: nowhere, here."""
        if len(args) < 2:
            raise CommandError("ERR server.log() requires two arguments or more.")
        if args[0] not in (0, 1, 2, 3):
            raise CommandError("ERR Invalid log level.")

    def error_reply(self, *args: Any) -> Any:
        """A table that stands for an error; without a code word it gets ERR."""
        if len(args) != 1 or type(args[0]) is not bytes:
            return _lua().single(b"err", b"ERR wrong number or type of arguments")
        text = args[0].removeprefix(b"-")
        return _lua().single(b"err", text if b" " in text else b"ERR " + text)

    def status_reply(self, *args: Any) -> Any:
        """A table that stands for a status."""
        if len(args) != 1 or type(args[0]) is not bytes:
            return _lua().single(b"err", b"ERR wrong number or type of arguments")
        return _lua().single(b"ok", args[0])

    def setresp(self, *args: Any) -> None:
        """Choose the protocol that replies are read in: only the usual one is modelled."""
        if args != (2,):
            self.missing(b"redis.setresp(3)")

    def missing(self, name: bytes) -> None:
        """A script wants what the server has and this model has not."""
        what = f"{name.decode(errors='replace')} for scripts"
        error = Unmodelled(f"ERR {what} is not modelled", what)
        self._note(error)
        raise error

    def _note(self, error: Unmodelled) -> None:
        if self.client is not None:
            self.client.server.note_missing(error)

    def text_of(self, failure: Any) -> bytes:
        """The error line of what a call of this class raised."""
        if isinstance(failure, Unmodelled):
            self._note(failure)
        return str(getattr(failure, "text", failure)).encode()


def _word(arg: Any) -> bytes:
    """A number as `redis.call` passes it on."""
    if type(arg) is int:
        return b"%d" % arg
    if type(arg) is float:
        return b"-nan" if math.isnan(arg) else written(arg)
    raise CommandError("ERR Command arguments must be strings or integers")


def _found_in_script(words: Args) -> Command:
    try:
        return find(words)
    except Unmodelled as error:
        raise Unmodelled("ERR Unknown command called from script", error.what) from None
    except CommandError:
        text = "ERR Wrong number of args calling command from script"
        raise CommandError(text) from None
