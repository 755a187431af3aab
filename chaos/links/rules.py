"""The rules there are: latency, a lost reply, a cut, a server that is away, an error reply."""

from __future__ import annotations

from dataclasses import dataclass

from chaos.links.errors import error_text, is_refused
from chaos.links.fate import PASS, Fate, Outcome
from chaos.links.rule import CONNECT, EVERYTHING, PUSH, Dice, Passing, Selection

_CUT = Fate(Outcome.CUT)
_HOLD = Fate(Outcome.HOLD)
_REFUSE = Fate(Outcome.REFUSE)


@dataclass(frozen=True, slots=True)
class Latency:
    """Every message takes longer, each way, by `low_us` to `high_us`."""

    low_us: int
    high_us: int
    which: Selection = EVERYTHING
    name: str = "latency"

    def on_request(self, passing: Passing, dice: Dice) -> Fate:
        return self._slower(passing, dice)

    def on_reply(self, passing: Passing, dice: Dice) -> Fate:
        return self._slower(passing, dice)

    def _slower(self, passing: Passing, dice: Dice) -> Fate:
        if not self.which.takes(passing, dice):
            return PASS
        return Fate(delay_us=dice.between_us(self.low_us, self.high_us))


@dataclass(frozen=True, slots=True)
class LostReply:
    """A command runs, and its connection breaks before the reply is there. Pushes are no reply."""

    which: Selection = EVERYTHING
    name: str = "lost_reply"

    def on_request(self, passing: Passing, dice: Dice) -> Fate:
        return PASS

    def on_reply(self, passing: Passing, dice: Dice) -> Fate:
        if passing.command in (CONNECT, PUSH) or not self.which.takes(passing, dice):
            return PASS
        return _CUT


@dataclass(frozen=True, slots=True)
class CutOff:
    """A connection breaks when a command is sent on it, before the command has run."""

    which: Selection = EVERYTHING
    name: str = "cut"

    def on_request(self, passing: Passing, dice: Dice) -> Fate:
        if passing.command == CONNECT or not self.which.takes(passing, dice):
            return PASS
        return _CUT

    def on_reply(self, passing: Passing, dice: Dice) -> Fate:
        return PASS


@dataclass(frozen=True, slots=True)
class Away:
    """The server cannot be reached.

    `silent`: nothing comes through, and nothing says so (a partition): messages wait for its end.
    Otherwise whoever connects is refused, and what is sent on an open connection breaks it.
    """

    silent: bool = False
    which: Selection = EVERYTHING
    name: str = "redis_away"

    def on_request(self, passing: Passing, dice: Dice) -> Fate:
        if not self.which.takes(passing, dice):
            return PASS
        if self.silent:
            return _HOLD
        return _REFUSE if passing.command == CONNECT else _CUT

    def on_reply(self, passing: Passing, dice: Dice) -> Fate:
        if not self.which.takes(passing, dice):
            return PASS
        if self.silent:
            return _HOLD
        return PASS if passing.command == CONNECT else _CUT


@dataclass(frozen=True, slots=True)
class AnswersWithError:
    """The server answers commands with an error instead of running them.

    Which commands an error is for, is the server's own: see `chaos.links.errors`.
    """

    error: str
    which: Selection = EVERYTHING
    name: str = "redis_error"

    def on_request(self, passing: Passing, dice: Dice) -> Fate:
        if not is_refused(passing.command, self.error) or not self.which.takes(passing, dice):
            return PASS
        return Fate(Outcome.ERROR, error=error_text(self.error))

    def on_reply(self, passing: Passing, dice: Dice) -> Fate:
        return PASS
