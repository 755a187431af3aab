"""The Rule protocol, and what a rule sees: the message that passes, and dice thrown for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from chaos.links.fate import Fate

CONNECT = "(connect)"  # the command name of an attempt to connect
PUSH = "(push)"  # the command name of what the server sends unasked: a message of pub/sub


@dataclass(frozen=True, slots=True)
class Passing:
    """One message on its way.

    Attributes:
        host: full name of the client's host.
        command: the name of the command, or of the one that a reply answers, in upper case;
            CONNECT or PUSH.
    """

    host: str
    command: str


def role_of(host: str) -> str:
    """`worker` for `stock@0.26.3/worker-1.2`."""
    return host.rpartition("/")[2].partition("-")[0]


class Dice(Protocol):
    """Draws for one message and one rule: the same message has the same draws in every replay."""

    def happens(self, share: float) -> bool:
        """True in `share` of all messages."""

    def between_us(self, low_us: int, high_us: int) -> int:
        """A duration from `low_us` to `high_us`, both included."""


class Rule(Protocol):
    """What happens to messages while the rule stands."""

    @property
    def name(self) -> str:
        """What its draws are called."""

    def on_request(self, passing: Passing, dice: Dice) -> Fate:
        """The fate of a request, or of an attempt to connect, as it leaves the client."""

    def on_reply(self, passing: Passing, dice: Dice) -> Fate:
        """The fate of a reply or a push as it leaves the server."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which messages a rule is about.

    Attributes:
        hosts: full names of client hosts; none: every host.
        roles: roles of client hosts (worker, producer); none: every role.
        commands: names in upper case; none: every command, and connecting and pushes too.
        share: how many of the messages that match.
    """

    hosts: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    share: float = 1.0

    def matches(self, passing: Passing) -> bool:
        """Whether it is about this message, its share aside."""
        if self.hosts and passing.host not in self.hosts:
            return False
        if self.roles and role_of(passing.host) not in self.roles:
            return False
        return not self.commands or passing.command in self.commands

    def takes(self, passing: Passing, dice: Dice) -> bool:
        """Whether it is about this message, and the dice say so."""
        if not self.matches(passing):
            return False
        return self.share >= 1 or dice.happens(self.share)


EVERYTHING = Selection()
