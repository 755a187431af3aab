"""What `check` does: read a stored history, find the plan to judge it by, judge, report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from chaos import gate, judge, stored
from chaos.checkers import CHECKERS
from chaos.cli import output
from chaos.cli.params import closest
from chaos.cli.soaking import show
from chaos.errors import UsageError
from chaos.event import RunBegan, RunEnded
from chaos.history import History
from chaos.plan import Plan
from chaos.plan_file import load
from chaos.reports import files, words
from chaos.variants import parse
from chaos.verdict import Verdict
from chaos.version import VERSION

UNFINISHED = "unfinished"


def check(path: Path, options: dict[str, Any]) -> int:
    """Judge what lies at `path` and show the answer.

    Returns:
        The exit code that the run itself would have had.

    Raises:
        HistoryError: there is no history there.
        UsageError: the plan or the baseline does not fit it.
    """
    run = stored.open_run(path)
    if run.rebuilt:
        output.say(
            f"{path} has no {stored.HISTORY_FILE}: merged {len(run.history)} recorded events"
        )
    plan = plan_for(run, options)
    again = f"saq-chaos check {shlex.quote(str(path))}"
    verdict = judged(plan, run.history, again)
    if options["write"]:
        _write(run, verdict)
    show(verdict, run.history, run.folder, options)
    return words.exit_code(verdict)


def judged(plan: Plan, history: History, repeat: str) -> Verdict:
    """The verdict on a history. What it does not say of its run stays empty."""
    began = next((one for one in history if isinstance(one, RunBegan)), None)
    ended = [one.reason for one in history if isinstance(one, RunEnded)]
    variants = judge.judge(plan, history).variants
    return Verdict(
        run=began.run if began else "",
        plan=plan.plan,
        world=began.world if began else "",
        seed=began.seed if began else plan.seed,
        version=VERSION,
        history_digest=history.digest(),
        variants=variants,
        gate=gate.decide(plan, variants),
        ended=ended[-1] if ended else UNFINISHED,
        repeat=repeat,
        events=len(history),
    )


def plan_for(run: stored.StoredRun, options: dict[str, Any]) -> Plan:
    """The plan to judge by, with the variants that the history has and the gate that was asked for.

    Raises:
        PlanError: the plan cannot be read.
        UsageError: the baseline is none of the variants.
    """
    source = options["plan"] or run.plan_file
    plan = load(source) if source else every_promise()
    variants = _variants(plan, run.history)
    baseline = options["baseline"] or plan.baseline
    wanted = options["gate"] or ("baseline" if options["baseline"] else plan.gate)
    if wanted == "baseline" and baseline not in variants:
        raise UsageError(
            f"--baseline {baseline!r} is not in this history: {closest(str(baseline), variants)}"
        )
    changed = {"variants": variants, "gate": wanted}
    changed["baseline"] = baseline if wanted == "baseline" else None
    return plan.model_copy(update=changed)


def _variants(plan: Plan, history: History) -> tuple[str, ...]:
    """The history's variants; as the plan writes them, where it names them."""
    written = {parse(text).label: text for text in plan.variants}
    found = tuple(written.get(label, label) for label in history.variants())
    if not found:
        raise UsageError(
            "the history names no variant: hosts are called `<variant>/worker-1.1`, or an event "
            "`run-began` lists the variants (docs/results.md)"
        )
    return found


def every_promise() -> Plan:
    """The plan for a history without one: every promise, judged strictly."""
    return Plan.model_validate(
        {
            "plan": "every-promise",
            "workload": {"kind": "same_key"},
            "duration": "1s",
            "promises": tuple(checker.name for checker in CHECKERS),
        }
    )


def _write(run: stored.StoredRun, verdict: Verdict) -> None:
    if run.folder is None:
        raise UsageError("--write needs a run directory: this history lies in none")
    if run.rebuilt:
        run.history.write(run.folder / stored.HISTORY_FILE)
    files.write(run.folder, verdict, run.history)
