"""What becomes of one message on its way between a client and the server."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Outcome(Enum):
    """How a message ends. TCP loses nothing on a connection that stays open: what is lost, is cut.

    PASS: it arrives.
    CUT: the connection breaks here. A request is lost before it ran; a reply is lost after its
        command ran.
    ERROR: the server answers a request with an error and does not run it.
    REFUSE: nobody listens (only of an attempt to connect).
    HOLD: it waits for as long as the rule stands, as packets do that a partition swallows: TCP
        sends them again.
    """

    PASS = auto()
    CUT = auto()
    ERROR = auto()
    REFUSE = auto()
    HOLD = auto()


@dataclass(frozen=True, slots=True)
class Fate:
    """An outcome, and how much longer than usual the message takes.

    Attributes:
        outcome: how it ends.
        delay_us: added to its latency.
        error: of ERROR: the server's own words, `LOADING Redis is loading the dataset in memory`.
    """

    outcome: Outcome = Outcome.PASS
    delay_us: int = 0
    error: str = ""


PASS = Fate()
