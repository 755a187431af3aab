"""Histories: JSON Lines by hand or by machine, merged, numbered, digested."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from chaos import event as e
from chaos.errors import HistoryError
from chaos.history import History

ONE, TWO = "stock@0.26.3/worker-1.1", "by-id@0.26.3/worker-1.1"


def jobs(events: Iterable[e.Event]) -> list[str]:
    """The job keys of events, in order."""
    return [event.job for event in events if isinstance(event, e.SlotMissed)]


def test_a_history_written_by_hand_needs_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(
        '{"event": "run-began", "run": "r", "plan": "p", "world": "live", "seed": 1,'
        ' "variants": ["stock@0.26.3"]}\n'
        "\n"
        f'{{"event": "slot-set", "host": "{ONE}", "t_us": 5, "job": "k", "attempt": "a#1"}}\n'
        f'  {{"event": "slot-missed", "host": "{ONE}", "t_us": 5, "job": "k"}}'
    )
    assert list(History.read(path)) == [
        e.RunBegan(n=1, run="r", plan="p", world="live", seed=1, variants=("stock@0.26.3",)),
        e.SlotSet(n=2, host=ONE, t_us=5, job="k", attempt="a#1"),
        e.SlotMissed(n=3, host=ONE, t_us=5, job="k"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "Input data was truncated"),
        ('{"event": "slot-sat"}', "Invalid value 'slot-sat'"),
        ('{"event": "slot-set", "job": "k"}', "missing required field `attempt`"),
        ('{"event": "slot-missed", "job": 3}', "Expected `str`, got `int`"),
        ('{"event": "slot-missed", "job": "k", "jib": 1}', "unknown field `jib`"),
        ("[]", "Expected `object`, got `array`"),
        ('{"event": "slot-missed", "job": "\\ud800"}', "truncated"),
    ],
)
def test_a_line_that_is_no_event_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(f'{{"event": "slot-missed", "job": "k"}}\n\n{line}\n')
    with pytest.raises(HistoryError, match=rf"history\.jsonl:3: no event: .*{message}") as caught:
        History.read(path)
    assert caught.value.exit_code == 2


def test_a_history_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(b'{"event": "slot-missed", "job": "\xff"}\n')
    with pytest.raises(HistoryError, match=r"history\.jsonl:1: no event"):
        History.read(path)


def test_a_missing_history_is_named(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"cannot read the history .*none\.jsonl: No such file"):
        History.read(tmp_path / "none.jsonl")


def test_what_is_written_is_read_back_with_the_same_digest(tmp_path: Path) -> None:
    history = History(
        [
            e.SlotSet(host=ONE, t_us=1, job="line\nbreak \u2028 é", attempt="a#1"),
            e.BodyCancelled(host=ONE, t_us=2, job="k", attempt="a#1", aborted=""),
            e.BodyCancelled(host=ONE, t_us=2, job="k", attempt="a#1", aborted=None),
            e.JobState(host=TWO, t_us=3, job="k", score=0.0, ttl_us=-2),
        ]
    )
    path = tmp_path / "history.jsonl"
    history.write(path)
    again = History.read(path)
    assert list(again) == list(history)
    assert again.digest() == history.digest()


def test_the_digest_changes_with_any_field() -> None:
    digests = {
        History([event]).digest()
        for event in (
            e.SlotSet(host=ONE, t_us=1, job="k", attempt="a#1"),
            e.SlotSet(host=ONE, t_us=2, job="k", attempt="a#1"),
            e.SlotSet(host=TWO, t_us=1, job="k", attempt="a#1"),
            e.SlotSet(host=ONE, t_us=1, job="k", attempt="a#2"),
        )
    }
    assert len(digests) == 4


def test_numbers_are_places_whatever_the_events_carried() -> None:
    history = History([e.SlotMissed(n=9, job="a"), e.SlotMissed(n=9, job="b")])
    assert list(history) == [e.SlotMissed(n=1, job="a"), e.SlotMissed(n=2, job="b")]
    assert len(history) == 2
    assert history[-1] == e.SlotMissed(n=2, job="b")


def test_a_merge_orders_hosts_by_stamp_and_keeps_each_hosts_own_order() -> None:
    one = [e.SlotMissed(host=ONE, t_us=t, job=job) for t, job in ((5, "a"), (5, "b"), (9, "c"))]
    two = [e.SlotMissed(host=TWO, t_us=t, job=job) for t, job in ((4, "x"), (5, "y"), (9, "z"))]
    merged = History.merge([one, two])
    assert jobs(merged) == ["x", "a", "b", "y", "c", "z"]
    assert [event.n for event in merged] == [1, 2, 3, 4, 5, 6]


def test_a_merge_keeps_a_hosts_order_even_where_its_stamps_fall() -> None:
    one = [e.SlotMissed(host=ONE, t_us=t, job=job) for t, job in ((5, "a"), (3, "b"), (9, "c"))]
    two = [e.SlotMissed(host=TWO, t_us=4, job="x")]
    merged = jobs(History.merge([one, two]))
    assert [job for job in merged if job != "x"] == ["a", "b", "c"]


def test_a_variant_is_given_its_hosts_and_what_the_controller_says_of_it() -> None:
    began = e.RunBegan(run="r", plan="p", world="live", seed=1, variants=("by-id@0.26.3", "stock"))
    history = History(
        [
            began,
            e.HostStarted(target=ONE, role="worker"),
            e.PhaseBegan(phase="safety", of="by-id@0.26.3"),
            e.SlotMissed(host=TWO, job="two"),
            e.SlotMissed(host=ONE, job="one"),
            e.RunEnded(reason="finished"),
        ]
    )
    assert history.variants() == ("by-id@0.26.3", "stock")
    assert [event.n for event in history.of("by-id@0.26.3")] == [1, 3, 4, 6]
    assert [event.n for event in history.of("stock@0.26.3")] == [1, 2, 5, 6]
