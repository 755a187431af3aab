"""Which jobs are there to be aborted, by what the hosts say in whatever order it is heard."""

from __future__ import annotations

import pytest

from chaos import job_keys
from chaos.event import CallReturned, Event
from chaos.job_keys import JobKeys


def answered(key: str, stamp: int = 1, outcome: str = "ok") -> Event:
    return CallReturned(
        host="v/producer-1.1", op="enqueue", call=1, job=key, enqueue=stamp, outcome=outcome
    )


def finished(key: str, stamp: int = 1, outcome: str = "ok") -> Event:
    return CallReturned(
        host="v/worker-1.1", op="finish", call=2, job=key, enqueue=stamp, outcome=outcome
    )


def keys_after(*events: Event, mark: str = "") -> tuple[str, ...]:
    keys = JobKeys(mark)
    for event in events:
        keys.feed([event])
    return keys.now()


def test_a_key_is_there_from_the_accepted_enqueue_to_the_finish() -> None:
    assert keys_after(answered("a")) == ("a",)
    assert keys_after(answered("a"), finished("a")) == ()


def test_an_enqueue_that_was_refused_brings_no_key_in() -> None:
    assert keys_after(answered("a", outcome="empty")) == ()


def test_a_finish_that_failed_takes_no_key_out() -> None:
    assert keys_after(answered("a"), finished("a", outcome="fail")) == ("a",)


def test_a_job_whose_finish_is_heard_before_its_enqueue_does_not_come_in() -> None:
    assert keys_after(finished("a"), answered("a")) == ()
    assert keys_after(finished("a"), answered("a"), answered("a", 2)) == ("a",)


def test_a_finish_of_the_job_before_is_no_finish_of_the_next() -> None:
    assert keys_after(answered("a"), answered("a", 2), finished("a")) == ("a",)
    assert keys_after(answered("a"), finished("a", 2), finished("a"), answered("a", 2)) == ()


def test_the_oldest_comes_first_and_a_key_comes_without_its_mark() -> None:
    assert keys_after(answered("m:b"), answered("m:a"), mark="m") == ("b", "a")


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_keys, "KEYS_MAX", 2)
    assert keys_after(*map(answered, "abc")) == ("b", "c")
    assert keys_after(*map(finished, "abc"), *map(answered, "abc")) == ("a",)
