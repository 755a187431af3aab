"""The charts: numbers that add up to the counters, drawn so that everybody can read them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from chaos.counters import values
from chaos.event import (
    AttemptBegan,
    BodyBegan,
    BodyEnded,
    CallInvoked,
    CallReturned,
    Event,
    FaultHealed,
    FaultInjected,
    PhaseBegan,
    ProcessEnded,
    RunBegan,
    RunEnded,
)
from chaos.history import History
from chaos.judge import fold
from chaos.reports import chart_page, chart_svg
from chaos.reports.chart_series import Chart, Charts, Steps, Window, merged, series
from tests.reports.story_cases import CASES, Case

VARIANT = "stock@0.26.3"
HOST = f"{VARIANT}/worker-1.1"
PRODUCER = f"{VARIANT}/producer-1.1"
SECOND = 1_000_000


def job(key: str, call: int, enqueue_us: int, began_us: int, ended_us: int) -> list[Event]:
    """A job that is enqueued, taken, run and finished."""
    attempt = f"{HOST}#{call}"
    return [
        CallInvoked(t_us=enqueue_us, host=PRODUCER, op="enqueue", call=call, job=key),
        CallReturned(
            t_us=enqueue_us + 1, host=PRODUCER, op="enqueue", call=call, job=key, enqueue=call
        ),
        AttemptBegan(t_us=began_us, host=HOST, attempt=attempt, job=key, enqueue=call),
        BodyBegan(t_us=began_us + 1, host=HOST, job=key, attempt=attempt),
        BodyEnded(t_us=ended_us - 3, host=HOST, job=key, attempt=attempt),
        CallInvoked(
            t_us=ended_us - 2, host=HOST, op="finish", call=call, attempt=attempt,
            status="complete", job=key, enqueue=call,
        ),
        CallReturned(t_us=ended_us - 1, host=HOST, op="finish", call=call, attempt=attempt, job=key,
                     enqueue=call),
        ProcessEnded(t_us=ended_us, host=HOST, job=key, attempt=attempt),
    ]  # fmt: skip


def history() -> History:
    """Two jobs, a rolling restart from 20 s to 30 s, phases at 1 s, 40 s and 41 s, end at 50 s."""
    events: list[Event] = [
        RunBegan(run="r", plan="p", world="live", seed=1, variants=(VARIANT,)),
        PhaseBegan(t_us=1 * SECOND, phase="safety", of=VARIANT),
        *job("a", 1, 2 * SECOND, 4 * SECOND, 8 * SECOND),
        *job("b", 2, 3 * SECOND, 9 * SECOND, 10 * SECOND),
        FaultInjected(t_us=20 * SECOND, fault="rolling_restart", number=1, of=VARIANT),
        FaultHealed(t_us=30 * SECOND, fault="rolling_restart", number=1, of=VARIANT),
        PhaseBegan(t_us=40 * SECOND, phase="heal", of=VARIANT),
        PhaseBegan(t_us=41 * SECOND, phase="liveness", of=VARIANT),
        RunEnded(t_us=50 * SECOND, reason="finished", of=VARIANT),
    ]
    return History(sorted(events, key=lambda event: event.t_us))


def chart(charts: Charts, name: str) -> Chart:
    return next(one for one in charts.charts if one.name == name)


def test_attempts_are_counted_a_second_in_the_step_in_which_they_began() -> None:
    attempts = chart(series(history()), "attempts")
    assert attempts.step_us == 200_000
    (line,) = attempts.panels[0].lines
    assert len(line.values) == 250
    assert {place: one for place, one in enumerate(line.values) if one} == {20: 5.0, 45: 5.0}


def test_the_queue_holds_what_waits_what_runs_and_what_is_not_finished() -> None:
    incomplete, queued, active = chart(series(history()), "queue").panels[0].lines
    every_second = slice(2, 60, 5)  # at 0.4 s, 1.4 s, … 11.4 s
    assert incomplete.values[every_second] == (0, 0, 1, 2, 2, 2, 2, 2, 1, 1, 0, 0)
    assert queued.values[every_second] == (0, 0, 1, 2, 1, 1, 1, 1, 1, 0, 0, 0)
    assert active.values[every_second] == (0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0)


def test_the_wait_of_a_job_stands_where_its_first_attempt_began() -> None:
    waits = chart(series(history()), "job_wait")
    assert waits.step_us == SECOND
    p50, p95 = waits.panels[0].lines
    assert {n: one for n, one in enumerate(p50.values) if one is not None} == {4: 2.0, 9: 6.0}
    assert p95.values == p50.values


def test_phases_and_faults_are_windows_of_time() -> None:
    (lanes,) = series(history()).lanes
    assert [(one.name, one.window) for one in lanes.phases] == [
        ("safety", Window(1 * SECOND, 40 * SECOND)),
        ("heal", Window(40 * SECOND, 41 * SECOND)),
        ("liveness", Window(41 * SECOND, 50 * SECOND)),
    ]
    (fault,) = lanes.faults
    assert (fault.fault, fault.count, fault.active_us) == ("rolling_restart", 1, 10 * SECOND)
    assert fault.windows == (Window(20 * SECOND, 30 * SECOND),)


@pytest.mark.parametrize("case", dict.fromkeys(case for _, _, case in CASES))
def test_what_is_drawn_adds_up_to_what_is_counted(case: Case) -> None:
    told = case().history()
    charts = series(told)
    for timeline in fold(told, 50_000):
        counted = values(timeline)
        for one in charts.charts:
            for panel in one.panels:
                if panel.variant != timeline.variant or panel.total is None:
                    continue
                name = f"aborts_{panel.part}" if panel.part else one.name
                assert panel.total == counted[name], (one.name, panel.part)
                drawn = sum(value or 0 for value in panel.lines[0].values) * one.step_us / SECOND
                assert round(drawn) == panel.total


def test_a_history_in_which_nothing_was_attempted_has_no_charts() -> None:
    nothing = History([RunBegan(run="r", plan="p", world="live", seed=1, variants=(VARIANT,))])
    assert series(nothing) == Charts(until_us=0, lanes=(), charts=())
    assert list(chart_page.section(nothing, 50_000)) == []
    assert list(chart_page.section(None, 50_000)) == []


@pytest.mark.parametrize(
    ("until_s", "step_s", "count"),
    [(0.000_001, 0.001, 1), (90, 0.5, 180), (300, 1, 300), (301, 2, 151), (172_800, 600, 288)],
)
def test_steps_are_round_and_at_most_300(until_s: float, step_s: float, count: int) -> None:
    steps = Steps(max(1, round(until_s * SECOND)), 300)
    assert (steps.width_us, steps.count) == (round(step_s * SECOND), count)


def test_a_run_of_years_still_has_at_most_300_steps() -> None:
    assert Steps(10 * 365 * 86_400 * SECOND, 300).count == 300


def test_windows_that_overlap_or_are_close_are_one() -> None:
    windows = [Window(50, 60), Window(0, 10), Window(5, 20), Window(25, 30)]
    assert merged(windows, 5) == (Window(0, 30), Window(50, 60))
    assert merged(windows, 0) == (Window(0, 20), Window(25, 30), Window(50, 60))


def test_most_at_once_carries_on_between_changes() -> None:
    steps = Steps(5_000, 5)
    assert steps.most_at_once([Window(500, 3_500), Window(1_200, 1_300)]) == (1, 2, 1, 1, 0)


@pytest.mark.parametrize(
    ("until_s", "ticks_s"),
    [
        (50, (0, 10, 20, 30, 40)),
        (300, (0, 60, 120, 180, 240)),
        (98, (0, 20, 40, 60, 80)),
    ],
)
def test_ticks_are_round_and_none_sticks_out_at_the_end(
    until_s: int, ticks_s: tuple[int, ...]
) -> None:
    ticks = tuple(one // SECOND for one in chart_svg.ticks_us(until_s * SECOND))
    assert ticks == ticks_s


@pytest.mark.parametrize(
    ("time_us", "text"),
    [
        (0, "0 s"),
        (1_500, "1.5 ms"),
        (45_500_000, "45.5 s"),
        (125_000_000, "2 min 5 s"),
        (120_000_000, "2 min"),
        (12_000_000_000, "3 h 20 min"),
        (7_200_000_000, "2 h"),
    ],
)
def test_times_are_as_exact_as_an_axis_needs(time_us: int, text: str) -> None:
    assert chart_svg.seconds(time_us) == text


def test_the_section_is_well_formed_and_every_picture_is_described() -> None:
    page = "\n".join(chart_page.section(history(), 50_000)).replace("<wbr>", "<wbr/>")
    root = ElementTree.fromstring(page.replace("class=number", 'class="number"'))
    pictures = [one for one in root.iter("svg") if one.get("role") == "img"]
    assert len(pictures) == 8  # phases, one fault, six measures (no abort was acknowledged)
    for one in pictures:
        assert one.findtext("title")
        assert one.findtext("desc")
    assert pictures[2].get("aria-label") == ("stock@0.26.3: Attempts: Attempts: at most 5/s at 4 s")
    assert "Shaded: rolling restart." in page
    assert "<title>rolling restart, 20 s to 30 s</title>" in page
    assert "M800,0V100M820,0V100" in page  # the phases' boundaries
    assert page.count('<use href="#shade-0"/>') == 6
    assert {one.get("class") for one in root.iter("path")} >= {"line l1", "line l2", "line l3"}


def test_a_fault_that_is_there_most_of_the_time_is_in_its_lane_and_shades_nothing() -> None:
    events = list(history())
    events += [
        FaultInjected(t_us=31 * SECOND, fault="latency", number=2, of=VARIANT),
        FaultInjected(t_us=1 * SECOND, fault="sweep", number=3, of=VARIANT),
        FaultHealed(t_us=39 * SECOND, fault="sweep", number=3, of=VARIANT),
    ]
    told = History(sorted(events, key=lambda event: event.t_us))
    page = "\n".join(chart_page.section(told, 50_000))
    assert "Shaded: rolling restart, latency." in page
    assert "Too frequent to be shaded, and in the lanes alone: sweep." in page
    assert "<title>latency, 31 s to 50 s</title>" in page  # never healed: to the end


def test_many_windows_of_a_fault_are_one_stroke() -> None:
    events = list(history())
    for n in range(50):
        events.append(FaultInjected(t_us=n * SECOND, fault="abort", number=9 + n, of=VARIANT))
        healed_us = n * SECOND + SECOND // 10
        events.append(FaultHealed(t_us=healed_us, fault="abort", number=9 + n, of=VARIANT))
    told = History(sorted(events, key=lambda event: event.t_us))
    page = "\n".join(chart_page.section(told, 50_000))
    (path,) = re.findall(r'class="many" d="([^"]*)"', page)
    assert path.startswith("M0,0h2v100h-2zM20,0h2v100h-2zM40,0h2v100h-2z")
    assert path.count("z") == 50
    assert "abort <span>50×</span>" in page


def test_the_table_below_a_figure_has_few_rows() -> None:
    page = "\n".join(chart_page.section(history(), 50_000))
    figure = page.partition("<h3>Attempts, per second</h3>")[2].partition("</figure>")[0]
    assert figure.count("<tr>") == 1 + 23
    assert "<tr><td class=number>2.2 s</td><td class=number>0.455</td></tr>" in figure
    assert "<tr><td class=number>4.4 s</td><td class=number>0</td></tr>" in figure
