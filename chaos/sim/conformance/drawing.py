"""Draws whole programs: each leans towards one theme, so that its commands meet each other."""

from __future__ import annotations

from random import Random

from . import collection_commands as collections
from . import data_commands as data
from . import session_commands as session
from .data_commands import Maker
from .lua_commands import Scripts
from .program import Close, Mode, Pause, Program, Send, Step
from .saq_scripts import KnownScript
from .vocabulary import KEYS

CLIENTS = 4
STEPS_MAX = 30
STEPS_MIN = 5

_STRINGS = (data.get, data.set_, data.set_, data.set_for, data.getex, data.count, data.several)
_EXPIRY = (data.expire, data.expire, data.time_left, data.time_left)
_KEYS = (data.of_any_type, data.listing, data.wrong_scan)
_LISTS = (
    collections.push, collections.push, collections.push, collections.pop, collections.read_list,
    collections.change_list, collections.change_list, collections.lpos, collections.move,
)  # fmt: skip
_BLOCKING = (collections.block, collections.block, collections.push, collections.move)
_ZSETS = (
    collections.zadd, collections.zadd, collections.zadd, collections.change_zset,
    collections.read_zset, collections.zrange, collections.zrange_by_score,
)  # fmt: skip
_TRANSACTIONS = (session.transaction, session.transaction, session.transaction, session.watch)
_PUBSUB = (session.publish, session.publish, session.subscribe, session.unsubscribe, session.pubsub)
_ODD = (session.server, session.unknown)
_CHANGES = (
    data.set_, data.set_for, data.getex, data.count, data.several, data.expire, data.time_left,
    data.of_any_type, collections.push, collections.pop, collections.change_list,
    collections.change_list, collections.move, collections.zadd, collections.change_zset,
)  # fmt: skip
_SOON = (data.set_shortly, data.set_shortly, collections.block_shortly, collections.block_shortly)


class Drawer:
    """Draws programs.

    Args:
        known: the scripts of the saq under test, which some programs run.
        pauses: programs of a hundred in which time passes; each costs a real pause.
    """

    def __init__(self, known: tuple[KnownScript, ...], pauses: int = 5) -> None:
        scripts = Scripts(known)
        lua: tuple[Maker, ...] = (scripts.saq, scripts.small, scripts.small, scripts.loading)
        self._pauses = pauses
        self._themes: tuple[tuple[Maker, ...], ...] = (
            _STRINGS + _EXPIRY + _KEYS,
            _LISTS + _KEYS,
            _BLOCKING + _BLOCKING + _LISTS,
            _BLOCKING + _TRANSACTIONS + _LISTS,
            _BLOCKING + lua + (collections.push, data.of_any_type),
            _ZSETS + _KEYS,
            _TRANSACTIONS + _STRINGS + _EXPIRY,
            _TRANSACTIONS + _ZSETS + _ODD,
            lua,
            lua + _STRINGS + _LISTS + _ZSETS,
            _PUBSUB + _ODD,
            _PUBSUB + _TRANSACTIONS + lua,
            _STRINGS + _EXPIRY + _KEYS + _LISTS + _BLOCKING + _ZSETS + _TRANSACTIONS + lua + _ODD,
        )  # fmt: skip

    def program(self, draw: Random) -> Program:
        """One program, in which nothing that was to end soon is left standing before a pause."""
        makers = draw.choice(self._themes)
        has_pauses = draw.randrange(100) < self._pauses
        if has_pauses:
            makers += _SOON
        steps: list[Step] = []
        for _ in range(draw.randrange(STEPS_MIN, STEPS_MAX + 1)):
            if session.watch in makers and draw.randrange(8) == 0:
                steps += self._watched_change(draw, makers)
            else:
                steps.append(self._step(draw, makers))
        if has_pauses:
            steps.insert(len(steps) // 2, Pause())
            steps.append(Pause())
        return tuple(steps)

    def _watched_change(self, draw: Random, makers: tuple[Maker, ...]) -> list[Step]:
        """A transaction that runs only if what another client did meanwhile changed nothing."""
        client, other = draw.sample(range(CLIENTS), 2)
        args, mode, short = draw.choice(makers + _CHANGES)(draw)
        return [
            Send(client, (b"WATCH", *KEYS)),
            Send(client, (b"MULTI",)),
            Send(other, args, mode, short),
            Send(client, (b"EXEC",)),
        ]

    def _step(self, draw: Random, makers: tuple[Maker, ...]) -> Step:
        client = draw.randrange(CLIENTS)
        if draw.randrange(40) == 0:
            return Close(client)
        args, mode, short = draw.choice(makers)(draw)
        if args == (b"DBSIZE",) and makers[-1] in _SOON:
            args, mode = (b"KEYS", b"*"), Mode.UNORDERED  # a real server counts what has ended
        return Send(client, args, mode, short)
