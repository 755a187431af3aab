"""Prometheus: recording rules, alerts, and their configuration, as data that becomes YAML.

An alert speaks of what somebody must look at; its `runbook` points at the section of
docs/runbooks.md that says what it means and what to do. Every alert has one, by test.
"""

from __future__ import annotations

import msgspec
import yaml

RUNBOOKS = "docs/runbooks.md"


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that stores what many ask for."""

    record: str
    expr: str


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that tells somebody. `lasts` is how long it must be true first."""

    name: str
    expr: str
    lasts: str
    severity: str
    summary: str
    description: str

    @property
    def runbook(self) -> str:
        return f"{RUNBOOKS}#{self.name.lower()}"


RECORDINGS = (
    Recording(
        record="variant:saqchaos_key_errors:rate5m",
        expr="sum by (job, variant) (rate(saqchaos_key_errors_total[5m]))",
    ),
    Recording(
        record="variant:saqchaos_slot_collisions:rate5m",
        expr="sum by (job, variant) (rate(saqchaos_slot_collisions_total[5m]))",
    ),
    Recording(
        record="variant:saq_jobs_finished:rate5m",
        expr="sum by (job, variant) (rate(saq_jobs_finished_total[5m]))",
    ),
    Recording(
        record="variant:saq_jobs_failed:ratio_rate5m",
        expr='sum by (job, variant) (rate(saq_jobs_finished_total{status="failed"}[5m])) '
        "/ (variant:saq_jobs_finished:rate5m > 0)",
    ),
    Recording(
        record="variant:saq_job_wait_seconds:p99_5m",
        expr="histogram_quantile(0.99, "
        "sum by (job, variant, le) (rate(saq_job_wait_seconds_bucket[5m])))",
    ),
    Recording(
        record="variant:saq_job_run_seconds:p99_5m",
        expr="histogram_quantile(0.99, "
        "sum by (job, variant, le) (rate(saq_job_run_seconds_bucket[5m])))",
    ),
)

ALERTS = (
    Alert(
        name="SaqInternalKeyErrors",
        expr="sum by (job, variant) (increase(saqchaos_key_errors_total[5m])) > 0",
        lasts="0s",
        severity="critical",
        summary="saq raised KeyError on {{ $labels.variant }}",
        description="{{ $value | humanize }} KeyErrors of saq's own in 5 minutes: jobs that "
        "succeeded are being retried or failed.",
    ),
    Alert(
        name="SaqInternalErrors",
        expr="sum by (job, variant) (increase(saqchaos_internal_errors_total[5m])) > 0",
        lasts="0s",
        severity="critical",
        summary="saq raised an error of its own on {{ $labels.variant }}",
        description="{{ $value | humanize }} internal errors other than KeyError in 5 minutes.",
    ),
    Alert(
        name="SaqOrphanedContexts",
        expr="sum by (job, variant) (saqchaos_orphaned_contexts_now) > 0",
        lasts="1m",
        severity="warning",
        summary="Running attempts on {{ $labels.variant }} cannot be aborted",
        description="{{ $value }} contexts have been out of abort()'s reach for a minute.",
    ),
    Alert(
        name="SaqChaosPromiseBroken",
        expr="sum by (job, variant, promise) (increase(saqchaos_findings_total[10m])) > 0",
        lasts="0s",
        severity="warning",
        summary="{{ $labels.promise }} is broken on {{ $labels.variant }}",
        description="{{ $value | humanize }} new findings in 10 minutes.",
    ),
    Alert(
        name="SaqChaosRunFailed",
        expr='sum by (job) (increase(saqchaos_runs_total{outcome=~"failed|error"}[15m])) > 0',
        lasts="0s",
        severity="warning",
        summary="A chaos run failed",
        description="A run ended as failed (its gate said no) or error (its world broke).",
    ),
    Alert(
        name="SaqChaosRunsWait",
        expr="min by (job) (min_over_time(saqchaos_queue_length[30m])) > 0",
        lasts="5m",
        severity="info",
        summary="Runs have been waiting for half an hour",
        description="At least {{ $value }} runs have been waiting all the time.",
    ),
    Alert(
        name="SaqChaosFaultNotHealed",
        expr="max by (job, variant, fault) (min_over_time(saqchaos_fault_active[10m])) > 0",
        lasts="0s",
        severity="warning",
        summary="{{ $labels.fault }} has been active on {{ $labels.variant }} for 10 minutes",
        description="A fault that does not heal is no fault: the run proves nothing any more.",
    ),
    Alert(
        name="SaqQueueStuck",
        expr='sum by (job, variant) (saq_queue_jobs{state="incomplete"}) > 0 '
        "and sum by (job, variant) (rate(saq_jobs_finished_total[5m])) == 0",
        lasts="5m",
        severity="critical",
        summary="Nothing finishes on {{ $labels.variant }}",
        description="{{ $value }} jobs are unfinished, and none has finished for 5 minutes.",
    ),
    Alert(
        name="SaqJobsWaitLong",
        expr="variant:saq_job_wait_seconds:p99_5m > 60",
        lasts="5m",
        severity="warning",
        summary="Jobs on {{ $labels.variant }} wait long",
        description="1 % of the jobs wait longer than {{ $value | humanizeDuration }}.",
    ),
    Alert(
        name="SaqJobsFail",
        expr="variant:saq_jobs_failed:ratio_rate5m > 0.2",
        lasts="5m",
        severity="warning",
        summary="Many jobs on {{ $labels.variant }} fail",
        description="{{ $value | humanizePercentage }} of the jobs that end, fail.",
    ),
    Alert(
        name="SaqNoWorkers",
        expr='sum by (job, variant) (saq_queue_jobs{state="incomplete"}) > 0 '
        "and sum by (job, variant) (saq_workers) == 0",
        lasts="1m",
        severity="critical",
        summary="No worker is alive on {{ $labels.variant }}",
        description="{{ $value }} jobs are unfinished and nobody works on them.",
    ),
    Alert(
        name="SaqChaosServiceDown",
        expr='up{job="saq-chaos"} == 0',
        lasts="2m",
        severity="critical",
        summary="The saq-chaos service does not answer",
        description="Prometheus has not reached {{ $labels.instance }} for 2 minutes.",
    ),
)


def recording_rules() -> str:
    """rules/recording.yml."""
    rules = [{"record": one.record, "expr": one.expr} for one in RECORDINGS]
    return _yaml({"groups": [{"name": "saq-chaos-recording", "rules": rules}]})


def alert_rules() -> str:
    """rules/alerts.yml."""
    rules = [
        {
            "alert": one.name,
            "expr": one.expr,
            "for": one.lasts,
            "labels": {"severity": one.severity},
            "annotations": {
                "summary": one.summary,
                "description": one.description,
                "runbook": one.runbook,
            },
        }
        for one in ALERTS
    ]
    return _yaml({"groups": [{"name": "saq-chaos-alerts", "rules": rules}]})


def configuration(*, token: bool) -> str:
    """prometheus.yml: scrapes the service at `service:8080`, with a bearer token or without."""
    job: dict[str, object] = {
        "job_name": "saq-chaos",
        "scrape_interval": "5s",
        "static_configs": [{"targets": ["service:8080"]}],
    }
    if token:
        job["authorization"] = {"credentials_file": "/secrets/viewer-token"}
    return _yaml(
        {
            "global": {"scrape_interval": "15s", "evaluation_interval": "15s"},
            "rule_files": ["rules/*.yml"],
            "scrape_configs": [job],
        }
    )


def _yaml(content: dict[str, object]) -> str:
    said = "# Written by `python -m dashboards.builder`: change it there.\n"
    return said + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
