"""What looks like a value and is none, and clocks that step."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service.api.result_routes import _digits
from service.app import make_app
from service.errors import Invalid
from service.runs.retention import Today
from service.schedules.cron import next_after
from service.settings import Settings
from service.webhooks.store import DeliveryStore

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "cron", ["*/999 * * * *", "0 */24 * * *", "0,1/60 * * * *", "0 0 1 */13 *"]
)
def test_a_step_over_the_whole_range_is_refused(cron: str) -> None:
    with pytest.raises(Invalid, match="steps over its range"):
        next_after(cron, NOW)


def test_a_step_within_the_range_is_one() -> None:
    assert next_after("*/59 * * * *", NOW) == datetime(2026, 1, 1, 0, 59, tzinfo=UTC)


@pytest.mark.parametrize("text", ["1_000", " 5", "+5", "٣", ""])
def test_an_id_of_an_event_is_digits_alone(text: str) -> None:
    with pytest.raises(ValueError, match="digits alone"):
        _digits(text)
    assert [_digits("1000"), _digits(None), _digits(0)] == ["1000", None, 0]


def test_a_slash_too_many_is_not_redirected(tmp_path: Path) -> None:
    assert make_app(Settings(data_dir=tmp_path)).router.redirect_slashes is False


def test_a_delivery_does_not_wait_longer_because_the_clock_stepped_back(tmp_path: Path) -> None:
    store = DeliveryStore(tmp_path)
    store.watch("r1", ["ci"])
    store.ended("r1", b"{}", NOW)
    due = [
        len(store.due(NOW - back, 9))
        for back in (timedelta(0), timedelta(minutes=1), timedelta(hours=2), timedelta(hours=3))
    ]
    store.close()
    assert due == [1, 0, 0, 1]


def test_a_clock_that_jumps_forward_makes_no_run_old() -> None:
    today = Today(1_000.0, 5_000_000)
    assert today.now_s(1_010.0, 15_000_000) == 1_010.0
    assert today.now_s(9_999_999.0, 15_000_000) == 1_010.0
    assert today.now_s(900.0, 15_000_000) == 900.0
