"""Writes the report files of a run directory: verdict.json, report.html and junit.xml.

The conductor writes what a run is (plan, events, history, metrics); this adds what is made of it,
so that the reports of a stored run can be written again.
"""

from __future__ import annotations

from pathlib import Path

from chaos.history import History
from chaos.reports import html_page, junit, verdict_json
from chaos.stored import PLAN_FILE, VERDICT_FILE
from chaos.verdict import Verdict


def write(run_dir: Path, verdict: Verdict, history: History | None) -> None:
    """Write the three files into `run_dir`; a plan.yaml there is shown in the report.

    Raises:
        OSError: the directory cannot be written.
    """
    (run_dir / VERDICT_FILE).write_text(verdict_json.render(verdict), "utf-8")
    plan = run_dir / PLAN_FILE
    plan_yaml = plan.read_text("utf-8") if plan.is_file() else ""
    page = html_page.render(verdict, history, plan_yaml=plan_yaml)
    (run_dir / "report.html").write_text(page, "utf-8")
    (run_dir / "junit.xml").write_text(junit.render(verdict, history), "utf-8")
