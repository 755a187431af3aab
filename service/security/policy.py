"""What a request may name: what the settings list, and nothing else.

    RunRequest ─► Plan (read, the request's values in it) ─► check ─► a run
    FaultRequest ─► FaultSpec ─────────────────────────────► check_fault ─► an injection

Variants, apps, Redis servers and webhooks are compared with the settings literally: no text of a
request is ever a path, a URL or a module to import. A plan that comes with the request may not pass
such a text to an app's functions either, since those may open what they are given; an operator who
wants that puts the plan into `plans_dir`. All problems are told at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from chaos import schedule
from chaos.clock import SECOND_US, format_duration
from chaos.plan import SERVER_FAULTS, App, FaultSpec, Limits, Plan, RollingRestartFault
from service.errors import NotAllowed
from service.models import RunRequest
from service.settings import AllowedApp, Settings

HOSTS_MAX = 128
INJECTIONS_MAX = 20_000
FAULT_US_MAX = 3_600 * SECOND_US
_SHOWN = 20
_DEPTH_MAX = 100
_REACHES_OUT = re.compile(r"\s*([~/\\]|\.\.?[/\\]|[A-Za-z]:[/\\]|file:)|.*(:|^)//", re.DOTALL)


def check(request: RunRequest, plan: Plan, settings: Settings) -> None:
    """Refuse a run that names or costs what the operator has not allowed.

    Args:
        request: as it came.
        plan: what it would run: read, with the request's variants, gate and duration in it.
        settings: what is allowed.

    Raises:
        NotAllowed: all of it, in `problems`.
    """
    inline = not isinstance(request.plan, str)
    problems = [
        *_variants(request, plan, settings),
        *_names(request, settings),
        *_app(request, plan, settings),
        *_server_faults((spec.fault for spec in plan.faults), request.redis),
        *_length(plan, settings),
        *(_size(request, plan) if inline else ()),
        *(_arguments(plan) if inline else ()),
    ]
    _refuse(problems)


def check_fault(
    spec: FaultSpec, plan: Plan, settings: Settings, *, redis: str | None = None
) -> None:
    """Refuse a fault that a request injects into a running plan.

    Args:
        spec: the fault, as a plan has it.
        plan: of the run.
        settings: what is allowed.
        redis: the name of the run's Redis in the settings; None: embedded.

    Raises:
        NotAllowed: it acts on somebody else's server, would outlast a run, or starts too much.
    """
    problems = list(_server_faults([getattr(spec, "fault", "")], redis))
    length_us = max(
        (getattr(spec, name, 0) for name in ("for_us", "wait_us", "replace_after_us")), default=0
    )
    longest_us = min(settings.limits.run_s * SECOND_US, FAULT_US_MAX)
    if length_us > longest_us:
        problems.append(
            f"a fault of {format_duration(length_us)}: at most {format_duration(longest_us)}"
        )
    surge = spec.max_surge if isinstance(spec, RollingRestartFault) else 0
    problems += _hosts(plan.workers.count + surge, len(plan.variants))
    _refuse(problems)


def app_of(request: RunRequest, plan: Plan, settings: Settings) -> AllowedApp | None:
    """The app that a request which `check` lets pass runs with, by name or as its plan says."""
    if request.app is not None:
        return settings.apps.get(request.app)
    wanted = plan.workload.app if isinstance(plan.workload, App) else None
    return next((app for app in settings.apps.values() if app.settings == wanted), None)


def _refuse(problems: list[str]) -> None:
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise NotAllowed(problems[0] + more, problems=tuple(problems))


def _variants(request: RunRequest, plan: Plan, settings: Settings) -> Iterator[str]:
    named = [*plan.variants, *(request.variants or ())]
    if plan.gate == "baseline" and plan.baseline is not None:
        named.append(plan.baseline)
    if request.baseline is not None:
        named.append(request.baseline)
    for variant in dict.fromkeys(named):
        if variant not in settings.variants:
            yield _unlisted("variant", variant, settings.variants, "SAQCHAOS_VARIANTS")
    most = settings.limits.live_variants
    if len(plan.variants) > most:
        yield f"{len(plan.variants)} variants: at most {most} (SAQCHAOS_LIMITS__LIVE_VARIANTS)"


def _names(request: RunRequest, settings: Settings) -> Iterator[str]:
    if request.app is not None and request.app not in settings.apps:
        yield _unlisted("app", request.app, settings.apps, "SAQCHAOS_APPS")
    if request.redis is not None and request.redis not in settings.redis:
        yield _unlisted("Redis", request.redis, settings.redis, "SAQCHAOS_REDIS")
    if request.redis is not None and request.world == "sim":
        yield f"Redis {request.redis!r}: the simulator has a Redis of its own; leave `redis` out"
    for name in request.webhooks:
        if name not in settings.webhooks:
            yield _unlisted("webhook", name, settings.webhooks, "SAQCHAOS_WEBHOOKS")


def _app(request: RunRequest, plan: Plan, settings: Settings) -> Iterator[str]:
    workload = plan.workload
    if not isinstance(workload, App) or request.app is not None:
        return
    if workload.app is None:
        yield "the plan calls functions of an app and names none: set `app` to one of the server's"
    elif all(workload.app != app.settings for app in settings.apps.values()):
        listed = [app.settings for app in settings.apps.values()]
        yield _unlisted("app", workload.app, listed, "SAQCHAOS_APPS")


def _server_faults(faults: Iterable[str], redis: str | None) -> Iterator[str]:
    if redis is None:
        return
    refused = [fault for fault in dict.fromkeys(faults) if fault in SERVER_FAULTS]
    if refused:
        yield (
            f"{', '.join(refused)} acts on the Redis server itself, and {redis!r} is not this "
            f"service's own: take it out, or leave `redis` out"
        )


def _length(plan: Plan, settings: Settings) -> Iterator[str]:
    turns = len(plan.variants) if plan.order == "in-turn" else 1
    takes_us = turns * (plan.duration_us + plan.drain_us)
    if takes_us > settings.limits.run_s * SECOND_US:
        each = f"{turns} variants in turn, each " if turns > 1 else ""
        yield (
            f"{each}{format_duration(plan.duration_us)} and {format_duration(plan.drain_us)} of "
            f"drain: a run may take {settings.limits.run_s}s (SAQCHAOS_LIMITS__RUN_S)"
        )


def _size(request: RunRequest, plan: Plan) -> Iterator[str]:
    """A plan that comes with a request stays within what a plan is allowed by default."""
    usual = Limits()
    for name in ("jobs", "events", "history_bytes"):
        wanted, most = getattr(plan.limits, name), getattr(usual, name)
        if wanted > most:
            yield f"limits.{name} {wanted}: at most {most} in a plan that a request brings"
    injections = sum(schedule.count_max(spec, plan.duration_us) for spec in plan.faults)
    if injections > INJECTIONS_MAX:
        yield f"{injections} injections: at most {INJECTIONS_MAX} in a plan that a request brings"
    if request.world == "live":
        surges = [spec.max_surge for spec in plan.faults if isinstance(spec, RollingRestartFault)]
        at_once = len(plan.variants) if plan.order == "side-by-side" else 1
        yield from _hosts(plan.workers.count + max(surges, default=0), at_once)


def _hosts(workers: int, variants: int) -> Iterator[str]:
    if workers * variants > HOSTS_MAX:
        yield (
            f"{workers} workers (a surge among them) on {variants} variants at the same time: at "
            f"most {HOSTS_MAX} processes"
        )


def _arguments(plan: Plan) -> Iterator[str]:
    """Texts for the app's functions that name a place: a URL, or a path."""
    if not isinstance(plan.workload, App):
        return
    for index, call in enumerate(plan.workload.calls):
        for name, value in (("kwargs", call.kwargs), ("job.meta", call.job.meta)):
            for text in _texts(value, _DEPTH_MAX):
                if _REACHES_OUT.match(text):
                    yield (
                        f"workload.calls.{index}.{name} holds {text[:100]!r}, a URL or a path: a "
                        f"plan that a request brings may hold none"
                    )


def _texts(value: Any, depth: int) -> Iterator[str]:
    """Every text of JSON data, keys too. (Bodies nest far less than `depth`.)"""
    if depth == 0:
        raise NotAllowed("the arguments in the plan nest too deeply")
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner, depth - 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, depth - 1)


def _unlisted(what: str, wanted: str, listed: Iterable[str], variable: str) -> str:
    names = list(listed)
    shown = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
    return (
        f"{what} {wanted[:200]!r} is not one that this server offers ({shown or 'none'}): the "
        f"operator lists them in {variable}"
    )
