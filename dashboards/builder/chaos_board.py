"""The board "saq-chaos: chaos runs": what is done to a saq build, and what breaks."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards.builder.board import Row, board
from dashboards.builder.panels import (
    BOTH,
    FULL,
    HALF,
    JOB,
    RATE,
    RED_FROM_ONE,
    THIRD,
    Query,
    bars,
    lines,
    number,
    rows,
    states,
)

UID = "saq-chaos-runs"
TITLE = "saq-chaos: chaos runs"
TEXT = "What saq-chaos does to each saq build, how often the danger was met, and what broke."


def chaos_board() -> str:
    """The board as JSON."""
    return board(UID, TITLE, TEXT, [_now(), _broken(), _danger(), _attempts(), _service()])


def total(name: str, by: str = "variant") -> str:
    """How much a counter rose in the range that is shown."""
    return f"sum by ({by}) (increase(saqchaos_{name}_total{{{BOTH}}}[$__range]))"


def rate(name: str, by: str = "variant") -> str:
    """How fast a counter rises."""
    return f"sum by ({by}) (rate(saqchaos_{name}_total{{{BOTH}}}[{RATE}]))"


def now(name: str, by: str = "variant") -> str:
    """What a gauge shows."""
    return f"sum by ({by}) (saqchaos_{name}{{{BOTH}}})"


def _rates(title: str, text: str, name: str, label: str = "", **options: Any) -> Any:
    by = f"variant, {label}" if label else "variant"
    legend = f"{{{{variant}}}} {{{{{label}}}}}" if label else "{{variant}}"
    return lines(title, text, "cps", Query(rate(name, by), legend, exemplars=True), **options)


def _now() -> Row:
    running = f"count(count by (run) (saqchaos_run_info{{{JOB}}})) or vector(0)"
    outcomes = f"sum by (outcome) (increase(saqchaos_runs_total{{{JOB}}}[$__range]))"
    return "Now", (
        number(
            "Runs going on",
            "Runs that a service makes now; with a standing soak, 0 means that it stands still.",
            "none",
            Query(running, "runs", instant=True),
            span=4,
        ),
        number(
            "KeyErrors of saq",
            "KeyErrors that saq's own code raised in the range that is shown. One is one too many.",
            "none",
            Query(total("key_errors"), "{{variant}}", instant=True),
            span=THIRD,
            steps=RED_FROM_ONE,
        ),
        number(
            "Contexts orphaned now",
            "Attempts that abort() cannot reach at this moment, and contexts that outlived theirs.",
            "none",
            Query(now("orphaned_contexts_now"), "{{variant}}", instant=True),
            span=6,
            steps=RED_FROM_ONE,
        ),
        number(
            "Runs by outcome",
            "Runs that ended in the range that is shown.",
            "none",
            Query(outcomes, "{{outcome}}", instant=True),
            span=6,
        ),
        rows(
            "Current runs",
            "Which plan, seed, world and server each variant runs with.",
            Query(
                f"max by (run, plan, variant, world, seed, server) (saqchaos_run_info{{{BOTH}}})",
                "{{run}}",
                instant=True,
                kind=PromQueryFormat.TABLE,
            ),
            span=FULL,
        ),
    )


def _broken() -> Row:
    return "What broke", (
        bars(
            "Findings by promise",
            "Violations of a promise in the range that is shown, by variant.",
            "none",
            Query(total("findings", "variant, promise"), "{{variant}} {{promise}}", instant=True),
            span=FULL,
            steps=RED_FROM_ONE,
        ),
        _rates("KeyErrors", "KeyErrors that saq's own code raised.", "key_errors"),
        _rates(
            "Other internal errors",
            "Other exceptions that saq's own code raised.",
            "internal_errors",
        ),
        _rates(
            "Contexts orphaned",
            "Attempts that went out of abort()'s reach, by how they did.",
            "orphaned_contexts",
            "reason",
        ),
        lines(
            "Orphaned at each moment",
            "How many contexts are orphaned; it should fall back to 0.",
            "none",
            Query(now("orphaned_contexts_now"), "{{variant}}"),
        ),
        _rates(
            "Aborts by outcome",
            "What became of aborts of running attempts, and cancels that nobody asked for.",
            "aborted_attempts",
            "outcome",
            span=FULL,
        ),
    )


def _danger() -> Row:
    sweeps = (
        Query(rate("sweeps"), "{{variant}} sweeps"),
        Query(rate("swept"), "{{variant}} jobs swept"),
        Query(rate("swept_live"), "{{variant}} jobs swept while they ran"),
    )
    overlaps = (
        Query(rate("overlaps"), "{{variant}} attempts"),
        Query(rate("body_overlaps"), "{{variant}} bodies"),
    )
    return "How often the danger was met", (
        states(
            "Faults",
            "Injected and not healed yet, by fault.",
            "none",
            Query(
                f"max by (variant, fault) (saqchaos_fault_active{{{BOTH}}})",
                "{{variant}} {{fault}}",
            ),
        ),
        _rates(
            "Slot collisions",
            "Contexts registered over a live attempt's slot: what the same-key race needs. "
            "No errors without collisions prove nothing.",
            "slot_collisions",
        ),
        lines(
            "Overlaps", "Two attempts, or two bodies, of one key alive at once.", "cps", *overlaps
        ),
        lines("Sweeps", "Sweep calls, and the jobs that they aborted.", "cps", *sweeps),
        _rates(
            "Restarts",
            "Workers that replaced another one, by how that one ended.",
            "restarts",
            "kind",
        ),
        _rates("Faults injected", "Injections of any fault.", "faults_injected"),
        lines(
            "Aborts",
            "Acknowledged aborts, and those of running attempts that were judged.",
            "cps",
            Query(rate("aborts"), "{{variant}} acknowledged"),
            Query(rate("aborts_running"), "{{variant}} of running attempts"),
        ),
    )


def _attempts() -> Row:
    return "Attempts", (
        _rates("Attempts begun", "Jobs that a worker dequeued.", "attempts_begun"),
        _rates("Attempts by outcome", "How attempts ended.", "attempts", "outcome", stacked=True),
    )


def _service() -> Row:
    requests = f"sum by (status) (rate(saqchaos_http_requests_total{{{JOB}}}[{RATE}]))"
    seconds = f"sum by (le, route) (rate(saqchaos_http_request_seconds_bucket{{{JOB}}}[{RATE}]))"
    streams = f"sum(saqchaos_event_subscribers{{{JOB}}})"
    dropped = f"sum(rate(saqchaos_event_streams_dropped_total{{{JOB}}}[{RATE}]))"
    waiting = f"sum(saqchaos_queue_length{{{JOB}}})"
    return "The service", (
        lines("Runs waiting", "Runs in the queue.", "none", Query(waiting, "runs")),
        lines(
            "Requests",
            "Requests answered, by class of status.",
            "reqps",
            Query(requests, "{{status}}"),
        ),
        lines(
            "Time to answer",
            "99 % of requests were answered within this, by route.",
            "s",
            Query(f"histogram_quantile(0.99, {seconds})", "{{route}}"),
            span=HALF,
        ),
        lines(
            "Event streams",
            "Open streams, and those taken from readers that were too slow.",
            "none",
            Query(streams, "open"),
            Query(dropped, "dropped per second"),
        ),
    )
