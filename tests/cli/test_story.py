"""`story`: any finding of a stored run, in words and as a page; and the one that every run gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.cli.main import run
from chaos.history import History
from chaos.reports import files
from chaos.verdict import GateVerdict, Outcome, PromiseVerdict, VariantVerdict, Verdict
from tests.judge.histories import VARIANT
from tests.reports.story_cases import finding, key_error, twice_across_hosts

PLAN = "plan: mine\nduration: 1s\nworkload: {kind: same_key}\npromises: [no-internal-errors]\n"


def run_directory(folder: Path, history: History) -> Path:
    (folder / "hosts").mkdir(parents=True)
    (folder / "plan.yaml").write_text(PLAN)
    history.write(folder / "history.jsonl")
    return folder


def verdict(*promises: PromiseVerdict) -> Verdict:
    variant = VariantVerdict(variant=VARIANT, outcome=Outcome.INVALID, promises=promises)
    return Verdict(
        run="r", plan="mine", world="live", seed=1, version="1", history_digest="",
        variants=(variant,), gate=GateVerdict(gate="strict", outcome=Outcome.INVALID),
    )  # fmt: skip


def test_the_worst_finding_of_a_run_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_directory(tmp_path / "run", key_error().history())
    assert run(["story", str(folder)]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("How saq came to raise KeyError on job 'k'\n")
    assert "HERE IT BREAKS: Attempt 2 fails" in shown.out
    assert shown.err == ""


def test_a_promise_that_the_plan_does_not_name_can_be_asked_for_and_written_as_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_directory(tmp_path / "run", twice_across_hosts().history())
    page = tmp_path / "page.html"
    arguments = ["--promise", "one-at-a-time", "--variant", VARIANT, "--html", str(page)]
    assert run(["story", str(folder), *arguments]) == 0
    assert "How job 'k' came to run twice at the same time" in capsys.readouterr().out
    assert "<h1>How job &#x27;k&#x27; came to run twice" in page.read_text("utf-8")


def test_a_history_by_hand_needs_no_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.jsonl"
    key_error().history().write(path)
    assert run(["story", str(path), "--promise", "no-orphaned-contexts", "--number", "2"]) == 0
    assert "got out of an abort's reach" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--number", "2"], "there are: stock@0.26.3 no-internal-errors (1 to 1)"),
        (["--promise", "one-at-a-tim"], "no promise is called 'one-at-a-tim'; there are: "),
        (["--variant", "stock@9.9.9"], "there is no finding stock@9.9.9 number 1"),
        (["--html", "/nowhere/page.html"], "cannot write the page /nowhere/page.html: No such"),
    ],
)
def test_what_cannot_be_told_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    folder = run_directory(tmp_path / "run", key_error().history())
    assert run(["story", str(folder), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_sound_run_has_no_story(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_directory(tmp_path / "run", twice_across_hosts().history())
    assert run(["story", str(folder)]) == 2
    assert "there is no story to tell: no promise was broken" in capsys.readouterr().err


def test_check_write_leaves_the_story_beside_the_report_that_links_it(tmp_path: Path) -> None:
    folder = run_directory(tmp_path / "run", key_error().history())
    assert run(["check", str(folder), "--write"]) == 1
    assert "HERE IT BREAKS" in (folder / "story.txt").read_text("utf-8")
    assert "Here it breaks." in (folder / "story.html").read_text("utf-8")
    assert '<a href="story.html">' in (folder / "report.html").read_text("utf-8")


def test_without_a_finding_there_is_no_story_and_no_stale_one(tmp_path: Path) -> None:
    history = key_error()
    found = finding("no-internal-errors", "KeyError", history)
    broken = PromiseVerdict(
        promise="no-internal-errors", outcome=Outcome.INVALID, count=1, findings=(found,)
    )
    files.write(tmp_path, verdict(broken), history.history())
    assert (tmp_path / "story.html").is_file()
    files.write(tmp_path, verdict(), history.history())
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "junit.xml", "report.html", "summary.md", "verdict.json",
    ]  # fmt: skip
    assert "story.html" not in (tmp_path / "report.html").read_text("utf-8")
    files.write(tmp_path, verdict(broken), None)
    assert not (tmp_path / "story.html").exists()
