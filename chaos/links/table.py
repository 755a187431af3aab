"""The rules that stand now, and the one fate that they give a message together.

Delays add up. Of the other outcomes the one of the rule that stands longest counts. A rule that is
about a message throws its dice whatever the others say, so that taking one rule away does not move
the draws of another.
"""

from __future__ import annotations

from collections.abc import Callable

from chaos.links.fate import PASS, Fate, Outcome
from chaos.links.rule import Dice, Passing, Rule

Throw = Callable[[str], Dice]


class Rules:
    """Rules by the handle under which they were added, oldest first."""

    def __init__(self) -> None:
        self._rules: dict[int, Rule] = {}
        self._last = 0

    def __bool__(self) -> bool:
        return bool(self._rules)

    def add(self, rule: Rule) -> int:
        """Let a rule stand from now on; its handle."""
        self._last += 1
        self._rules[self._last] = rule
        return self._last

    def remove(self, handle: int) -> bool:
        """End a rule; whether it still stood."""
        return self._rules.pop(handle, None) is not None

    def on_request(self, passing: Passing, throw: Throw) -> Fate:
        """The fate of a request; `throw` gives the dice for the rule of that name."""
        fates = [rule.on_request(passing, throw(rule.name)) for rule in self._rules.values()]
        return _together(fates)

    def on_reply(self, passing: Passing, throw: Throw) -> Fate:
        """The fate of a reply."""
        fates = [rule.on_reply(passing, throw(rule.name)) for rule in self._rules.values()]
        return _together(fates)


def _together(fates: list[Fate]) -> Fate:
    """One fate out of those of all rules."""
    delay_us = sum(fate.delay_us for fate in fates)
    for fate in fates:
        if fate.outcome is not Outcome.PASS:
            return Fate(fate.outcome, delay_us, fate.error)
    return Fate(delay_us=delay_us) if delay_us else PASS
