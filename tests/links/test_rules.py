"""What each rule does to a message, and what several do together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chaos.links import (
    CONNECT,
    ERRORS,
    PASS,
    PUSH,
    AnswersWithError,
    Away,
    CutOff,
    Dice,
    Fate,
    Latency,
    LostReply,
    Outcome,
    Passing,
    Rule,
    Rules,
    Selection,
    error_text,
)

WORKER = "stock@0.26.4/worker-1.2"
PRODUCER = "stock@0.26.4/producer-1.1"
CUT, HOLD, REFUSE = Fate(Outcome.CUT), Fate(Outcome.HOLD), Fate(Outcome.REFUSE)


class Loaded:
    """Dice that say what they are told, and count their throws."""

    def __init__(self, happens: bool = True, us: int = 0) -> None:
        self.thrown = 0
        self._happens = happens
        self._us = us

    def happens(self, share: float) -> bool:
        self.thrown += 1
        return self._happens

    def between_us(self, low_us: int, high_us: int) -> int:
        assert low_us <= self._us <= high_us
        return self._us


def dice(*, happens: bool = True, us: int = 0) -> Callable[[str], Dice]:
    return lambda _: Loaded(happens, us)


@pytest.mark.parametrize(
    ("rule", "command", "request_fate", "reply_fate"),
    [
        (Latency(5, 9), "GET", Fate(delay_us=7), Fate(delay_us=7)),
        (Latency(5, 9), CONNECT, Fate(delay_us=7), Fate(delay_us=7)),
        (Latency(5, 9, Selection(hosts=(PRODUCER,))), "GET", PASS, PASS),
        (LostReply(), "GET", PASS, CUT),
        (LostReply(), CONNECT, PASS, PASS),
        (LostReply(), PUSH, PASS, PASS),
        (LostReply(Selection(commands=("EXEC",))), "GET", PASS, PASS),
        (CutOff(), "GET", CUT, PASS),
        (CutOff(), CONNECT, PASS, PASS),
        (Away(), "GET", CUT, CUT),
        (Away(), CONNECT, REFUSE, PASS),
        (Away(silent=True), "GET", HOLD, HOLD),
        (Away(silent=True), CONNECT, HOLD, HOLD),
        (Away(which=Selection(roles=("producer",))), "GET", PASS, PASS),
        (AnswersWithError("OOM"), "GET", PASS, PASS),
        (AnswersWithError("OOM"), "SET", Fate(Outcome.ERROR, error=error_text("OOM")), PASS),
        (AnswersWithError("LOADING"), CONNECT, PASS, PASS),
    ],
)
def test_what_a_rule_does_to_a_workers_message(
    rule: Rule, command: str, request_fate: Fate, reply_fate: Fate
) -> None:
    passing = Passing(WORKER, command)
    assert rule.on_request(passing, Loaded(us=7)) == request_fate
    assert rule.on_reply(passing, Loaded(us=7)) == reply_fate


def test_a_share_is_thrown_for_only_where_the_rest_matches() -> None:
    some = Selection(roles=("worker",), commands=("GET",), share=0.5)
    loaded = Loaded(happens=False)
    assert not some.takes(Passing(WORKER, "SET"), loaded)
    assert not some.takes(Passing(PRODUCER, "GET"), loaded)
    assert loaded.thrown == 0
    assert not some.takes(Passing(WORKER, "GET"), loaded)
    assert some.takes(Passing(WORKER, "GET"), Loaded())
    assert loaded.thrown == 1


def test_delays_add_up_and_the_rule_that_stands_longest_decides_the_rest() -> None:
    rules = Rules()
    rules.add(Latency(10, 10))
    first = rules.add(AnswersWithError("OOM"))
    rules.add(Latency(10, 10))
    rules.add(CutOff())
    passing = Passing(WORKER, "SET")
    assert rules.on_request(passing, dice(us=10)) == Fate(Outcome.ERROR, 20, error_text("OOM"))
    assert rules.remove(first)
    assert rules.on_request(passing, dice(us=10)) == Fate(Outcome.CUT, 20)
    assert not rules.remove(first)


def test_without_rules_everything_passes() -> None:
    rules = Rules()
    assert not rules
    assert rules.on_request(Passing(WORKER, "SET"), dice()) is PASS
    assert rules.on_reply(Passing(WORKER, "SET"), dice()) is PASS


def test_every_rule_asks_for_dice_of_its_own_name() -> None:
    asked: list[str] = []

    def throw(name: str) -> Dice:
        asked.append(name)
        return Loaded()

    rules = Rules()
    every: list[Rule] = [Latency(0, 0), LostReply(), CutOff(), Away()]
    every += [AnswersWithError(error) for error in ERRORS]
    for rule in every:
        rules.add(rule)
    rules.on_request(Passing(WORKER, "GET"), throw)
    assert asked == ["latency", "lost_reply", "cut", "redis_away", *["redis_error"] * 3]
