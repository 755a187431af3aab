"""What happened when: a history in equal steps of time, ready to be drawn. Only numbers.

    History ──fold──► Timeline per variant ──► Charts: phases, fault lanes, and for each measure one
                                               panel a variant, all of one measure on one scale

The figures come out of the timeline that the counters and checkers read, so what is drawn adds up
to what is counted. Steps are as wide as it takes for `STEPS_MAX` of them to hold the whole run.
How much waits, runs and is unfinished is told by the events themselves, since the producer counts
the queue during the drain alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from chaos.clock import SECOND_US
from chaos.counters import KEY_ERROR
from chaos.history import History
from chaos.judge import fold
from chaos.timeline import Timeline
from chaos.timeline.jobs import Job

STEPS_MAX = 300
COARSE_MAX = 60  # a percentile of two or three jobs says nothing: wider steps
SLACK_US = 50_000  # the plan's default
MERGED_SHARE = 1_000  # windows closer than this share of the run are one region
ABORT_OUTCOMES = ("honoured", "late", "ignored", "lost", "misdirected", "stray", "moot")
_STEPS_S = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 60, 120, 300,
    600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400,
)  # fmt: skip
Moments = Iterable[int]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One value a step; None where there was nothing to measure."""

    name: str
    values: tuple[float | None, ...]


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One strip: a variant, or one part of it (`part`: an abort's outcome)."""

    variant: str
    lines: tuple[Line, ...]
    part: str = ""
    total: int | None = None


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """One measure on every variant. `unit` goes behind a value; `what` explains the measure."""

    name: str
    title: str
    unit: str
    what: str
    step_us: int
    panels: tuple[Panel, ...]

    @property
    def top(self) -> float:
        """The largest value of any panel: they share one scale."""
        return max((value for value in self._values() if value is not None), default=0.0)

    def _values(self) -> Iterator[float | None]:
        for panel in self.panels:
            for line in panel.lines:
                yield from line.values


class Window(msgspec.Struct, frozen=True):
    """A stretch of time."""

    from_us: int
    until_us: int


class FaultLane(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of fault on one variant: how often, and when; close windows are one."""

    fault: str
    count: int
    windows: tuple[Window, ...]
    active_us: int


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """safety, heal or liveness."""

    name: str
    window: Window


class Lanes(msgspec.Struct, frozen=True, kw_only=True):
    """The phases and the faults of one variant."""

    variant: str
    phases: tuple[Phase, ...]
    faults: tuple[FaultLane, ...]


class Charts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is drawn of a run, from 0 to `until_us`."""

    until_us: int
    lanes: tuple[Lanes, ...]
    charts: tuple[Chart, ...]


def series(history: History, slack_us: int = SLACK_US) -> Charts:
    """Fold a history into its charts; a history in which nothing was attempted has none."""
    timelines = [one for one in fold(history, slack_us) if one.attempts.by_id]
    until_us = max((event.t_us for event in history), default=0)
    if not timelines or until_us <= 0:
        return Charts(until_us=until_us, lanes=(), charts=())
    fine = Steps(until_us, STEPS_MAX)
    charts = (
        *(_rate(timelines, fine, *measure) for measure in _RATES),
        _aborts(timelines, fine),
        _depth(timelines, fine),
        _waits(timelines, Steps(until_us, COARSE_MAX)),
    )
    return Charts(
        until_us=until_us,
        lanes=tuple(_lanes(timeline, until_us) for timeline in timelines),
        charts=tuple(chart for chart in charts if chart.panels),
    )


class Steps:
    """The steps of one chart: at most `most` of them, each a round number of seconds wide."""

    def __init__(self, until_us: int, most: int) -> None:
        widths = (round(step * SECOND_US) for step in _STEPS_S)
        fallback = -(-until_us // most)
        self.width_us = next((one for one in widths if one * most >= until_us), fallback)
        self.count = max(1, -(-until_us // self.width_us))

    def place(self, t_us: int) -> int:
        """The step that a moment is in."""
        return min(max(0, t_us) // self.width_us, self.count - 1)

    def counted(self, moments: Moments) -> list[int]:
        """How many moments are in each step."""
        counts = [0] * self.count
        for t_us in moments:
            counts[self.place(t_us)] += 1
        return counts

    def rate(self, moments: Moments) -> tuple[float, ...]:
        """How many moments a second, in each step."""
        return tuple(count * SECOND_US / self.width_us for count in self.counted(moments))

    def most_at_once(self, stretches: Iterable[Window]) -> tuple[float, ...]:
        """The most stretches that were open at once, in each step."""
        changes = [(one.from_us, 1) for one in stretches if one.until_us > one.from_us]
        changes += [(one.until_us, -1) for one in stretches if one.until_us > one.from_us]
        changes.sort()
        most, now, place = [0] * self.count, 0, 0
        for t_us, change in changes:
            here = self.place(t_us)
            for between in range(place + 1, here + 1):
                most[between] = now
            place, now = here, now + change
            most[here] = max(most[here], now)
        for after in range(place + 1, self.count):
            most[after] = now
        return tuple(float(one) for one in most)


# --- moments --------------------------------------------------------------------------------------


def _attempts(timeline: Timeline) -> Moments:
    return (one.began.t_us for one in timeline.attempts.by_id.values())


def _collisions(timeline: Timeline) -> Moments:
    for one in timeline.attempts.collisions:
        yield one.later.slot_set.t_us if one.later.slot_set else one.later.began.t_us


def _key_errors(timeline: Timeline) -> Moments:
    return (one.first.t_us for one in timeline.errors.all() if one.kind == KEY_ERROR)


def _orphans(timeline: Timeline) -> Moments:
    return (one.since.t_us for one in timeline.orphans.all())


_RATES: tuple[tuple[str, str, str, Callable[[Timeline], Moments]], ...] = (
    ("attempts", "Attempts", "Jobs taken from the queue: how much work goes on.", _attempts),
    ("slot_collisions", "Slot collisions",
     "Two attempts of one key registered on one worker at once: the danger itself.", _collisions),
    ("key_errors", "KeyErrors", "KeyErrors that saq's own code raised.", _key_errors),
    ("orphaned_contexts", "Orphaned contexts",
     "Attempts that abort() cannot reach, and contexts that outlive their attempt.", _orphans),
)  # fmt: skip


def _rate(
    timelines: Sequence[Timeline],
    steps: Steps,
    name: str,
    title: str,
    what: str,
    moments: Callable[[Timeline], Moments],
) -> Chart:
    panels = []
    for timeline in timelines:
        found = list(moments(timeline))
        line = Line(name=title, values=steps.rate(found))
        panels.append(Panel(variant=timeline.variant, lines=(line,), total=len(found)))
    return Chart(
        name=name, title=title, unit="/s", what=what, step_us=steps.width_us, panels=tuple(panels)
    )


def _aborts(timelines: Sequence[Timeline], steps: Steps) -> Chart:
    """One strip for each outcome that an abort had anywhere, so that none hides another."""
    found = {timeline.variant: _abort_moments(timeline) for timeline in timelines}
    there = [name for name in ABORT_OUTCOMES if any(one[name] for one in found.values())]
    panels = tuple(
        Panel(
            variant=variant,
            part=outcome,
            lines=(Line(name=outcome, values=steps.rate(moments[outcome])),),
            total=len(moments[outcome]),
        )
        for variant, moments in found.items()
        for outcome in there
    )
    return Chart(
        name="aborts",
        title="Aborts by outcome",
        unit="/s",
        what="What became of each acknowledged abort, for each attempt that was running then, at "
        "the time of the acknowledgement; misdirected and stray: cancels that nobody asked for.",
        step_us=steps.width_us,
        panels=panels,
    )


def _abort_moments(timeline: Timeline) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {outcome: [] for outcome in ABORT_OUTCOMES}
    for pair in timeline.aborts.pairs(timeline.now_us):
        if pair.outcome in found:
            found[pair.outcome].append(pair.ack_us)
    for wrong in timeline.aborts.wrong_cancels(timeline.now_us):
        found[wrong.outcome].append(wrong.cancel.t_us)
    return found


def _panels(
    timelines: Sequence[Timeline],
    steps: Steps,
    lines: Callable[[Timeline, Steps], tuple[Line, ...]],
) -> tuple[Panel, ...]:
    return tuple(Panel(variant=one.variant, lines=lines(one, steps)) for one in timelines)


# --- the queue ------------------------------------------------------------------------------------


def _depth(timelines: Sequence[Timeline], steps: Steps) -> Chart:
    return Chart(
        name="queue",
        title="Queue depth",
        unit="",
        what="Jobs that are not finished (incomplete), those of them that wait for a worker or for "
        "their time (queued), and attempts that are alive (active): the most in each step.",
        step_us=steps.width_us,
        panels=_panels(timelines, steps, _depth_lines),
    )


def _depth_lines(timeline: Timeline, steps: Steps) -> tuple[Line, ...]:
    alive = [
        Window(one.began.t_us, one.over.t_us if one.over else timeline.now_us)
        for one in timeline.attempts.by_id.values()
    ]
    unfinished: list[Window] = []
    waiting: list[Window] = []
    for job in timeline.jobs.all():
        whole = _unfinished(job, timeline)
        if whole is not None:
            unfinished.append(whole)
            waiting += _without(whole, job, timeline.now_us)
    return (
        Line(name="incomplete", values=steps.most_at_once(unfinished)),
        Line(name="queued", values=steps.most_at_once(waiting)),
        Line(name="active", values=steps.most_at_once(alive)),
    )


def _unfinished(job: Job, timeline: Timeline) -> Window | None:
    """From the enqueue to the finish that made the job terminal, or to the end."""
    if job.enqueued is None or not job.acknowledged:
        return None
    finish = job.terminal(timeline.slack_us)
    ended_us = finish.invoked.t_us if finish is not None else timeline.now_us
    return Window(job.enqueued.invoked.t_us, ended_us)


def _without(whole: Window, job: Job, now_us: int) -> Iterator[Window]:
    """The parts of a job's time in which no attempt of it was alive."""
    at_us = whole.from_us
    for attempt in job.attempts:  # in the order in which they began
        if attempt.began.t_us > at_us:
            yield Window(at_us, min(attempt.began.t_us, whole.until_us))
        at_us = max(at_us, attempt.over.t_us if attempt.over else now_us)
    if at_us < whole.until_us:
        yield Window(at_us, whole.until_us)


def _waits(timelines: Sequence[Timeline], steps: Steps) -> Chart:
    return Chart(
        name="job_wait",
        title="Job wait",
        unit=" s",
        what="From enqueue to first attempt, by when that began: half of the jobs wait no longer "
        "than p50, 95 % no longer than p95. Scheduling ahead counts as waiting.",
        step_us=steps.width_us,
        panels=_panels(timelines, steps, _wait_lines),
    )


def _wait_lines(timeline: Timeline, steps: Steps) -> tuple[Line, ...]:
    waits: list[list[int]] = [[] for _ in range(steps.count)]
    for job in timeline.jobs.all():
        if job.acknowledged and job.enqueued is not None and job.attempts:
            began_us = job.attempts[0].began.t_us
            waits[steps.place(began_us)].append(max(0, began_us - job.enqueued.invoked.t_us))
    for each in waits:
        each.sort()
    return tuple(
        Line(name=f"p{percent}", values=tuple(_percentile(each, percent) for each in waits))
        for percent in (50, 95)
    )


def _percentile(ordered_us: Sequence[int], percent: int) -> float | None:
    """By the nearest-rank method, as the counters have it, in seconds."""
    if not ordered_us:
        return None
    rank = -(-len(ordered_us) * percent // 100)
    return ordered_us[max(0, rank - 1)] / SECOND_US


# --- phases and faults ----------------------------------------------------------------------------


def _lanes(timeline: Timeline, until_us: int) -> Lanes:
    ended_us = timeline.run_ended.t_us if timeline.run_ended is not None else until_us
    begins = sorted(timeline.phases.values(), key=lambda one: (one.t_us, one.n))
    ends = [*(one.t_us for one in begins[1:]), ended_us]
    phases = tuple(
        Phase(name=one.phase, window=Window(one.t_us, max(one.t_us, end_us)))
        for one, end_us in zip(begins, ends[: len(begins)], strict=True)
    )
    found: dict[str, list[Window]] = {}
    for one in timeline.faults.windows.values():
        healed_us = one.healed.t_us if one.healed is not None else until_us
        found.setdefault(one.injected.fault, []).append(Window(one.injected.t_us, healed_us))
    faults = tuple(
        FaultLane(
            fault=name,
            count=len(windows),
            windows=merged(windows, until_us // MERGED_SHARE),
            active_us=sum(one.until_us - one.from_us for one in merged(windows, 0)),
        )
        for name, windows in found.items()
    )
    return Lanes(variant=timeline.variant, phases=phases, faults=faults)


def merged(windows: Iterable[Window], gap_us: int) -> tuple[Window, ...]:
    """Windows in order; those that overlap, or are no farther apart than the gap, are one."""
    done: list[Window] = []
    for one in sorted(windows, key=lambda window: (window.from_us, window.until_us)):
        if done and one.from_us - done[-1].until_us <= gap_us:
            done[-1] = Window(done[-1].from_us, max(done[-1].until_us, one.until_us))
        else:
            done.append(one)
    return tuple(done)
