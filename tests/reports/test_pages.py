"""HTML and JSON: complete, harmless, and readable back."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from chaos.errors import HistoryError
from chaos.reports import files, html_page, verdict_json, words
from chaos.verdict import GateVerdict, Outcome, PromiseVerdict
from tests.reports.samples import GUARDED, HISTORY, STOCK, VERDICT

HOSTILE = "<script>alert(1)</script>\x1b[31m`|@team](http://evil)"


class Tags(HTMLParser):
    """The elements and attributes of a page, and whether every element was closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "p" or self.open[-1] == "p":
            assert self.open.pop() == tag


def test_the_page_holds_verdict_bounds_evidence_versions_plan_and_repeat_command() -> None:
    page = html_page.render(VERDICT, HISTORY, plan_yaml="plan: same-key\nseed: 1\n")
    for text in (
        "PASSED: the baseline gate against stock@0.26.3 passed",
        "guarded@0.26.3: no promise is worse",
        "0 in 412 slot collisions: at most 0.73&nbsp;% (95&nbsp;%)",
        '<td>5</td><td>1.401 s</td><td title="stock@0.26.3/worker-1.1">worker 1</td>',
        "<td>Attempt 2 finds no context in the slot<code>job=k1 attempt=#2</code></td></tr>",
        "saq 0.26.3, redis-py 6.4.0, Python 3.11.7, valkey 9.1.0",
        "plan: same-key\nseed: 1",
        "saq-chaos soak runs/r1/plan.yaml",
        "The first 1 of 37; 1 is kept in verdict.json.",
    ):
        assert text in page


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    page = html_page.render(VERDICT, HISTORY)
    tags = Tags(page)
    assert not tags.open
    assert not {"script", "img", "link", "iframe", "object"} & set(tags.names)
    links = [value for name, value in tags.attributes if name in ("src", "href", "onclick")]
    assert {"#finding-0-0", "#shade-0", "#findings"} <= set(links)
    assert all(str(link).startswith("#") for link in links)
    ids = {value for name, value in tags.attributes if name == "id"}
    assert {str(link).removeprefix("#") for link in links} <= ids
    assert "url(" not in page
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:;" in page
    assert "@media print" in page
    assert "prefers-color-scheme: dark" in page


def test_markup_from_a_run_is_literal_in_the_page_wherever_it_stands() -> None:
    finding = msgspec.structs.replace(
        STOCK.promises[0].findings[0], message=HOSTILE, kind=HOSTILE, events=()
    )
    promise = PromiseVerdict(
        promise="one-at-a-time",
        outcome=Outcome.UNKNOWN,
        count=1,
        reason=HOSTILE,
        kinds={HOSTILE: 1},
        findings=(finding,),
    )
    variant = msgspec.structs.replace(
        STOCK, variant=HOSTILE, promises=(promise,), server=HOSTILE, counters={HOSTILE: 1.0}
    )
    gate = GateVerdict(gate="strict", outcome=Outcome.INVALID, reasons=(HOSTILE,))
    verdict = msgspec.structs.replace(
        VERDICT, plan=HOSTILE, run=HOSTILE, variants=(variant,), gate=gate, repeat=HOSTILE
    )
    page = html_page.render(verdict, HISTORY, plan_yaml=HOSTILE)
    assert "<script" not in page
    assert "\x1b" not in page
    assert not Tags(page).open


def test_a_run_with_nothing_to_show_still_makes_a_page() -> None:
    page = html_page.render(msgspec.structs.replace(VERDICT, variants=()))
    assert "<p>None.</p>" in page
    assert not Tags(page).open


def test_json_reads_back_as_the_same_verdict(tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    path.write_text(verdict_json.render(VERDICT))
    assert verdict_json.read(path) == VERDICT


def test_a_file_that_is_no_verdict_is_named_with_the_wrong_field(tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    path.write_text('{"run": 1}')
    with pytest.raises(HistoryError, match=re.escape(f"{path} is no verdict: ") + r".*\$\.run"):
        verdict_json.read(path)


def test_report_files_are_written_with_the_plan_in_the_page(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("plan: same-key\n")
    files.write(tmp_path, VERDICT, HISTORY)
    assert "plan: same-key" in (tmp_path / "report.html").read_text("utf-8")
    assert '<testsuite name="gate"' in (tmp_path / "junit.xml").read_text("utf-8")
    assert (tmp_path / "summary.md").read_text("utf-8").startswith("### ✅ saq-chaos: PASSED")


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0.0, "0.00 %"),
        (3 / 412, "0.73 %"),
        (0.0898, "8.98 %"),
        (0.728, "72.8 %"),
        (1.0, "100 %"),
        (0.00002, "0.002 %"),
    ],
)
def test_a_rate_is_shown_no_more_exactly_than_it_is_known(rate: float, text: str) -> None:
    assert words.percent(rate) == text


@pytest.mark.parametrize(
    ("ended", "outcome", "code"),
    [
        ("finished", Outcome.VALID, 0),
        ("finished", Outcome.INVALID, 1),
        ("finished", Outcome.UNKNOWN, 3),
        ("aborted", Outcome.INVALID, 1),
        ("failed", Outcome.INVALID, 4),
        ("failed", Outcome.VALID, 4),
        ("interrupted", Outcome.INVALID, 130),
        ("interrupted", Outcome.VALID, 130),
    ],
)
def test_an_interruption_beats_a_failed_world_beats_the_gate(
    ended: str, outcome: Outcome, code: int
) -> None:
    gate = GateVerdict(gate="strict", outcome=outcome)
    verdict = msgspec.structs.replace(VERDICT, variants=(GUARDED,), gate=gate, ended=ended)
    assert words.exit_code(verdict) == code
