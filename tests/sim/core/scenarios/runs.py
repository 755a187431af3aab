"""Whole runs: kills at many moments, pauses, threads, errors, limits, an application."""

from __future__ import annotations

import gc
import logging
import sys
import threading
from typing import Any

from small_plans import kinds, plan, run, seed_bug, three_workers, told
from stage import report

from chaos.sim import seams
from chaos.sim.host import SimHost
from chaos.sim.kernel import Kernel
from chaos.sim.programs import Program
from chaos.sim.run_one import SimLimits
from chaos.sim.tape import FixedTape
from chaos.worker import host as worker_host
from chaos.worker import probe

VARIANT = sys.argv[1]
WORKER = f"{VARIANT}/worker-1.1"


def the_controller_tells_what_it_does() -> Any:
    result = run(plan(), VARIANT, tape={})
    own = [event for event in result.history if event.host == "controller"]
    texts = []
    for event in own:
        target = getattr(event, "target", "").rpartition("/")[2]
        detail = getattr(event, "phase", "") or getattr(event, "signal", "")
        code = getattr(event, "code", "")
        texts.append(" ".join(filter(None, [type(event).__name__, target, detail, str(code)])))
    return [result.ended, texts]


def a_worker_can_crash_at_any_moment() -> Any:
    moments = [*range(0, 60_000, 1_501), *range(60_000, 700_000, 23_003)]
    found = []
    for moment in moments:
        kill = {"fault": "kill", "at": [f"{moment}us"], "replace_after": "50ms"}
        result = run(plan(faults=[kill], bodies=[{"profile": "quick", "takes": "300ms"}]), VARIANT)
        exited = told(result.history, "HostExited", target=WORKER)
        after = [
            event for event in result.history if event.host == WORKER and event.n > exited[0].n
        ]
        ended = told(result.history, "HostEnded", host=WORKER)
        successor = told(result.history, "HostEnded", host=f"{VARIANT}/worker-1.2")
        found.append(
            [result.ended, exited[0].code, exited[0].expected, len(after), len(ended),
             len(successor)]
        )  # fmt: skip
    return [len(found), [list(one) for one in sorted({tuple(one) for one in found})]]


def a_paused_worker_is_silent() -> Any:
    pause = {"fault": "pause", "at": ["100ms"], "for": "500ms"}
    result = run(plan(faults=[pause]), VARIANT, tape={})
    stop, go = told(result.history, "HostSignalled", target=WORKER)[:2]
    between = [
        event for event in result.history if event.host == WORKER and stop.n < event.n < go.n
    ]
    body = told(result.history, "BodyEnded", host=WORKER)
    return [stop.signal, go.signal, go.t_us - stop.t_us, len(between), body[0].t_us == go.t_us]


def a_long_sync_body_goes_with_its_killed_worker() -> Any:
    result = run(
        plan(
            bodies=[{"profile": "thread", "takes": "30s"}], job={"timeout": "0s"}, drain="1s",
            workers={"grace": "1s"},
        ),
        VARIANT,
    )  # fmt: skip
    began = told(result.history, "BodyBegan")
    signals = [event.signal for event in told(result.history, "HostSignalled", target=WORKER)]
    exited = told(result.history, "HostExited", target=WORKER)[0]
    return [result.ended, [event.thread for event in began], len(told(result.history, "BodyEnded")),
            signals, exited.code]  # fmt: skip


def a_sync_body_takes_virtual_time() -> Any:
    result = run(plan(bodies=[{"profile": "thread", "takes": "300ms"}]), VARIANT)
    began, ended = (told(result.history, kind)[0] for kind in ("BodyBegan", "BodyEnded"))
    return [began.thread, ended.t_us - began.t_us, ended.outcome]


def a_short_sync_body_holds_up_the_end() -> Any:
    result = run(
        plan(
            bodies=[{"profile": "thread", "takes": "2500ms"}], job={"timeout": "0s"}, drain="1s",
            workers={"grace": "0s", "deadline": "100ms"},
        ),
        VARIANT,
    )  # fmt: skip
    body = told(result.history, "BodyEnded")[0]
    ended = told(result.history, "HostEnded", host=WORKER)[0]
    cancelled = told(result.history, "BodyCancelled")
    return [body.outcome, len(cancelled) > 0, 0 <= ended.t_us - body.t_us < 100_000]


def errors_belong_to_the_host_that_has_them() -> Any:
    restart = {"fault": "redis_restart", "at": ["800ms"], "for": "600ms"}
    result = run(plan(faults=[restart], workers={"count": 2}, duration="3s"), VARIANT)
    wheres: dict[str, list[str]] = {}
    strangers = 0
    for error in told(result.history, "ErrorRaised"):
        wheres.setdefault(error.host.rpartition("/")[2], []).append(error.where)
        same = [one for one in told(result.history, "CallReturned", host=error.host)
                if one.t_us == error.t_us and one.outcome == "fail"]  # fmt: skip
        strangers += not same
    return [result.ended, {host: sorted(set(found)) for host, found in wheres.items()}, strangers]


def an_error_that_is_only_logged_belongs_to_the_process() -> Any:
    kernel = Kernel(FixedTape({}), steps_max=9_999, steps_at_once_max=999, until_us=10**9)
    seen: dict[str, list[str]] = {"a": [], "b": []}

    class Sink:
        muted = False

        def __init__(self, name: str) -> None:
            self.name = name

        def record(self, kind: int, *args: Any, text: str = "", **fields: Any) -> None:
            seen[self.name].append(text.partition('"error":"')[2].partition('"')[0])

        record_fields = record

    async def main(sim: SimHost) -> None:
        program = Program(plan(), "stock", lambda _: None)
        settings = {"queue": worker_queue(), "functions": []}
        worker = worker_host.make_worker(program.config("worker", sim.name), settings)
        probe.PROCESS.set(probe.install_worker(worker, sim.sink, "salt"))
        try:
            raise LookupError(sim.name)
        except LookupError:
            if sim.name == "a":
                logging.getLogger("saq").exception("somewhere in saq")

    with seams.installed(kernel):
        for name in ("b", "a"):
            SimHost(kernel, name, "worker", Sink(name)).start(main)  # type: ignore[arg-type]
        kernel.run(until=kernel.hosts["a"])
        kernel.dispose()
    return seen


def worker_queue() -> Any:
    """A queue that is never connected."""
    from saq.queue.redis import RedisQueue

    return RedisQueue.from_url("redis://127.0.0.1:1")


def what_would_never_end_ends() -> Any:
    def ended(patch: str, **fields: Any) -> Any:
        result = run(plan(), VARIANT.replace("stock", patch), **fields)
        stand = [line for line in result.stacks.splitlines() if "own_workers.py" in line]
        return [result.ended, result.reason.replace(patch, "PATCH"), stand[:1],
                result.history[-1].reason]  # fmt: skip

    return {
        "livelock": ended("own_workers:Spinning"),
        "socket": ended("own_workers:Connecting"),
        "steps": ended("stock", limits=SimLimits(steps=50)),
        "virtual time": ended("stock", limits=SimLimits(virtual_us=200_000)),
    }


def a_worker_that_does_not_start_fails_the_world() -> Any:
    result = run(plan(), VARIANT.replace("stock", "own_workers:Failing"))
    return [result.ended, result.reason.splitlines()]


def a_limit_of_the_plan_is_an_event() -> Any:
    limited = plan(limits={"jobs": 10, "events": 30, "history_bytes": 1 << 20})
    result = run(limited, VARIANT)
    reached = told(result.history, "LimitReached")
    return [result.ended, [event.limit for event in reached], result.history[-1].reason]


def what_a_run_leaves_behind() -> Any:
    """Objects that stay alive after ten more runs, and threads."""
    for seed in range(3):
        run(three_workers(), VARIANT, seed)
        run(seed_bug(), VARIANT, seed)
    gc.collect()
    before = len(gc.get_objects())
    for seed in range(5):
        run(three_workers(), VARIANT, seed)
        run(seed_bug(), VARIANT, seed)
    gc.collect()
    return [len(gc.get_objects()) - before < 200, threading.active_count()]


def an_application_runs_in_each_host_anew() -> Any:
    calls = [
        {"function": "send", "key": "send-{i}", "kwargs": {"to": "someone-{i}"}, "rate": "4/s"},
        {"function": "render", "key": "page-{i}", "kwargs": {"to": "you"}, "rate": "2/s"},
    ]
    own = plan(workers={"count": 2}, workload={"kind": "app", "calls": calls})
    result = run(own, VARIANT, app="application:settings")
    bodies = told(result.history, "BodyEnded")
    return {
        "ended": result.ended,
        "bodies": len(bodies),
        "outcomes": sorted({body.outcome for body in bodies}),
        "threads": sum(event.thread for event in told(result.history, "BodyBegan")),
        "workers": sorted({body.host.rpartition("/")[2] for body in bodies}),
        "imported": "application" in sys.modules,
    }


def two_days_pass_quickly() -> Any:
    timers = {"schedule": "600s", "sweep": "600s", "worker_info": "600s", "abort": "600s"}
    load = {"kind": "same_key", "keys": 0, "rate": "1/h",
            "bodies": [{"profile": "quick", "takes": "1s"}]}  # fmt: skip
    result = run(plan(duration="48h", workload=load, workers={"timers": timers}), VARIANT)
    hours = result.virtual_us // 3_600_000_000
    return [result.ended, hours, kinds(result.history)["BodyEnded"] >= 48]


if __name__ == "__main__":
    report(
        the_controller_tells_what_it_does,
        a_worker_can_crash_at_any_moment,
        a_paused_worker_is_silent,
        a_long_sync_body_goes_with_its_killed_worker,
        a_sync_body_takes_virtual_time,
        a_short_sync_body_holds_up_the_end,
        errors_belong_to_the_host_that_has_them,
        an_error_that_is_only_logged_belongs_to_the_process,
        what_would_never_end_ends,
        a_worker_that_does_not_start_fails_the_world,
        a_limit_of_the_plan_is_an_event,
        what_a_run_leaves_behind,
        an_application_runs_in_each_host_anew,
        two_days_pass_quickly,
    )
