"""Random scripts: saq's own with fitting keys, and small ones of calls and odd return values."""

from __future__ import annotations

import hashlib
from random import Random

from . import collection_commands, data_commands
from .data_commands import Made, exact
from .program import Args, Mode
from .saq_scripts import KnownScript
from .vocabulary import ITEMS, KEYS, LISTS, some

_MAKERS = (
    data_commands.get, data_commands.set_, data_commands.count, data_commands.several,
    data_commands.expire, data_commands.of_any_type, collection_commands.push,
    collection_commands.pop, collection_commands.read_list, collection_commands.change_list,
    collection_commands.move, collection_commands.block, collection_commands.zadd,
    collection_commands.change_zset, collection_commands.read_zset, collection_commands.zrange,
    collection_commands.zrange_by_score,
)  # fmt: skip
_RETURNS = (
    "1", "1.9", "-1.9", "'text'", "nil", "false", "true", "{}", "{1, nil, 3}", "{1, false, 'a'}",
    "{1, {2, {'x'}}, true}", "{ok = 'FINE'}", "{err = 'ODD thing'}", "{err = 'odd'}", "KEYS",
    "ARGV", "#KEYS + #ARGV", "KEYS[1]", "ARGV[1]", "ARGV[9]", "redis.error_reply('My bad')",
    "redis.error_reply('bad')", "redis.status_reply('FINE')", "{redis.error_reply('x y'), 1}",
    "redis.sha1hex('a')", "tonumber('12') + 0.5", "tostring(1.5)", "{a = 1}", "2^53", "1e15",
    "string.format('%d-%s', 3, 'x')", "math.floor(2.7)", "select('#', 1, 2)", "{unpack({1, 2, 3})}",
    "{tonumber('a') == nil, type({}), type(nil)}", "redis.setresp(2)", "redis.log(1, 'x')",
)  # fmt: skip
_WRONG = (
    "return nosuch", "nosuch = 1", "error('odd')", "error({err = 'ODD one'})",
    "return redis.call()", "return redis.call('NOSUCH')", "return redis.call('GET')",
    "return redis.pcall('GET')",
    "return redis.call('MULTI')", "return redis.call('SUBSCRIBE', 'c1')", "local a = {} a.b.c = 1",
    "return redis.call({})", "return redis.pcall('SET', KEYS[1], true)", "assert(false, 'odd')",
    "\n\nreturn redis.call('LPUSH')", "return redis.call('EVAL', 'return 1', '0')",
    "return redis.call('WATCH', 'a')", "return redis.call('CLIENT', 'ID')", "error()",
    "redis.foo = 1", "return redis.call('SELECT', '1')", "return redis.call('PUBLISH', 'c1', 'hi')",
    "return {pcall(redis.call, 'LPUSH')}", "return {pcall(error, 'odd')}", "return _G",
)  # fmt: skip
_BROKEN = ("return (", "x =", "return 1 2", "end", "return 'a")
_LOOPS = (
    """local n = 0
    for i, v in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do n = n + i end
    return n""",
    """local out = {}
    for i, v in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
      out[i] = {v, redis.call('GET', v)}
    end
    return out""",
    """while redis.call('LLEN', KEYS[1]) > 2 do redis.call('LPOP', KEYS[1]) end
    return redis.call('LRANGE', KEYS[1], 0, -1)""",
    """for i = 1, 3 do redis.call('RPUSH', KEYS[1], i) end
    return redis.call('LLEN', KEYS[1])""",
    """local ok = redis.pcall('LPUSH', KEYS[1], ARGV[1])
    if type(ok) == 'table' then return ok.err end
    return ok""",
    """redis.call('SET', KEYS[1], 1.5)
    redis.call('SET', KEYS[1], 10 / 4)
    return redis.call('GET', KEYS[1])""",
    """if redis.call('GET', KEYS[1]) == false then return 'none' end
    return redis.call('TYPE', KEYS[1]).ok""",
)


class Scripts:
    """Makers of script commands; `known` are the texts of the saq under test."""

    def __init__(self, known: tuple[KnownScript, ...]) -> None:
        self._known = known

    def saq(self, draw: Random) -> Made:
        """A script of saq's with keys that fit it."""
        if not self._known:
            return self.small(draw)
        script = draw.choice(self._known)
        keys = [draw.choice(fitting) for fitting in script.keys]
        args = [draw.choice((b"0", b"1", b"2", b"100")) for _ in range(script.arguments)]
        return self._evaluated(draw, script.source, (b"%d" % len(keys), *keys, *args))

    def small(self, draw: Random) -> Made:
        """A script of a line or two."""
        body = self._body(draw).encode()
        keys, args = some(draw, LISTS + KEYS), some(draw, ITEMS)
        count = draw.choice((b"-1", b"9", b"a")) if draw.randrange(30) == 0 else b"%d" % len(keys)
        return self._evaluated(draw, body, (count, *keys, *args))

    def _evaluated(self, draw: Random, source: bytes, rest: Args) -> Made:
        mode = Mode.CODE if source.decode() in _BROKEN else Mode.EXACT
        if draw.randrange(3):
            return (b"EVAL", source, *rest), mode, 0
        return exact(b"EVALSHA", _digest(source), *rest)

    def loading(self, draw: Random) -> Made:
        """SCRIPT LOAD, EXISTS and FLUSH."""
        kind = draw.randrange(8)
        if kind == 0:
            flush: tuple[Args, ...] = ((), (b"SYNC",), (b"ASYNC",), (b"odd",), (b"SYNC", b"a"))
            return exact(b"SCRIPT", b"FLUSH", *draw.choice(flush))
        source = self._source(draw)
        if kind < 3:
            digests = (_digest(source), b"odd", _digest(source).upper())
            return exact(b"SCRIPT", b"EXISTS", *some(draw, digests))
        mode = Mode.CODE if source.decode() in _BROKEN else Mode.EXACT
        return (b"SCRIPT", b"LOAD", source), mode, 0

    def _source(self, draw: Random) -> bytes:
        if self._known and draw.randrange(2):
            return draw.choice(self._known).source
        return self._body(draw).encode()

    def _body(self, draw: Random) -> str:
        kind = draw.randrange(10)
        if kind < 3:
            return f"return {draw.choice(_RETURNS)}"
        if kind == 3:
            return draw.choice(_WRONG)
        if kind == 4:
            return draw.choice(_LOOPS)
        if kind == 5 and draw.randrange(3) == 0:
            return draw.choice(_BROKEN)
        return self._calls(draw)

    def _calls(self, draw: Random) -> str:
        lines = [_call(draw) for _ in range(draw.randrange(3))]
        return " ".join([*lines, f"return {_call(draw)}"])


def _call(draw: Random) -> str:
    args = draw.choice(_MAKERS)(draw)[0]
    words = ", ".join(_quoted(draw, arg) for arg in args)
    return f"redis.{draw.choice(('call', 'call', 'pcall'))}({words})"


def _quoted(draw: Random, arg: bytes) -> str:
    """A word as Lua writes it: small numbers sometimes as numbers, bytes as escapes."""
    if (
        arg.isdigit()
        and len(arg) < 4
        and not (len(arg) > 1 and arg[:1] == b"0")
        and draw.randrange(2)
    ):
        return arg.decode()
    return (
        "'"
        + "".join(chr(c) if 32 <= c < 127 and c not in b"'\\" else f"\\{c:03d}" for c in arg)
        + "'"
    )


def _digest(source: bytes) -> bytes:
    return hashlib.sha1(source).hexdigest().encode()  # noqa: S324 - SCRIPT LOAD's own digest
