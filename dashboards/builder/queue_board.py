"""The board "saq queue health": what is asked of any queue, whoever disturbs it."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards.builder.board import Row, board
from dashboards.builder.panels import BOTH, FULL, RATE, THIRD, Query, heat, lines, number

UID = "saq-queue-health"
TITLE = "saq queue health"
TEXT = "How much waits, how long jobs wait and run, how they end, and who works on them."


def queue_board() -> str:
    """The board as JSON."""
    return board(UID, TITLE, TEXT, [_now(), _flow(), _times(), _workers()])


def queue_jobs(states: str) -> str:
    """Unfinished jobs in these states."""
    return f'sum by (variant, state) (saq_queue_jobs{{{BOTH}, state=~"{states}"}})'


def quantile(share: float, name: str, over: str = RATE) -> str:
    """The time that a share of the jobs did not exceed."""
    rate = f"sum by (le, variant) (rate(saq_job_{name}_seconds_bucket{{{BOTH}}}[{over}]))"
    return f"histogram_quantile({share}, {rate})"


def _now() -> Row:
    failed = (
        f'sum by (variant) (increase(saq_jobs_finished_total{{{BOTH}, status="failed"}}[$__range]))'
    )
    done = f"sum by (variant) (increase(saq_jobs_finished_total{{{BOTH}}}[$__range]))"
    return "Now", (
        number(
            "Unfinished jobs",
            "Queued and active together.",
            "none",
            Query(queue_jobs("incomplete"), "{{variant}}", instant=True),
        ),
        number(
            "Share of jobs that failed",
            "Of those that ended in the range that is shown.",
            "percentunit",
            Query(f"{failed} / ({done} > 0)", "{{variant}}", instant=True),
        ),
        number(
            "Workers",
            "Worker processes that are alive.",
            "none",
            Query(f"sum by (variant) (saq_workers{{{BOTH}}})", "{{variant}}", instant=True),
            span=THIRD,
        ),
    )


def _flow() -> Row:
    return "Flow", (
        lines(
            "Jobs in the queue",
            "Queued: accepted and not begun, scheduled ones too. Active: taken by an attempt.",
            "none",
            Query(queue_jobs("queued|active"), "{{variant}} {{state}}"),
            stacked=True,
        ),
        lines(
            "Jobs finished",
            "By their first terminal status.",
            "cps",
            Query(
                f"sum by (variant, status) (rate(saq_jobs_finished_total{{{BOTH}}}[{RATE}]))",
                "{{variant}} {{status}}",
                exemplars=True,
            ),
            stacked=True,
        ),
        lines(
            "Jobs enqueued",
            "By what the queue said. Unclear: it failed, and may have happened.",
            "cps",
            Query(
                f"sum by (variant, outcome) (rate(saqchaos_jobs_enqueued_total{{{BOTH}}}[{RATE}]))",
                "{{variant}} {{outcome}}",
            ),
        ),
        lines(
            "Retries",
            "Jobs put back, by attempts and by sweeps.",
            "cps",
            Query(
                f"sum by (variant) (rate(saqchaos_retries_total{{{BOTH}}}[{RATE}]))", "{{variant}}"
            ),
        ),
        lines(
            "As the server counts",
            "Entries of saq's own lists when somebody last asked: while a run heals and drains.",
            "none",
            Query(f"sum by (variant) (saqchaos_queue_queued{{{BOTH}}})", "{{variant}} queued"),
            Query(f"sum by (variant) (saqchaos_queue_active{{{BOTH}}})", "{{variant}} active"),
            Query(
                f"sum by (variant) (saqchaos_queue_incomplete{{{BOTH}}})", "{{variant}} incomplete"
            ),
            span=FULL,
        ),
    )


def _times() -> Row:
    return "Times", (
        _quantiles("Wait", "From a job's enqueue to its first attempt.", "wait"),
        _quantiles("Run", "How long a job's function ran, each time that it ran.", "run"),
        _heat("Wait, all of it", "How many jobs waited how long.", "wait"),
        _heat("Run, all of it", "How many runs of a function took how long.", "run"),
        lines(
            "Mean",
            "Mean wait and run.",
            "s",
            Query(_mean("wait"), "{{variant}} wait"),
            Query(_mean("run"), "{{variant}} run"),
        ),
        lines(
            "Exact percentiles of the run",
            "Of everything since the current run began.",
            "s",
            Query(
                f"max by (variant, what, percentile) (saqchaos_job_seconds{{{BOTH}}})",
                "{{variant}} {{what}} {{percentile}} %",
            ),
        ),
    )


def _quantiles(title: str, text: str, name: str) -> Any:
    queries = [
        Query(quantile(share, name), f"{{{{variant}}}} {share * 100:g} %", exemplars=share == 0.99)
        for share in (0.5, 0.95, 0.99)
    ]
    return lines(title, text, "s", *queries)


def _mean(name: str) -> str:
    total, count = (
        f"sum by (variant) (rate(saq_job_{name}_seconds_{part}{{{BOTH}}}[{RATE}]))"
        for part in ("sum", "count")
    )
    return f"{total} / ({count} > 0)"


def _heat(title: str, text: str, name: str) -> Any:
    expr = f"sum by (le) (increase(saq_job_{name}_seconds_bucket{{{BOTH}}}[{RATE}]))"
    return heat(title, text, "s", Query(expr, "{{le}}", kind=PromQueryFormat.HEATMAP))


def _workers() -> Row:
    return "Workers", (
        lines(
            "Workers alive",
            "Worker processes.",
            "none",
            Query(f"sum by (variant) (saq_workers{{{BOTH}}})", "{{variant}}"),
        ),
        lines(
            "Attempts running",
            "Dequeued and not over yet.",
            "none",
            Query(f"sum by (variant) (saq_attempts_running{{{BOTH}}})", "{{variant}}"),
        ),
    )
