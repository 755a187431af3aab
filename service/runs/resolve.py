"""From a RunRequest to a plan that may run here, and to what would happen in it.

    RunRequest ──plan by name or inline, overrides──► Plan ──policy──► Resolved ──► Start | Preview

A plan is the name of one that ships or that stands in `plans_dir`, or a JSON object; never a path.
What a request names is held against the settings before anything of it is looked at on disk.
Nothing here starts anything.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos import plan_file, variants
from chaos.clock import SECOND_US
from chaos.errors import PlanError, UsageError
from chaos.faults import check_world
from chaos.live.world import check_redis
from chaos.plan import App, Plan
from chaos.plan_file import Overrides
from chaos.schedule import injections
from service.errors import Invalid, NotAllowed, NotFound
from service.models import PlannedFault, Preview, RunRequest
from service.runs.messages import Start
from service.security.policy import app_of, check
from service.settings import Settings

FAULTS_SHOWN = 2_000
VALUES_MAX = 4_000  # a plan that ships has under a hundred; reading so many takes a moment
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


@dataclass(frozen=True, slots=True)
class Resolved:
    """A request that may run. `start` needs a run's name and folder to be complete."""

    plan: Plan
    world: str
    app: str | None
    python: Path | None
    redis_url: str | None

    def start(self, run: str, runs_dir: Path) -> Start:
        """What the runner is told."""
        return Start(
            run=run,
            plan=plan_file.dump(self.plan),
            runs_dir=str(runs_dir),
            world=self.world,
            app=self.app,
            python=str(self.python) if self.python else None,
            redis_url=self.redis_url,
        )


def plans(settings: Settings) -> dict[str, Path]:
    """The plans that this server offers, by name; one of `plans_dir` goes before a shipped one."""
    found = {name: plan_file.shipped_path(name) for name in plan_file.shipped()}
    if settings.plans_dir is not None and settings.plans_dir.is_dir():
        own = sorted(settings.plans_dir.glob("*.yaml"))
        found.update({path.stem: path for path in own if _NAME.fullmatch(path.stem)})
    return found


def resolve(request: RunRequest, settings: Settings, *, seed: int | None = None) -> Resolved:
    """The plan of a request, with its overrides in it, and what it runs on.

    Args:
        request: what is asked for.
        settings: what may be asked for.
        seed: the seed if the request has none; none: the plan's own.

    Raises:
        NotFound: there is no plan of that name.
        Invalid: the plan or a value of the request is wrong; it holds every problem.
        NotAllowed: it names something that the settings do not list.
    """
    _listed(request, settings)
    plan = _plan(request, settings, request.seed if request.seed is not None else seed)
    check(request, plan, settings)
    return _resolved(request, plan, settings)


def again(request: RunRequest, plan_yaml: str, settings: Settings) -> Resolved:
    """The same for a run that waited: its plan was read before, the settings may be others now.

    Raises:
        ServiceError: as `resolve`.
    """
    _listed(request, settings)
    try:
        plan = plan_file.loads(plan_yaml, "plan")
    except PlanError as error:
        raise Invalid("the plan is wrong", problems=tuple(error.problems)) from error
    check(request, plan, settings)
    return _resolved(request, plan, settings)


def _resolved(request: RunRequest, plan: Plan, settings: Settings) -> Resolved:
    app = app_of(request, plan, settings)
    redis = settings.redis[request.redis] if request.redis else None
    resolved = Resolved(
        plan=plan,
        world=request.world,
        app=app.settings if app else None,
        python=app.python if app else None,
        redis_url=redis.url.get_secret_value() if redis else None,
    )
    _check(resolved)
    return resolved


def _listed(request: RunRequest, settings: Settings) -> None:
    """Whether every name is one of the settings: before a plan is read, for its checks may look."""
    named = [*(request.variants or ()), *([request.baseline] if request.baseline else ())]
    if isinstance(request.plan, dict):
        named += [one for one in _list(request.plan.get("variants")) if isinstance(one, str)]
        baseline = request.plan.get("baseline")
        named += [baseline] if isinstance(baseline, str) else []
    _among("variant", named, settings.variants)
    _among("app", [request.app] if request.app else [], tuple(settings.apps))
    _among("Redis", [request.redis] if request.redis else [], tuple(settings.redis))
    _among("webhook", list(request.webhooks), tuple(settings.webhooks))


def _among(what: str, named: list[str], allowed: tuple[str, ...]) -> None:
    for name in named:
        if name not in allowed:
            there = ", ".join(allowed) or "none"
            raise NotAllowed(f"{what} {name[:100]!r} is not allowed here; there are: {there}")


def _plan(request: RunRequest, settings: Settings, seed: int | None) -> Plan:
    overrides = Overrides(
        variants=tuple(request.variants) if request.variants is not None else None,
        seed=seed,
        duration=request.duration,
        gate=request.gate,
        baseline=request.baseline,
        app=settings.apps[request.app].settings if request.app else None,
    )
    try:
        if isinstance(request.plan, dict):
            check_amount("the plan", request.plan)
            text = json.dumps(request.plan, ensure_ascii=False)
            return plan_file.loads(text, "plan", overrides)
        return _by_name(request.plan, settings, overrides)
    except PlanError as error:
        raise Invalid("the plan is wrong", problems=tuple(error.problems)) from error
    except (ValueError, RecursionError) as error:
        raise Invalid(f"the plan cannot be read: {error}") from error


def check_amount(what: str, data: Any) -> None:
    """Refuse JSON data of more values than anybody writes: each is read, judged and told.

    Raises:
        Invalid: it holds more than `VALUES_MAX`, its keys counted too.
    """
    left, count = [data], 0
    while left and count <= VALUES_MAX:
        value = left.pop()
        count += 1
        if isinstance(value, dict):
            count += len(value)
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
    if count > VALUES_MAX:
        raise Invalid(f"{what} holds more than {VALUES_MAX} keys and values: make it smaller")


def _by_name(name: str, settings: Settings, overrides: Overrides) -> Plan:
    offered = plans(settings)
    if name not in offered:
        raise NotFound(f"no plan is called {name!r}; there are: {', '.join(sorted(offered))}")
    try:
        text = offered[name].read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"plan {name!r} of this server cannot be read") from error
    return plan_file.loads(text, name, overrides)


def _check(resolved: Resolved) -> None:
    """What `soak` would refuse before it starts anything."""
    plan = resolved.plan
    if isinstance(plan.workload, App) and not (resolved.app or plan.workload.app):
        raise Invalid(f"plan {plan.plan!r} enqueues an app's functions: name an app")
    if resolved.app and not isinstance(plan.workload, App):
        raise Invalid(f"plan {plan.plan!r} enqueues jobs of its own, so an app has no part in it")
    if resolved.world == "sim" and resolved.redis_url:
        raise Invalid("the simulator has no Redis server: leave `redis` away, or `world: sim`")
    try:
        variants.parse_all(plan.variants)
        check_world(plan, resolved.world)
        if resolved.redis_url:
            check_redis(plan, resolved.redis_url, allow_external=True)
    except UsageError as error:
        raise Invalid(str(error)) from error


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# --- what would happen ----------------------------------------------------------------------------


def preview(resolved: Resolved) -> Preview:
    """What a run of it would do: its jobs, and every injection with its time."""
    plan = resolved.plan
    faults = sorted(
        (
            PlannedFault(
                fault=spec.fault, at_s=at_us / SECOND_US, for_s=_length_us(spec) / SECOND_US
            )
            for index, spec in enumerate(plan.faults)
            for at_us in injections(spec, index, plan.duration_us, plan.seed)
        ),
        key=lambda fault: fault.at_s,
    )
    return Preview(
        plan=plan.plan,
        plan_yaml=plan_file.dump(plan),
        seed=plan.seed,
        world="sim" if resolved.world == "sim" else "live",
        variants=list(plan.variants),
        gate=plan.gate,
        duration_s=plan.duration_us / SECOND_US,
        drain_s=plan.drain_us / SECOND_US,
        jobs=_jobs(plan),
        faults=faults[:FAULTS_SHOWN],
        faults_left_out=max(0, len(faults) - FAULTS_SHOWN),
    )


def _length_us(spec: Any) -> int:
    return int(getattr(spec, "for_us", getattr(spec, "replace_after_us", 0)))


def _jobs(plan: Plan) -> int:
    workload = plan.workload
    calls = workload.calls if isinstance(workload, App) else (workload,)
    jobs = sum(-(-plan.duration_us // call.interval_us) for call in calls)
    return min(plan.limits.jobs, jobs)
