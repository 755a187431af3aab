"""The network between hosts and the simulated Redis: two hops for each command, and the rules.

    client ── request hop ──► server: model.execute ── reply hop ──► client
              Rules.on_request                         Rules.on_reply

Each hop takes a latency from the tape, by name; on one connection messages keep their order each
way. What is written in one piece arrives in one piece, and replies that come out of one step of the
server leave together, as on a socket. Nothing is lost on a connection that stays open: a lost
request or reply breaks it, and each end learns of that after a hop of its own, so that the server
may still hand a job to a client that is gone.

All of it happens in nobody's name, as in the kernels of the hosts: a paused host finds its replies
when it goes on; a paused server still accepts connections, and finds the requests on them. A
partition holds messages back, and they come through when it ends: TCP sends them again (how long
after the end, is a latency from the tape here, not TCP's own growing intervals).

It holds no clock and draws nothing by itself. Of redis-py it knows the errors that the model makes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

from chaos.links import CONNECT, PUSH, Fate, Outcome, Passing, Rule, Rules, Selection
from chaos.sim.link import Args, Link, Reply
from chaos.sim.redis_model.replies import as_exception
from chaos.sim.tape import Name, Tape

_CLOSE = "(close)"
_WRONG = (b"GET",)  # too few arguments: an error to the server, and it breaks a transaction
_SUBSCRIBES = (b"SUBSCRIBE", b"PSUBSCRIBE", b"SSUBSCRIBE")
_REPLACE = (Outcome.CUT, Outcome.REFUSE)


class Kernel(Protocol):
    """Virtual time, and callbacks in it.

    Attributes:
        time_us: the virtual time.
    """

    time_us: int

    def call_at(
        self, time_us: int, host: str | None, callback: Callable[..., Any], *args: Any
    ) -> object:
        """Call back then, in nobody's name (host None); at one time in the order of the calls."""


class Model(Protocol):
    """The simulated server (`chaos.sim.redis_model.RedisModel`, whose words these are)."""

    def connect(self, deliver: Callable[[Reply], None]) -> int: ...
    def execute(self, client: int, args: Args) -> None: ...
    def disconnect(self, client: int) -> None: ...
    def next_deadline_us(self) -> int | None: ...
    def advance(self) -> None: ...


class _Dice:
    """Dice for one message and one rule, from the tape."""

    __slots__ = ("_name", "_tape")

    def __init__(self, tape: Tape, name: Name) -> None:
        self._tape = tape
        self._name = name

    def happens(self, share: float) -> bool:
        return self._tape.happens((*self._name, "happens"), share)

    def between_us(self, low_us: int, high_us: int) -> int:
        return low_us + self._tape.choose((*self._name, "extra"), high_us - low_us + 1)


class Network:
    """Every link of a run, the rules that stand, and the server's end of it all.

    Args:
        kernel: virtual time.
        model: the server.
        tape: where latencies and the dice of rules come from.
    """

    def __init__(self, kernel: Kernel, model: Model, tape: Tape) -> None:
        self._kernel = kernel
        self._model = model
        self._tape = tape
        self._rules = Rules()
        self._ruled = False
        self.next_number: Callable[[], int] = itertools.count(1).__next__  # of connection objects
        self._links: dict[str, Link] = {}
        self._opened: dict[str, int] = {}
        self._hung_up_us: dict[str, int] = {}  # when the last close of a host arrives
        self._dirty: list[Link] = []
        self._wake_us: int | None = None
        self._paused: list[tuple[Callable[..., None], tuple[Any, ...]]] | None = None
        self._up = True
        self._over = False

    def open(self, host: str) -> Link:
        """A new connection of a host (its full name), not connected yet."""
        number = self._opened[host] = self._opened.get(host, 0) + 1
        link = Link(f"{host.rpartition('/')[2]}/c{number}", host, self)
        self._links[link.name] = link
        return link

    def links(self) -> tuple[Link, ...]:
        """The connections that the server has or will have, in the order of their opening."""
        return tuple(self._links.values())

    def close(self) -> None:
        """The run is over: nothing is sent any more."""
        self._over = True
        for link in self._links.values():
            link.abandoned = True
        self._links.clear()

    # --- faults -----------------------------------------------------------------------------------

    def add_rule(self, rule: Rule) -> int:
        """Let a rule stand for every message that is sent from now on; its handle."""
        self._ruled = True
        return self._rules.add(rule)

    def remove_rule(self, handle: int) -> None:
        """End a rule; what it alone held is sent now. No error if it does not stand."""
        if not self._rules.remove(handle):
            return
        self._ruled = bool(self._rules)
        for link in self.links():
            requests, link.held_requests = link.held_requests, []
            replies, link.held_replies = link.held_replies, []
            for name, names, arrive, args in requests:
                self._send(link, name, names, arrive, args)
            for name, names, arrive, args in replies:
                self._answer(link, name, names, arrive, args)

    def cut(self, which: Selection, stream: Random) -> int:
        """Break the open connections of these hosts, `which.share` of them; how many."""
        chosen = [
            link
            for link in self.links()
            if not link.broken and which.matches(Passing(link.host, ""))
            if which.share >= 1 or stream.random() < which.share
        ]
        for link in chosen:
            self._break(link)
        return len(chosen)

    def crash(self, host: str) -> None:
        """A client's host is gone: its kernel closes its connections, and nothing of it runs."""
        for link in self.links():
            if link.host == host and not link.abandoned:
                self.hang_up(link)
                link.abandoned = True

    def pause_server(self) -> None:
        """The server process stands still."""
        if self._paused is None:
            self._paused = []

    def resume_server(self) -> None:
        """It goes on, with what has arrived meanwhile. No error if it was not paused."""
        waiting, self._paused = self._paused or [], None
        for arrive, args in waiting:
            arrive(*args)

    def stop_server(self) -> None:
        """The server process ends: its connections are closed, and new ones are refused."""
        self._up = False
        self._paused = None
        for link in self.links():
            if link.client:
                self._forget(link)
                self._answer(link, (link.name, "closed"), (_CLOSE,), link.ended, ())

    def start_server(self) -> None:
        """The server listens again."""
        self._up = True

    # --- from the client --------------------------------------------------------------------------

    def dial(self, link: Link) -> None:
        """Ask the server for a connection."""
        self._send(link, self._next_request(link), (CONNECT,), self._arrive_call, (link,))

    def request(self, link: Link, commands: list[Args]) -> None:
        """Send commands, in one piece."""
        names = tuple(args[0].decode().upper() for args in commands) if self._ruled else ()
        link.sent += 1
        name = (link.name, link.sent, "request")
        self._send(link, name, names, self._arrive_commands, (link, commands))

    def hang_up(self, link: Link) -> None:
        """Tell the server that the client has closed the connection.

        What the host sends afterwards on other connections goes the same way, behind it. If it
        could overtake the close, the server would hand what a stopping worker puts back to a
        blocked command that this very worker gave up before, several times in each deploy. On a
        real network one host's packets keep their order but for losses, so that hardly happens.
        """
        if not self._over:
            self._send(link, self._next_request(link), (_CLOSE,), self._arrive_close, (link,))
            self._hung_up_us[link.host] = link.sent_us

    def _next_request(self, link: Link) -> Name:
        link.sent += 1
        return (link.name, link.sent, "request")

    def _send(
        self,
        link: Link,
        name: Name,
        names: Sequence[str],
        arrive: Callable[..., None],
        args: tuple[Any, ...],
    ) -> None:
        """Decide what becomes of a request, and let it arrive with its fates."""
        at_us = self._kernel.time_us + self._tape.draw_latency_us(name)
        fates: tuple[Fate, ...] = ()
        if self._ruled or link.held_requests:
            fates = self._decide(self._rules.on_request, link, name, names)
            if link.held_requests or _is_held(fates):
                link.held_requests.append((name, names, arrive, args))
                return
            at_us += _delay_us(fates)
        link.sent_us = max(link.sent_us, at_us, self._hung_up_us.get(link.host, 0))
        self._kernel.call_at(link.sent_us, None, arrive, *args, fates)

    # --- at the server ----------------------------------------------------------------------------

    def _arrive_call(self, link: Link, fates: Sequence[Fate]) -> None:
        if link.broken or link.abandoned:
            return
        outcome = fates[0].outcome if fates else Outcome.PASS
        if outcome is Outcome.CUT:
            self._break(link)
        elif outcome is Outcome.REFUSE or not self._up:
            self._links.pop(link.name, None)
            self._answer(link, self._next_reply(link), (CONNECT,), link.refused, ())
        else:
            link.client = self._model.connect(self._delivery(link))
            self._answer(link, self._next_reply(link), (CONNECT,), link.accepted, ())

    def _arrive_commands(self, link: Link, commands: list[Args], fates: Sequence[Fate]) -> None:
        if self._paused is not None:
            self._paused.append((self._arrive_commands, (link, commands, fates)))
            return
        if link.broken or not link.client:
            return
        for place, args in enumerate(commands):
            if fates and fates[place].outcome in _REPLACE:
                self._break(link)
                break
            if args[0] in _SUBSCRIBES:
                link.subscribed = True
            if not link.subscribed:
                link.asked.append(args[0])
            if fates and fates[place].outcome is Outcome.ERROR:
                link.standing_in = as_exception(fates[place].error)
                self._model.execute(link.client, _WRONG)
            else:
                self._model.execute(link.client, args)
        self._after_a_step()

    def _arrive_close(self, link: Link, _: Sequence[Fate] = ()) -> None:
        """The server learns that a connection is gone."""
        if self._paused is not None:
            self._paused.append((self._arrive_close, (link,)))
            return
        self._forget(link)

    def _forget(self, link: Link) -> None:
        if link.client:
            self._model.disconnect(link.client)
            link.client = 0
        link.asked.clear()
        self._links.pop(link.name, None)

    def _delivery(self, link: Link) -> Callable[[Reply], None]:
        """What the model gives the replies of this connection to."""

        def deliver(reply: Reply) -> None:
            if link.standing_in is not None:
                reply, link.standing_in = link.standing_in, None
            if not link.outbox:
                self._dirty.append(link)
            link.outbox.append(reply)

        return deliver

    def _after_a_step(self) -> None:
        """Send what the step gave to anybody, and see to it that blocked commands time out."""
        if self._dirty:
            dirty, self._dirty = self._dirty, []
            for link in dirty:
                self._flush(link)
        deadline_us = self._model.next_deadline_us()
        if deadline_us is not None and (self._wake_us is None or deadline_us < self._wake_us):
            self._wake_us = deadline_us
            self._kernel.call_at(deadline_us, None, self._time_out, deadline_us)

    def _time_out(self, deadline_us: int) -> None:
        if self._paused is not None:
            self._paused.append((self._time_out, (deadline_us,)))
            return
        if self._wake_us == deadline_us:
            self._wake_us = None
        self._model.advance()
        self._after_a_step()

    # --- to the client ----------------------------------------------------------------------------

    def _flush(self, link: Link) -> None:
        replies, link.outbox = link.outbox, []
        asked = link.asked
        names: list[str] = []
        for _ in replies:
            name = asked.popleft() if asked else b""
            if self._ruled:
                names.append(name.decode().upper() if name else PUSH)
        self._answer(link, self._next_reply(link), names, link.receive, (replies,))

    def _next_reply(self, link: Link) -> Name:
        link.answered += 1
        return (link.name, link.answered, "reply")

    def _answer(
        self,
        link: Link,
        name: Name,
        names: Sequence[str],
        arrive: Callable[..., None],
        args: tuple[Any, ...],
    ) -> None:
        """Decide what becomes of what the server sends, and let it arrive."""
        if link.broken or link.abandoned:
            return
        at_us = self._kernel.time_us + self._tape.draw_latency_us(name)
        if self._ruled or link.held_replies:
            fates = self._decide(self._rules.on_reply, link, name, names)
            if link.held_replies or _is_held(fates):
                link.held_replies.append((name, names, arrive, args))
                return
            if any(fate.outcome is not Outcome.PASS for fate in fates):
                self._break(link)
                return
            at_us += _delay_us(fates)
        link.answered_us = max(link.answered_us, at_us)
        self._kernel.call_at(link.answered_us, None, arrive, *args)

    # --- both ways --------------------------------------------------------------------------------

    def _break(self, link: Link) -> None:
        """Cut a connection in the middle: both ends learn of it, each after a hop."""
        if link.broken:
            return
        link.broken = True
        link.held_requests.clear()
        link.held_replies.clear()
        now_us = self._kernel.time_us
        for end, learn in (("client", link.reset), ("server", self._arrive_close)):
            at_us = now_us + self._tape.draw_latency_us((link.name, "cut", end))
            args = (link,) if end == "server" else ()
            self._kernel.call_at(at_us, None, learn, *args)

    def _decide(
        self,
        decide: Callable[[Passing, Callable[[str], _Dice]], Fate],
        link: Link,
        name: Name,
        names: Sequence[str],
    ) -> tuple[Fate, ...]:
        """The fate of each command or reply of one message."""
        fates = []
        for place, command in enumerate(names):
            passing = Passing(link.host, command)
            fates.append(decide(passing, self._throw((*name, place))))
        return tuple(fates)

    def _throw(self, name: Name) -> Callable[[str], _Dice]:
        """The dice of one command, for whichever rule asks."""
        return lambda rule: _Dice(self._tape, (*name, rule))


def _is_held(fates: Sequence[Fate]) -> bool:
    return any(fate.outcome is Outcome.HOLD for fate in fates)


def _delay_us(fates: Sequence[Fate]) -> int:
    return max((fate.delay_us for fate in fates), default=0)
