"""What a run tells of its timelines: each injection and healing once, findings as they rise."""

from __future__ import annotations

import pytest

from chaos.event import Event, FaultHealed, FaultInjected
from chaos.judge import judge_timeline
from chaos.plan import Plan
from chaos.timeline import Timeline
from service.models import EventData
from service.runs.news import AGAIN_US, EVERY_US, News
from tests.judge.histories import Story

VARIANT = "stock@0.26.3"
PLAN = Plan.model_validate(
    {
        "plan": "p",
        "workload": {"kind": "same_key"},
        "duration": "1s",
        "promises": ("no-internal-errors",),
    }
)


class Clock:
    """Stands where the test puts it."""

    def __init__(self) -> None:
        self.time_us = 0

    def now_us(self) -> int:
        return self.time_us

    async def sleep_us(self, duration_us: int) -> None:
        self.time_us += duration_us


@pytest.fixture
def timeline() -> Timeline:
    """A variant's timeline in which nothing has happened."""
    return Timeline(VARIANT, 50_000)


def feed(timeline: Timeline, *events: Event) -> None:
    for event in events:
        timeline.feed(event)


def test_an_injection_and_its_healing_are_told_once_each(timeline: Timeline) -> None:
    news = News(PLAN, Clock())
    feed(timeline, FaultInjected(fault="kill", number=1, of=VARIANT, by="ann", t_us=1))
    feed(timeline, FaultInjected(fault="sweep", number=2, of=VARIANT, t_us=2))
    feed(timeline, FaultHealed(fault="sweep", number=2, of=VARIANT, error="oh", t_us=3))
    assert list(news.faults([timeline])) == [
        EventData(variant=VARIANT, fault="kill", number=1, change="injected", by="ann"),
        EventData(variant=VARIANT, fault="sweep", number=2, change="injected"),
        EventData(variant=VARIANT, fault="sweep", number=2, change="healed", error="oh"),
    ]
    assert list(news.faults([timeline])) == []
    feed(timeline, FaultHealed(fault="kill", number=1, of=VARIANT, t_us=4))
    assert list(news.faults([timeline])) == [
        EventData(variant=VARIANT, fault="kill", number=1, change="healed", by="ann")
    ]
    assert list(news.faults([timeline])) == []


def _with_key_errors(count: int) -> Timeline:
    story = Story()
    worker = story.worker()
    for number in range(count):
        run = worker.begins(f"k{number}", at=10 + 10 * number)
        run.raises(at=15 + 10 * number, error="KeyError", message="Job<k>")
        run.ends(at=16 + 10 * number, outcome="raised", error="KeyError")
    return story.timeline()


def _counts(told: object) -> list[int | None]:
    return [data.count for data in told]  # type: ignore[attr-defined]


def test_a_promise_that_breaks_is_told_at_once_and_then_at_most_now_and_then() -> None:
    clock = Clock()
    news = News(PLAN, clock)
    assert list(news.findings([_with_key_errors(0)])) == []
    clock.time_us += EVERY_US
    (first,) = news.findings([_with_key_errors(1)])
    assert (first.variant, first.promise, first.count) == (VARIANT, "no-internal-errors", 1)
    assert first.text is not None
    assert "KeyError" in first.text
    clock.time_us += EVERY_US
    assert _counts(news.findings([_with_key_errors(2)])) == []
    clock.time_us += AGAIN_US
    assert _counts(news.findings([_with_key_errors(3)])) == [3]
    clock.time_us += AGAIN_US
    assert _counts(news.findings([_with_key_errors(3)])) == []


def test_checkers_are_not_asked_again_before_it_is_time() -> None:
    clock = Clock()
    news = News(PLAN, clock)
    assert _counts(news.findings([_with_key_errors(0)])) == []
    clock.time_us += EVERY_US - 1
    assert _counts(news.findings([_with_key_errors(1)])) == []
    clock.time_us += 1
    assert _counts(news.findings([_with_key_errors(1)])) == [1]


def test_the_judge_has_the_last_word_on_what_was_not_told() -> None:
    news = News(PLAN, Clock())
    verdict = judge_timeline(PLAN, _with_key_errors(4))
    assert _counts(news.last([verdict])) == [4]
    assert _counts(news.findings([_with_key_errors(4)])) == [4]
    assert _counts(news.last([verdict])) == []
