"""A stage for the console: the real pages over literal answers, for states that take luck to meet.

A failing run half-way, a locked service, hostile texts, a stream that breaks: `/v1` is answered
from `service.models` here, so a page cannot be tested against a shape that the API does not have.
What a real service does is tested with a real one (`test_real_service.py`).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.responses import StreamingResponse

from chaos.reports import verdict_json
from chaos.verdict import (
    ExposureVerdict,
    Finding,
    GateVerdict,
    PromiseVerdict,
    ThresholdVerdict,
    VariantVerdict,
    Verdict,
)
from chaos.verdict import Outcome as Judged
from service.api import catalogue
from service.api.catalogue import Catalogue
from service.api.shapes import TargetList
from service.console.router import not_found, router
from service.models import (
    Comparison,
    ComparisonRow,
    EventData,
    GateSummary,
    Lock,
    PlannedFault,
    Preview,
    Problem,
    PromiseSummary,
    Run,
    RunPage,
    RunRequest,
    Schedule,
    ScheduleRequest,
    Session,
    VariantSummary,
    VariantTick,
)
from service.settings import Settings

VARIANTS = ["stock@0.26.3", "guarded@0.26.3", "stock@0.26.4"]
PROMISES = [
    "no-internal-errors", "no-orphaned-contexts", "aborts-honoured", "no-lost-jobs",
    "no-phantom-runs", "one-at-a-time", "terminal-is-final", "bounded-attempts",
]  # fmt: skip
BROKEN = {
    ("stock@0.26.3", "no-internal-errors"): 57,
    ("stock@0.26.3", "no-orphaned-contexts"): 389,
    ("stock@0.26.3", "one-at-a-time"): 412,
    ("guarded@0.26.3", "no-orphaned-contexts"): 371,
    ("guarded@0.26.3", "one-at-a-time"): 402,
    ("stock@0.26.4", "no-orphaned-contexts"): 366,
    ("stock@0.26.4", "one-at-a-time"): 398,
}
KEY_ERROR = "process() raised KeyError('saq:job:default:report-17') after the job had done its work"


def now() -> datetime:
    return datetime.now(UTC)


def run(name: str, **changes: Any) -> Run:
    """A run that failed two hours ago, or another one by `changes`."""
    began = now() - timedelta(hours=2)
    fields: dict[str, Any] = {
        "id": name, "state": "ended", "outcome": "failed", "exit_code": 1, "plan": "same-key",
        "world": "live", "seed": 7, "variants": VARIANTS, "gate": "baseline",
        "labels": {"pr": "412"}, "trigger": "api", "requested_by": "ci-deploy",
        "created_at": began, "started_at": began + timedelta(seconds=1),
        "ended_at": began + timedelta(seconds=119), "verdict": summaries(),
        "gate_answer": GateSummary(
            kind="baseline", passed=False,
            reasons=["guarded@0.26.3: no-orphaned-contexts is worse than on stock@0.26.3"],
        ),
        "events": 0,
    }  # fmt: skip
    return Run(**{**fields, **changes})


def summaries() -> list[VariantSummary]:
    """The promises of every variant, as the end of a same-key run has them."""
    return [
        VariantSummary(
            variant=variant,
            outcome="INVALID",
            promises=[
                PromiseSummary(
                    promise=promise,
                    outcome="INVALID" if (variant, promise) in BROKEN else "VALID",
                    count=BROKEN.get((variant, promise), 0),
                )
                for promise in PROMISES
            ],
            counters=counters(variant, 90),
        )
        for variant in VARIANTS
    ]


def counters(variant: str, at_s: float) -> dict[str, float]:
    """What a variant has counted after `at_s` seconds of load."""
    place = VARIANTS.index(variant)
    found: dict[str, float] = {
        "attempts": int(at_s * (21 + place)),
        "slot_collisions": int(at_s * 4.4),
        "key_errors": int(at_s * 0.63) if place == 0 else 0,
        "orphaned_contexts": int(at_s * 4.2),
        "orphaned_contexts_now": int(at_s * 7) % 9,
        "jobs_finished": int(at_s * 11),
        "sweeps": int(at_s * 2.8),
        "swept_live": int(at_s * 3.1),
        "aborts": int(at_s * 4),
        "retries": int(at_s * 5),
        "restarts": int(at_s // 20) * 2,
        "faults": int(at_s * 3.9),
        "queue_incomplete": 30 + int(at_s * 13) % 17,
        "job_wait_p99": 1.2 + (int(at_s) % 7) / 10,
        "job_run_p99": 2.31,
    }
    return {name: value for name, value in found.items() if value}


def verdict(name: str) -> Verdict:
    """verdict.json of that run, with findings that have evidence."""
    return Verdict(
        run=name, plan="same-key", world="live", seed=7, version="0.1.0",
        history_digest="0" * 64, variants=tuple(judged(variant) for variant in VARIANTS),
        gate=GateVerdict(
            gate="baseline", outcome=Judged.INVALID, baseline="stock@0.26.3",
            reasons=("guarded@0.26.3: no-orphaned-contexts is worse than on stock@0.26.3",),
        ),
        repeat=f"saq-chaos soak runs/{name}/plan.yaml", events=41_200,
    )  # fmt: skip


def judged(variant: str) -> VariantVerdict:
    """One variant of it."""
    return VariantVerdict(
        variant=variant, outcome=Judged.INVALID,
        promises=tuple(_promise(variant, promise) for promise in PROMISES),
        exposures=(ExposureVerdict(exposure="slot_collisions", count=396, required=300),),
        thresholds=(
            ThresholdVerdict(threshold="job_run_p99 < 5s", outcome=Judged.VALID, value=2.31),
        ),
        counters=counters(variant, 90), reasons=("promises are broken",), server="valkey 9.1.2",
        first_key_error_us=2_310_000 if variant == VARIANTS[0] else None,
    )  # fmt: skip


def _promise(variant: str, promise: str) -> PromiseVerdict:
    count = BROKEN.get((variant, promise), 0)
    findings = (
        Finding(kind="KeyError", message=KEY_ERROR, job="report-17", events=(2, 3)),
        Finding(kind="KeyError", message=KEY_ERROR, job="report-3", events=(4,)),
    )
    return PromiseVerdict(
        promise=promise, outcome=Judged.INVALID if count else Judged.VALID, count=count,
        exposure=396, exposure_name="slot_collisions", kinds={"KeyError": count} if count else {},
        findings=findings if count else (),
    )  # fmt: skip


HISTORY = """\
{"event":"attempt-began","n":1,"t_us":500000,"host":"worker-1.1","job":"report-17"}
{"event":"slot-overwritten","n":2,"t_us":1000000,"host":"worker-1.1","job":"report-17"}
{"event":"slot-missed","n":3,"t_us":1500000,"host":"worker-1.1","job":"report-17"}
{"event":"error-raised","n":4,"t_us":2000000,"host":"worker-1.1","job":"report-17"}
"""


def events_of(one: Run, seconds: int) -> list[tuple[str, EventData, float]]:
    """(type, data, seconds since it began) of a run up to some second of its load."""
    found: list[tuple[str, EventData, float]] = [
        ("state", EventData(state="running", text="began"), 0.0),
        ("note", EventData(text="valkey 9.1.2 came up for each variant"), 1.2),
    ]
    found += [("phase", EventData(variant=name, phase="safety"), 2.0) for name in one.variants]
    for second in range(2, seconds):
        found += [event for name in one.variants for event in _faults(name, second)]
        found.append(("tick", _tick(one, second), float(second)))
        if second == 6:
            data = EventData(
                variant=VARIANTS[0], promise="no-internal-errors", count=3, text=KEY_ERROR
            )
            found.append(("finding", data, 6.3))
        if second == 9:
            found += [
                ("finding", EventData(variant=name, promise="no-orphaned-contexts", count=31), 9.1)
                for name in one.variants
            ]
    return found


def _faults(variant: str, second: int) -> list[tuple[str, EventData, float]]:
    def data(fault: str, number: int, change: Any, by: str | None = None) -> EventData:
        return EventData(variant=variant, fault=fault, number=number, change=change, by=by)

    found = [
        ("fault", data("sweep", second * 3 + part, change), second + part * 0.33 + shift)
        for part in range(3)
        for change, shift in (("injected", 0.0), ("healed", 0.08))
    ]
    if second % 20 == 19:
        found.append(("fault", data("rolling_restart", 0 + second, "injected"), second + 0.1))
        found.append(("fault", data("rolling_restart", 0 + second, "healed"), second + 4.6))
    if second == 31:
        found.append(("fault", data("kill", 900, "injected", "on-call"), second + 0.4))
    return found


def _tick(one: Run, second: int) -> EventData:
    ticks = [
        VariantTick(
            variant=name, phase="safety", left_s=92.0 - second,
            counters=counters(name, second - 2), faults_active=["sweep"],
        )
        for name in one.variants
    ]  # fmt: skip
    return EventData(at_s=float(second), variants=ticks)


class Stage:
    """What the answers are made of; a test changes it as it likes."""

    def __init__(self) -> None:
        self.runs = {one.id: one for one in some_runs()}
        self.role = "admin"
        self.signed_in = True
        self.locked = Lock(locked=False)
        self.targets = TargetList(apps=[], redis=[], webhooks=[])
        self.seconds = 48
        self.breaks = 0  # how many of the next event streams break in the middle
        self.refuses = 0  # how many event streams after the first are refused with 503
        self.is_broken_late = False  # a promise breaks a second after the rest was told
        self.streams: list[str | None] = []  # Last-Event-ID of each stream that was opened
        self.asked: list[RunRequest] = []
        self.injected: list[Any] = []
        self.story = "<!doctype html><title>Story</title><h1>How it came about</h1>"

    def app(self) -> FastAPI:
        """The pages and the answers."""
        app = FastAPI()
        app.include_router(router)
        app.state.stage = self
        _list_routes(app, self)
        _run_routes(app, self)
        _other_routes(app, self)
        app.add_exception_handler(404, lambda request, error: not_found())
        return app


def some_runs() -> list[Run]:
    """One of each kind, the newest first."""
    began = now() - timedelta(seconds=48)
    return [
        run("r7-waits", state="queued", outcome=None, exit_code=None, verdict=None,
            gate_answer=None, started_at=None, ended_at=None, place=1, labels={},
            created_at=now(), trigger="schedule", schedule="nightly"),
        run("r6-goes-on", state="running", outcome=None, exit_code=None, verdict=None,
            gate_answer=None, started_at=began, ended_at=None, phase="safety", created_at=began,
            trigger="standing", requested_by="standing", labels={}),
        run("r5-failed"),
        run("r4-passed", outcome="passed", exit_code=0, plan="smoke", variants=["stock@0.26.4"],
            gate="strict", labels={"pr": "411", "branch": "release/2026-11"},
            gate_answer=GateSummary(kind="strict", passed=True, reasons=[]),
            verdict=[one.model_copy(update={"outcome": "VALID", "promises": one.promises[3:5]})
                     for one in summaries()[2:]]),
        run("r3-unknown", outcome="unknown", exit_code=3, world="sim"),
        run("r2-error", outcome="error", exit_code=4, verdict=None, gate_answer=None,
            error="the Redis server of stock@0.26.3 did not start: address in use"),
        run("r1-interrupted", outcome="interrupted", exit_code=130),
        run("r0-stopped", outcome="stopped", exit_code=130),
    ]  # fmt: skip


def answer(model: Any, status: int = 200) -> Response:
    return Response(model.model_dump_json(), status, media_type="application/json")


def problem(status: int, title: str, detail: str, *problems: str) -> Response:
    body = Problem(type="urn:x", title=title, status=status, detail=detail, problems=list(problems))
    return JSONResponse(body.model_dump(), status, media_type="application/problem+json")


def _list_routes(app: FastAPI, stage: Stage) -> None:
    shelf = Catalogue(Settings())

    @app.get("/v1/session")
    def session() -> Response:
        if not stage.signed_in:
            return problem(401, "Who are you?", "sign in")
        return answer(Session(name="on-call", role=stage.role, csrf="c5"))

    @app.post("/v1/session")
    async def log_in(request: Request) -> Response:
        if (await request.json())["token"] != "right":
            return problem(401, "Who are you?", "the token is not one of this service")
        stage.signed_in = True
        return answer(Session(name="on-call", role="admin", csrf="c5"))

    app.get("/v1/plans")(shelf.plans)
    app.get("/v1/plans/{name}")(shelf.plan)
    app.get("/v1/variants")(shelf.variants)
    app.get("/v1/targets")(lambda: stage.targets)
    app.get("/v1/faults")(catalogue.faults)
    app.get("/v1/checkers")(catalogue.checkers)

    @app.get("/v1/lock")
    def lock() -> Response:
        return answer(stage.locked)

    @app.put("/v1/lock")
    async def put_lock(request: Request) -> Response:
        reason = (await request.json())["reason"]
        stage.locked = Lock(locked=True, reason=reason, by="on-call", at=now())
        return answer(stage.locked)

    @app.delete("/v1/lock")
    def release() -> Response:
        stage.locked = Lock(locked=False)
        return answer(stage.locked)


def _run_routes(app: FastAPI, stage: Stage) -> None:
    @app.get("/v1/runs")
    def runs(state: str = "", outcome: str = "", plan: str = "") -> Response:
        found = [
            one
            for one in stage.runs.values()
            if state in ("", one.state) and outcome in ("", one.outcome) and plan in ("", one.plan)
        ]
        return answer(RunPage(runs=found))

    @app.post("/v1/runs")
    async def start(request: Request) -> Response:
        wanted = RunRequest.model_validate(await request.json())
        stage.asked.append(wanted)
        if isinstance(wanted.plan, dict):
            return problem(422, "The request is wrong", "2 problems", "workers: missing", "keys: 0")
        return answer(preview(wanted)) if wanted.dry_run else answer(stage.runs["r6-goes-on"], 201)

    @app.get("/v1/runs/{name}")
    def one(name: str) -> Response:
        if name not in stage.runs:
            return problem(404, "There is no such thing", f"no run is called {name!r}")
        return answer(stage.runs[name])

    @app.get("/v1/runs/{name}/events")
    def events(name: str, request: Request, after: int = 0) -> Response:
        last = request.headers.get("last-event-id")
        if stage.streams and stage.refuses:
            stage.refuses -= 1
            return problem(503, "Not now", "the service is starting")
        stage.streams.append(last or (str(after) if after else None))
        stream = _stream(stage, stage.runs[name], int(last or after))
        return StreamingResponse(stream, media_type="text/event-stream")

    @app.post("/v1/runs/{name}/faults", status_code=202)
    async def inject(name: str, request: Request) -> dict[str, Any]:
        wanted = await request.json()
        stage.injected.append(wanted)
        return {"run": name, "fault": wanted["fault"]["fault"], "variants": VARIANTS}


async def _stream(stage: Stage, one: Run, after: int) -> AsyncIterator[str]:
    import asyncio

    began = one.started_at or one.created_at
    listed = events_of(one, stage.seconds) if one.state == "running" else []
    breaks = stage.breaks > 0
    stage.breaks -= breaks
    for number, (kind, data, at_s) in enumerate(listed, 1):
        if breaks and number > len(listed) // 2:
            return
        if number <= after:
            continue
        at = began + timedelta(seconds=at_s)
        said = {"run": one.id, "at": at.isoformat(), **data.model_dump(exclude_none=True)}
        yield f"id: {number}\nevent: {kind}\ndata: {json.dumps(said)}\n\n"
    if stage.is_broken_late:
        await asyncio.sleep(1)
        late = EventData(variant=VARIANTS[2], promise="no-lost-jobs", count=1)
        said = {"run": one.id, "at": now().isoformat(), **late.model_dump(exclude_none=True)}
        yield f"id: {len(listed) + 1}\nevent: finding\ndata: {json.dumps(said)}\n\n"
    await asyncio.sleep(600)


def preview(wanted: RunRequest) -> Preview:
    """What same-key would do."""
    sweeps = [PlannedFault(fault="sweep", at_s=0.35 * n, for_s=0.02) for n in range(1, 256)]
    restarts = [PlannedFault(fault="rolling_restart", at_s=at_s, for_s=4.0) for at_s in (20, 40)]
    return Preview(
        plan=str(wanted.plan), plan_yaml="plan: same-key\nduration: 90s\n", seed=wanted.seed or 1,
        world=wanted.world, variants=wanted.variants or VARIANTS, gate=wanted.gate or "baseline",
        duration_s=90.0, drain_s=20.0, jobs=1_620, faults=[*sweeps, *restarts],
    )  # fmt: skip


def row(variant: str, what: Any, name: str, a: Any, b: Any, **more: Any) -> ComparisonRow:
    """A row of a comparison."""
    return ComparisonRow(variant=variant, what=what, name=name, a=a, b=b, **more)


def _other_routes(app: FastAPI, stage: Stage) -> None:
    @app.get("/v1/runs/{name}/verdict")
    def verdict_of(name: str) -> Response:
        if stage.runs[name].verdict is None:
            return problem(404, "There is no such thing", f"run {name} left no verdict.json")
        return Response(verdict_json.render(verdict(name)), media_type="application/json")

    app.get("/v1/runs/{name}/history")(lambda name: PlainTextResponse(HISTORY))
    app.get("/v1/runs/{name}/story")(
        lambda name: HTMLResponse(
            stage.story, headers={"Content-Security-Policy": "sandbox; default-src 'none'"}
        )
    )

    @app.post("/v1/runs/{a}/compare/{b}")
    def compare(a: str, b: str) -> Response:
        first, last = VARIANTS[0], VARIANTS[2]
        rows = [
            row(first, "promise", "no-internal-errors", "VALID", "INVALID", worse=True, p=0.00002),
            row(first, "counter", "key_errors", 0.0, 57.0, worse=True, p=0.00002),
            row(first, "counter", "job_wait_p99", 1.2, 0.9),
            row(last, "promise", "one-at-a-time", "INVALID", "VALID", worse=False),
            row(last, "counter", "attempts", 2070.0, 2070.0),
        ]
        return answer(Comparison(a=stage.runs[a], b=stage.runs[b], same_plan=False, rows=rows))

    @app.get("/v1/schedules")
    def schedules() -> dict[str, list[Schedule]]:
        request = ScheduleRequest(name="nightly", cron="0 3 * * *", run=RunRequest(plan="same-key"))
        made = Schedule(
            request=request, created_by="on-call", created_at=now(),
            next_at=now() + timedelta(hours=9), last_run="r5-failed", last_at=now(),
        )  # fmt: skip
        return {"schedules": [made]}
