"""What can happen to one Redis command or reply on its way: rules as pure objects.

    message ──► Rules.on_request / on_reply ──► Fate ──► the simulated network, or a live proxy

A rule decides from what passes and from dice that are thrown for this very message; it holds no
clock, no connection and no state, so the same rules serve both worlds. Nothing here knows saq,
redis-py or a plan.
"""

from chaos.links.errors import ERRORS, error_text
from chaos.links.fate import PASS, Fate, Outcome
from chaos.links.rule import CONNECT, EVERYTHING, PUSH, Dice, Passing, Rule, Selection
from chaos.links.rules import AnswersWithError, Away, CutOff, Latency, LostReply
from chaos.links.table import Rules

__all__ = [
    "CONNECT",
    "ERRORS",
    "EVERYTHING",
    "PASS",
    "PUSH",
    "AnswersWithError",
    "Away",
    "CutOff",
    "Dice",
    "Fate",
    "Latency",
    "LostReply",
    "Outcome",
    "Passing",
    "Rule",
    "Rules",
    "Selection",
    "error_text",
]
