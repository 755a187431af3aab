"""Writes the report files of a run directory: verdict, report, JUnit, summary and story.

The conductor writes what a run is (plan, events, history, metrics); this adds what is made of it,
so that the reports of a stored run can be written again. Names are fixed: the service serves
these files as they are.
"""

from __future__ import annotations

from pathlib import Path

from chaos.errors import PlanError
from chaos.history import History
from chaos.plan_file import loads
from chaos.reports import html_page, junit, markdown, story, verdict_json
from chaos.reports.chart_series import SLACK_US
from chaos.reports.story_model import Story
from chaos.stored import PLAN_FILE, VERDICT_FILE
from chaos.verdict import Verdict

STORY_TEXT = "story.txt"
STORY_PAGE = "story.html"
REPORT_FILE = "report.html"
JUNIT_FILE = "junit.xml"
SUMMARY_FILE = "summary.md"


def write(run_dir: Path, verdict: Verdict, history: History | None) -> None:
    """Write them into `run_dir`; a plan.yaml there is shown in the report.

    story.txt and story.html tell the first finding of the worst promise. Without a finding, or
    without the history, there is no story, and one of an earlier judgement is removed.

    Raises:
        OSError: the directory cannot be written.
    """
    (run_dir / VERDICT_FILE).write_text(verdict_json.render(verdict), "utf-8")
    plan = run_dir / PLAN_FILE
    plan_yaml = plan.read_text("utf-8") if plan.is_file() else ""
    told = _write_story(run_dir, verdict, history) if history is not None else None
    page = html_page.render(
        verdict,
        history,
        plan_yaml=plan_yaml,
        story=STORY_PAGE if told is not None else "",
        told=told,
        slack_us=_slack_us(plan_yaml),
    )
    (run_dir / REPORT_FILE).write_text(page, "utf-8")
    (run_dir / JUNIT_FILE).write_text(junit.render(verdict, history), "utf-8")
    (run_dir / SUMMARY_FILE).write_text(markdown.render(verdict, history), "utf-8")


def _write_story(run_dir: Path, verdict: Verdict, history: History) -> Story | None:
    if not any(promise.findings for one in verdict.variants for promise in one.promises):
        for name in (STORY_TEXT, STORY_PAGE):
            (run_dir / name).unlink(missing_ok=True)
        return None
    told = story.of(history, story.choose(verdict))
    (run_dir / STORY_TEXT).write_text(story.text(told), "utf-8")
    (run_dir / STORY_PAGE).write_text(story.html(told), "utf-8")
    return told


def _slack_us(plan_yaml: str) -> int:
    """The slack of a run's plan; a plan of another version, or none, has the usual one."""
    try:
        return loads(plan_yaml).slack_us
    except PlanError:
        return SLACK_US
