"""Thresholds: reading them, judging them, and which of them may end a run early."""

from __future__ import annotations

import pytest

from chaos import thresholds
from chaos.thresholds import Threshold, parse
from chaos.verdict import Outcome, ThresholdVerdict
from tests.judge.histories import plan


@pytest.mark.parametrize(
    ("text", "counter", "op", "limit"),
    [
        ("key_errors == 0", "key_errors", "==", 0.0),
        ("slot_collisions>=300", "slot_collisions", ">=", 300.0),
        ("job_wait_p99 < 2s", "job_wait_p99", "<", 2.0),
        ("  job_run_p50 <= 250ms ", "job_run_p50", "<=", 0.25),
        ("aborts_lost != 3", "aborts_lost", "!=", 3.0),
        ("kills > 1.5", "kills", ">", 1.5),
    ],
)
def test_a_threshold_is_a_counter_an_operator_and_a_number(
    text: str, counter: str, op: str, limit: float
) -> None:
    assert parse(text) == Threshold(text=text.strip(), counter=counter, op=op, limit=limit)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("key_errors", "'key_errors' is no threshold: write `counter op number`"),
        ("key_errors = 0", "'key_errors = 0' is no threshold"),
        ("key_errors == ", "is no threshold"),
        ("key_error == 0", "no counter is called 'key_error'; did you mean 'key_errors'?"),
        ("key_errors == none", "'none' is no number: key_errors is compared with one"),
        ("key_errors < 2s", "'2s' is no number: key_errors is compared with one"),
        ("job_wait_p99 < 2", "job_wait_p99 is a time, and '2' is no duration"),
    ],
)
def test_what_is_no_threshold_is_refused_with_the_way_out(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse(text)
    assert said in str(caught.value)


def test_a_threshold_holds_fails_or_was_not_measured() -> None:
    counters = {"key_errors": 2.0}
    limits = [{"that": f"key_errors {op} 2"} for op in ("==", "!=", "<", "<=", ">", ">=")]
    judged = thresholds.judge(plan(thresholds=tuple(limits)), counters)
    assert [(one.threshold, one.outcome, one.value) for one in judged] == [
        ("key_errors == 2", Outcome.VALID, 2.0),
        ("key_errors != 2", Outcome.INVALID, 2.0),
        ("key_errors < 2", Outcome.INVALID, 2.0),
        ("key_errors <= 2", Outcome.VALID, 2.0),
        ("key_errors > 2", Outcome.INVALID, 2.0),
        ("key_errors >= 2", Outcome.VALID, 2.0),
    ]
    assert parse("job_wait_p99 < 2s").judge({}) == ThresholdVerdict(
        threshold="job_wait_p99 < 2s", outcome=Outcome.UNKNOWN
    )


@pytest.mark.parametrize(
    ("that", "value", "ends"),
    [
        ("key_errors == 0", 0, False),
        ("key_errors == 0", 1, True),
        ("key_errors == 3", 1, False),
        ("key_errors < 5", 5, True),
        ("key_errors >= 5", 1, False),
        ("key_errors != 0", 0, False),
    ],
)
def test_only_what_growth_cannot_mend_ends_a_run_early(that: str, value: int, ends: bool) -> None:
    one = plan(thresholds=({"that": that, "abort_on_fail": True},))
    failed = thresholds.failed_early(one, {"key_errors": float(value)})
    assert failed == ((f"{that} (it is {value})",) if ends else ())


def test_a_threshold_without_abort_on_fail_never_ends_a_run_early() -> None:
    one = plan(thresholds=({"that": "key_errors == 0"},))
    assert thresholds.failed_early(one, {"key_errors": 9.0}) == ()
