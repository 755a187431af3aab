"""What a plan cannot mean: the problems that take two of its parts to see.

Each check is a function from the plan to its problems. A problem names the path that a reader
should look at first, and in `needs` the other values that it rests on: when one of those is wrong
by itself the problem is left out, since it may be an echo. Types and ranges of single values are
not judged here (`chaos.plan`), and nothing here reads a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from chaos import schedule, variants
from chaos.clock import format_duration
from chaos.errors import VariantError
from chaos.plan import (
    FAULTS,
    NO_SCHEDULE,
    NOTHING_MOVES,
    App,
    Body,
    KillFault,
    LatencyFault,
    Plan,
    RollingRestartFault,
    SameKey,
)
from chaos.plan_file.names import KnownNames
from chaos.plan_file.words import TELLING_PARAMETERS, one_of, show
from chaos.plan_file.yaml_text import Path, paths_of

_PASSWORD = re.compile(
    r"[A-Za-z0-9+.-]://"  # the scheme's last letter alone: all of it takes quadratic time
    rf"([^\s/?#@]*:[^\s/?#@]+@|\S*[?&]({TELLING_PARAMETERS})=.)"
)
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a plan: where, what, and the other values that it rests on."""

    path: Path
    message: str
    needs: tuple[Path, ...] = ()


Check = Callable[[Plan], Iterator[Problem]]


def of_plan(plan: Plan, names: KnownNames) -> Iterator[Problem]:
    """Every problem of a plan whose single values are right."""
    yield from _names(plan, names)
    for check in (
        _variants,
        _fault_times,
        _fault_lengths,
        _fleet,
        _bodies,
        _ahead,
        _amount,
        _calls,
    ):
        yield from check(plan)


# --- names ----------------------------------------------------------------------------------------


def _names(plan: Plan, names: KnownNames) -> Iterator[Problem]:
    for place, promise in enumerate(plan.promises):
        if promise not in names.promises:
            yield Problem(("promises", place), f"{show(promise)} is no promise: "
                          f"{one_of(promise, names.promises)}")  # fmt: skip
        elif promise in plan.promises[:place]:
            yield Problem(("promises", place), f"{show(promise)} stands here twice: keep one")
    for exposure in plan.exposures:
        if exposure not in names.exposures:
            yield Problem(("exposures", exposure), f"{show(exposure)} is no exposure: "
                          f"{one_of(exposure, names.exposures)}")  # fmt: skip
    for place, threshold in enumerate(plan.thresholds):
        if problem := names.threshold_problem(threshold.that, threshold.abort_on_fail):
            yield Problem(("thresholds", place, "that"), problem)


def _variants(plan: Plan) -> Iterator[Problem]:
    labels: dict[str, str] = {}
    for place, text in enumerate(plan.variants):
        try:
            label = variants.parse(text).label
        except VariantError as error:
            yield Problem(("variants", place), str(error))
            continue
        if label in labels:
            yield Problem(("variants", place), f"{show(text)} is called {label!r} in reports, and "
                          f"so is {show(labels[label])}: keep one of them")  # fmt: skip
        labels.setdefault(label, text)
    if plan.gate == "baseline":
        yield from _baseline(plan)


def _baseline(plan: Plan) -> Iterator[Problem]:
    needs: tuple[Path, ...] = (("variants",), ("gate",))
    if plan.baseline is None:
        message = f"gate `baseline` needs `baseline`: one of {', '.join(plan.variants)}"
        yield Problem(("gate",), message, (("baseline",),))
    elif plan.baseline not in plan.variants:
        message = f"{show(plan.baseline)} is none of the variants: {', '.join(plan.variants)}"
        yield Problem(("baseline",), message, needs)
    elif len(plan.variants) == 1:
        message = f"{show(plan.baseline)} is the only variant: there is nothing to compare with it"
        yield Problem(("baseline",), message, needs)


# --- times ----------------------------------------------------------------------------------------


def _fault_times(plan: Plan) -> Iterator[Problem]:
    for place, fault in enumerate(plan.faults):
        path: Path = ("faults", place)
        if fault.every_us is not None:
            yield from _every(plan, path, fault.every_us, fault.after_us, fault.jitter_us)
            count = schedule.count_max(fault, plan.duration_us)
            if count > schedule.INJECTIONS_MAX:
                message = (
                    f"{count} injections are more than {schedule.INJECTIONS_MAX}: a longer time"
                )
                yield Problem((*path, "every"), message, (("duration",),))
        for number, at_us in enumerate(fault.at_us):
            if at_us >= plan.duration_us:
                message = f"{format_duration(at_us)} is after the end: {_duration(plan)}"
                yield Problem((*path, "at", number), message, (("duration",),))
            elif at_us in fault.at_us[:number]:
                message = f"{format_duration(at_us)} stands here twice: keep one"
                yield Problem((*path, "at", number), message)


def _every(
    plan: Plan, path: Path, every_us: int, after_us: int, jitter_us: int
) -> Iterator[Problem]:
    if after_us + every_us >= plan.duration_us:
        first = format_duration(after_us + every_us)
        message = f"would never happen: the first time is {first}, and {_duration(plan)}"
        yield Problem((*path, "every"), message, ((*path, "after"), ("duration",)))
    if jitter_us >= every_us:
        message = f"must be shorter than `every` ({format_duration(every_us)})"
        yield Problem((*path, "jitter"), message, ((*path, "every"),))


def _fault_lengths(plan: Plan) -> Iterator[Problem]:
    for place, fault in enumerate(plan.faults):
        key = "replace_after" if isinstance(fault, KillFault) else "for"
        length_us = getattr(fault, f"{key}_us", 0)
        if length_us >= plan.duration_us:
            message = f"{format_duration(length_us)} is longer than the run: {_duration(plan)}"
            yield Problem(("faults", place, key), message, (("duration",),))
        if isinstance(fault, LatencyFault) and fault.min_us > fault.max_us:
            message = f"is longer than `max` ({format_duration(fault.max_us)})"
            yield Problem(("faults", place, "min"), message, (("faults", place, "max"),))


def _duration(plan: Plan) -> str:
    return f"`duration` is {format_duration(plan.duration_us)}"


# --- workers and jobs -----------------------------------------------------------------------------


def _fleet(plan: Plan) -> Iterator[Problem]:
    count = plan.workers.count
    for place, fault in enumerate(plan.faults):
        if not isinstance(fault, RollingRestartFault):
            continue
        for key, number in (("max_surge", fault.max_surge),
                            ("max_unavailable", fault.max_unavailable)):  # fmt: skip
            if number > count:
                message = f"{number} is more than the fleet has: `workers.count` is {count}"
                yield Problem(("faults", place, key), message, (("workers",),))


def _bodies(plan: Plan) -> Iterator[Problem]:
    if not isinstance(plan.workload, SameKey):
        return
    job = plan.workload.job
    for place, body in enumerate(plan.workload.bodies):
        longest_us = _longest_us(body, job.timeout_us)
        if longest_us > plan.drain_us:
            message = (
                f"an attempt may go on for {format_duration(longest_us)}, longer than `drain` "
                f"({format_duration(plan.drain_us)}): what began last could not end in the run"
            )
            path: Path = ("workload", "bodies", place)
            yield Problem((*path, "takes"), message, (path, ("workload", "job"), ("drain",)))


def _longest_us(body: Body, timeout_us: int) -> int:
    """The longest that an attempt with this body can go on: a timeout cancels all but a thread."""
    takes_us = body.takes_us + body.spread_us
    if body.profile == "thread" or not timeout_us:
        return takes_us
    return min(takes_us, timeout_us) + (body.winds_down_us if body.profile == "stubborn" else 0)


def _ahead(plan: Plan) -> Iterator[Problem]:
    """What waits longer than the drain is still waiting when the run is judged."""
    waits: list[tuple[Path, int]] = []
    if isinstance(plan.workload, SameKey):
        waits.append((("workload", "job", "retry_delay"), plan.workload.job.retry_delay_us))
        if plan.workload.scheduled_share:
            waits.append((("workload", "scheduled_ahead"), plan.workload.scheduled_ahead_us))
    else:
        for place, call in enumerate(plan.workload.calls):
            waits.append((("workload", "calls", place, "scheduled_ahead"), call.scheduled_ahead_us))
    for path, wait_us in waits:
        if wait_us >= plan.drain_us:
            drain = format_duration(plan.drain_us)
            message = f"{format_duration(wait_us)} is not shorter than `drain` ({drain})"
            yield Problem(path, message, (("drain",), ("workload", "scheduled_share")))


def _amount(plan: Plan) -> Iterator[Problem]:
    if isinstance(plan.workload, SameKey):
        intervals_us = [plan.workload.interval_us]
    else:
        intervals_us = [call.interval_us for call in plan.workload.calls]
    jobs = sum(-(-plan.duration_us // interval_us) for interval_us in intervals_us)
    if jobs >= plan.limits.jobs:
        message = (
            f"this plan enqueues {jobs} jobs, and reaching the limit of {plan.limits.jobs} ends a "
            "run as UNKNOWN: raise the limit, or lower `rate` or `duration`"
        )
        yield Problem(("limits", "jobs"), message, (("workload",), ("duration",)))


def _calls(plan: Plan) -> Iterator[Problem]:
    if not isinstance(plan.workload, App):
        return
    if plan.workload.app is None:
        message = "`app` is missing: write `app: my.module:settings`, or give --app"
        yield Problem(("workload", "app"), message)
    for place, call in enumerate(plan.workload.calls):
        for word in _PLACEHOLDER.findall(call.key or ""):
            if word not in ("i", "n"):
                message = f"`{{{word}}}` is not filled in: a key has {{i}} and {{n}}"
                yield Problem(("workload", "calls", place, "key"), message)


# --- on the values as they are written -----------------------------------------------------------


def passwords(given: Any) -> Iterator[Problem]:
    """A plan is stored, shown and compared: a password must not be in it."""
    for path, value in paths_of(given):
        texts = list(value) if isinstance(value, dict) else [value]
        if any(isinstance(text, str) and _PASSWORD.search(text) for text in texts):
            yield Problem(
                path,
                "holds a URL with a password, and a plan is stored and shown: take it out "
                "(a function can read it from its environment; for Redis there is "
                "SAQCHAOS_REDIS_URL)",
            )


def untimed(given: Any) -> Iterator[Problem]:
    """What a fault's model says of a fault as a whole, said also while one of its keys is wrong."""
    for place, fault in enumerate(_list(_mapping(given).get("faults"))):
        known = _mapping(fault)
        if known.get("fault") in FAULTS and bool(known.get("every")) == bool(known.get("at")):
            yield Problem(("faults", place), NO_SCHEDULE)
        if known.get("max_surge") == 0 and known.get("max_unavailable", 0) == 0:
            yield Problem(("faults", place), NOTHING_MOVES)


def idle_keys(given: Any) -> Iterator[Problem]:
    """Keys that are given and that nothing acts on, by the other values beside them."""
    plan = _mapping(given)
    if plan.get("gate", "strict") == "strict" and "baseline" in plan:
        yield Problem(("baseline",), _idle("only gate `baseline` compares with it"), (("gate",),))
    workload = _mapping(plan.get("workload"))
    if workload.get("scheduled_share", 0) == 0 and "scheduled_ahead" in workload:
        yield Problem(
            ("workload", "scheduled_ahead"),
            _idle("`scheduled_share` is 0"),
            (("workload", "scheduled_share"),),
        )
    for place, body in enumerate(_list(workload.get("bodies"))):
        yield from _idle_in_body(("workload", "bodies", place), _mapping(body))
    for place, call in enumerate(_list(workload.get("calls"))):
        templates = (_mapping(call).get("key"), _mapping(call).get("kwargs"))
        if "spread" in _mapping(call) and not any(_mentions_n(value) for value in templates):
            path: Path = ("workload", "calls", place, "spread")
            yield Problem(path, _idle("no key and no argument of this call has {n} in it"))
    for place, fault in enumerate(_list(plan.get("faults"))):
        for key in ("jitter", "after"):
            if key in _mapping(fault) and "at" in fault and "every" not in fault:
                yield Problem(("faults", place, key), _idle("it belongs to `every`, not to `at`"))


_ACTED_ON_BY = {"beat": "heartbeat", "winds_down": "stubborn", "error": "raising"}


def _idle_in_body(path: Path, body: dict[str, Any]) -> Iterator[Problem]:
    profile = body.get("profile")
    for key, actor in _ACTED_ON_BY.items():
        if key in body and profile != actor and isinstance(profile, str):
            why = _idle(f"profile is {profile}, and only {actor} has it")
            yield Problem((*path, key), why, ((*path, "profile"),))


def _idle(why: str) -> str:
    return f"nothing acts on this key: {why}. Remove it"


def _mentions_n(value: Any) -> bool:
    return any(isinstance(inner, str) and "{n}" in inner for _, inner in paths_of(value))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
