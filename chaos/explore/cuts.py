"""The cuts of shrinking: candidates that are smaller, shorter or plainer than a given one.

Pure functions over `Candidate`: none of them knows whether its result still fails. The order of the
candidates that one of them gives is the order in which they are worth a rerun.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from chaos.clock import MILLISECOND_US, SECOND_US, format_duration
from chaos.explore.rerun import Candidate
from chaos.plan import Body, Fault, FaultSpec, Plan, SameKey, Workers
from chaos.script import FixedScript, Injection, TimedEnqueue

Tape = Mapping[str, int]
# A cut of one place of a candidate (its n-th enqueue, …); None: there is no such place.
Cut = Callable[[Candidate, int], Iterator[Candidate] | None]

PLACES_MAX = 64
MARGIN_US = 50 * MILLISECOND_US  # after the finding, so that what it takes to be seen still happens
STEPS_US = (SECOND_US, 500_000, 100_000, 50_000, 10_000, 5_000, MILLISECOND_US)
CONCURRENCIES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


# --- first cuts -----------------------------------------------------------------------------------


def up_to(candidate: Candidate, at_us: int) -> Iterator[Candidate]:
    """Without what came after `at_us`: with the duration cut there too, or the script alone."""
    script = candidate.script
    kept = FixedScript(
        tuple(one for one in script.timed_enqueues if one.at_us <= at_us),
        tuple(one for one in script.timed_injections if one.at_us <= at_us),
    )
    cut = replace(candidate, script=kept)
    duration_us = at_us + MARGIN_US
    if duration_us < candidate.plan.duration_us:
        yield with_plan(cut, duration_us=duration_us)
    if kept != script:
        yield cut


def only_of(candidate: Candidate, key: str) -> Iterator[Candidate]:
    """Only the enqueues of one key."""
    enqueues = candidate.script.timed_enqueues
    kept = tuple(one for one in enqueues if one.command.key == key)
    if kept and len(kept) < len(enqueues):
        yield with_enqueues(candidate, kept)


# --- parts ----------------------------------------------------------------------------------------


def without_fault(candidate: Candidate, fault: int) -> Iterator[Candidate]:
    """Without all injections of one fault."""
    injections = candidate.script.timed_injections
    kept = tuple(one for one in injections if one.fault != fault)
    if len(kept) < len(injections):
        yield with_injections(candidate, kept)


def with_injections(candidate: Candidate, kept: tuple[Injection, ...]) -> Candidate:
    """The same with these injections."""
    return with_script(candidate, timed_injections=kept)


def with_enqueues(candidate: Candidate, kept: tuple[TimedEnqueue, ...]) -> Candidate:
    """The same with these enqueues."""
    return with_script(candidate, timed_enqueues=kept)


def with_tape(candidate: Candidate, kept: Sequence[str]) -> Candidate:
    """The same with these entries of its tape, if they are there: the others at their default."""
    tape = candidate.tape
    return replace(candidate, tape={name: tape[name] for name in kept if name in tape})


def without_whose(candidate: Candidate, whose: str) -> Candidate:
    """The same without the decisions of one connection, or of one kind."""
    tape = candidate.tape
    return replace(candidate, tape={name: tape[name] for name in tape if whose_is(name) != whose})


def whose_is(name: str) -> str:
    """Who decides: what a tape entry's name begins with."""
    return name.partition("|")[0]


def with_script(candidate: Candidate, **changes: Any) -> Candidate:
    """The same with parts of its script replaced."""
    return replace(candidate, script=msgspec.structs.replace(candidate.script, **changes))


def with_plan(candidate: Candidate, **changes: Any) -> Candidate:
    """The same with parts of its plan replaced."""
    return replace(candidate, plan=candidate.plan.model_copy(update=changes))


# --- sizes ----------------------------------------------------------------------------------------


def fewer_workers(candidate: Candidate) -> Iterator[Candidate]:
    """One worker, or half of them, or one fewer."""
    count = candidate.plan.workers.count
    for fewer in dict.fromkeys((1, count // 2, count - 1)):
        if 0 < fewer < count:
            yield _with_workers(candidate, count=fewer)


def less_concurrency(candidate: Candidate) -> Iterator[Candidate]:
    """The fewest jobs at a time, from one up."""
    concurrency = candidate.plan.workers.concurrency
    for less in CONCURRENCIES:
        if less < concurrency:
            yield _with_workers(candidate, concurrency=less)


def _with_workers(candidate: Candidate, **changes: int) -> Candidate:
    workers: Workers = candidate.plan.workers.model_copy(update=changes)
    return with_plan(candidate, workers=workers)


def shorter(candidate: Candidate, found_us: int) -> Iterator[Candidate]:
    """SAFETY ends with the script's last step, or soon after the finding, in round numbers."""
    last_us = max(times(candidate.script), default=0)
    for at_us in (last_us, found_us):
        duration_us = _rounded_up(at_us + 1)
        if duration_us < candidate.plan.duration_us:
            yield with_plan(candidate, duration_us=duration_us)


def times(script: FixedScript) -> list[int]:
    """When something happens in it."""
    return [
        *(one.at_us for one in script.timed_enqueues),
        *(one.at_us for one in script.timed_injections),
    ]


def _rounded_up(time_us: int) -> int:
    step_us = SECOND_US if time_us > 5 * SECOND_US else 100 * MILLISECOND_US
    return -(-time_us // step_us) * step_us


# --- bodies ---------------------------------------------------------------------------------------


def fewer_bodies(candidate: Candidate, place: int) -> Iterator[Candidate] | None:
    """Enqueue number `place` with the bodies of its first attempts only; the last serves on."""
    bodies = _bodies(candidate, place)
    if bodies is None:
        return None
    return (
        _with_bodies(candidate, place, bodies[:kept]) for kept in (1, 2, 3) if kept < len(bodies)
    )


def simpler_bodies(candidate: Candidate, place: int) -> Iterator[Candidate] | None:
    """Enqueue number `place` with quick bodies and round times, or one of the two."""
    bodies = _bodies(candidate, place)
    if bodies is None:
        return None
    if _is_thread(bodies):
        return iter(())
    takes_us = [body.get("takes_us", 0) for body in bodies]
    plainer = (
        [{"profile": "quick", "takes_us": _round(one_us)} for one_us in takes_us],
        [{"profile": "quick", "takes_us": one_us} for one_us in takes_us],
        [{**body, "takes_us": _round(body.get("takes_us", 0))} for body in bodies],
    )
    return (_with_bodies(candidate, place, changed) for changed in plainer if changed != bodies)


def _bodies(candidate: Candidate, place: int) -> list[dict[str, Any]] | None:
    """The bodies of enqueue number `place`; none for an app's job; None past the last enqueue."""
    enqueues = candidate.script.timed_enqueues
    if place >= len(enqueues):
        return None
    bodies: list[dict[str, Any]] = enqueues[place].command.kwargs.get("bodies", [])
    return bodies if isinstance(bodies, list) else []


def _is_thread(bodies: list[dict[str, Any]]) -> bool:
    """A job of the sync function has thread bodies, and no others."""
    return any(body.get("profile") == "thread" for body in bodies)


def _with_bodies(candidate: Candidate, place: int, bodies: list[dict[str, Any]]) -> Candidate:
    one = candidate.script.timed_enqueues[place]
    kwargs = {**one.command.kwargs, "bodies": bodies}
    return _with_enqueue(
        candidate, place, command=msgspec.structs.replace(one.command, kwargs=kwargs)
    )


def _with_enqueue(candidate: Candidate, place: int, **changes: Any) -> Candidate:
    enqueues = list(candidate.script.timed_enqueues)
    enqueues[place] = msgspec.structs.replace(enqueues[place], **changes)
    return with_enqueues(candidate, tuple(enqueues))


# --- values ---------------------------------------------------------------------------------------


def rounder(candidate: Candidate, place: int) -> Iterator[Candidate] | None:
    """Place 0: the script begins at 0. Then each of its times, to the roundest value near it."""
    script = candidate.script
    enqueues, injections = script.timed_enqueues, script.timed_injections
    if place == 0:
        return _from_zero(candidate)
    place -= 1
    if place < len(enqueues):
        at_us = enqueues[place].at_us
        return (_lasting(_with_enqueue(candidate, place, at_us=one)) for one in _near(at_us))
    place -= len(enqueues)
    if place < len(injections):
        return (
            _lasting(with_injections(candidate, _moved(injections, place, one)))
            for one in _near(injections[place].at_us)
        )
    return None


def _moved(injections: tuple[Injection, ...], place: int, at_us: int) -> tuple[Injection, ...]:
    """Injection number `place` at another time."""
    return (
        *injections[:place],
        Injection(at_us, injections[place].fault),
        *injections[place + 1 :],
    )


def _lasting(candidate: Candidate) -> Candidate:
    """SAFETY goes on until after the script's last step."""
    duration_us = _rounded_up(max(times(candidate.script)) + 1)
    if duration_us <= candidate.plan.duration_us:
        return candidate
    return with_plan(candidate, duration_us=duration_us)


def _from_zero(candidate: Candidate) -> Iterator[Candidate]:
    """The whole script earlier, so that its first step is at 0."""
    first_us = min(times(candidate.script), default=0)
    if first_us:
        yield replace(candidate, script=earlier(candidate.script, first_us))


def earlier(script: FixedScript, by_us: int) -> FixedScript:
    """The same script, everything of it earlier."""
    return FixedScript(
        tuple(
            msgspec.structs.replace(one, at_us=one.at_us - by_us) for one in script.timed_enqueues
        ),
        tuple(
            msgspec.structs.replace(one, at_us=one.at_us - by_us) for one in script.timed_injections
        ),
    )


def _near(time_us: int) -> Iterator[int]:
    """Rounder times near this one, the roundest first; none if it is as round as it can be."""
    far_us = max(time_us // 4, 5 * MILLISECOND_US)
    for step_us in STEPS_US:
        if time_us % step_us == 0:
            return
        below_us = time_us // step_us * step_us
        near = sorted((below_us, below_us + step_us), key=lambda one_us: abs(one_us - time_us))
        yield from (one_us for one_us in near if abs(one_us - time_us) <= far_us)


def _round(time_us: int) -> int:
    return next(_near(time_us), time_us)


# --- the plan -------------------------------------------------------------------------------------


def plainer_plan(candidate: Candidate) -> Iterator[Candidate]:
    """A plan that says what happens: faults `at` the times of the script, and its bodies alone."""
    injections = candidate.script.timed_injections
    used = sorted({one.fault for one in injections})
    faults = tuple(candidate.plan.faults[fault] for fault in used)
    moved = tuple(Injection(one.at_us, used.index(one.fault)) for one in injections)
    fewer = with_injections(with_plan(candidate, faults=faults), moved)
    fewer = replace(fewer, plan=at_times(fewer.plan, fewer.script))
    workload = _workload(candidate)
    plainer = (with_plan(fewer, workload=workload), fewer, with_plan(candidate, workload=workload))
    yield from (one for one in plainer if one != candidate)


def _workload(candidate: Candidate) -> Any:
    """The workload that has no more bodies and keys than the script; an app's stays."""
    workload = candidate.plan.workload
    if not isinstance(workload, SameKey):
        return workload
    commands = [one.command for one in candidate.script.timed_enqueues]
    bodies = [body for command in commands for body in command.kwargs.get("bodies", [])]
    changes: dict[str, Any] = {
        "keys": len({command.key for command in commands}),
        "bodies": tuple(dict.fromkeys(map(_as_spec, bodies))) or workload.bodies,
    }
    if not any(command.scheduled_in_us for command in commands):
        changes["scheduled_share"] = 0.0
    kept = workload.model_dump(mode="json", by_alias=True, exclude_unset=True)
    kept = {key: value for key, value in kept.items() if key not in ("scheduled_ahead", "bodies")}
    plain = (
        SameKey.model_validate_json(json.dumps(kept)) if "scheduled_share" in changes else workload
    )
    return plain.model_copy(update=changes)


def _as_spec(body: dict[str, Any]) -> Body:
    """A body of a job as a plan writes it."""
    texts = {
        key.removesuffix("_us"): format_duration(value) if key.endswith("_us") else value
        for key, value in body.items()
    }
    return Body.model_validate_json(json.dumps(texts))


def at_times(plan: Plan, script: FixedScript) -> Plan:
    """The plan whose faults come `at` the times of a script. What that never injects stays."""
    faults = [
        _at_times(spec, [one.at_us for one in script.timed_injections if one.fault == fault])
        for fault, spec in enumerate(plan.faults)
    ]
    return plan.model_copy(update={"faults": tuple(faults)})


def _at_times(spec: Fault, times_us: Sequence[int]) -> FaultSpec | Fault:
    """The same fault at these times; without any it stays as it is."""
    if not times_us:
        return spec
    data = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    data = {key: value for key, value in data.items() if key not in ("every", "jitter", "after")}
    data["at"] = [format_duration(one_us) for one_us in sorted(dict.fromkeys(times_us))]
    return type(spec).model_validate_json(json.dumps(data))


def for_finding(plan: Plan, promise: str, variant: str) -> Plan:
    """The plan of one variant that is judged by one promise, and by nothing else.

    What is no promise of the plan (a run that got stuck) leaves the plan's own.
    """
    promises = (promise,) if promise in plan.promises else plan.promises
    changes: dict[str, Any] = {"variants": (variant,), "promises": promises}
    if plan.baseline is not None or plan.gate != "strict":
        changes |= {"gate": "strict", "baseline": None}
    if plan.exposures:
        changes["exposures"] = {}
    if plan.thresholds:
        changes["thresholds"] = ()
    return plan.model_copy(update=changes)
