"""However long and however bad a run was, its reports stay small enough to be attached."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from chaos.history import History
from chaos.reports import files
from tests.reports import big
from tests.reports.test_pages import Tags

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def told() -> History:
    return big.history()


def test_the_reports_of_a_very_bad_run_are_small_whole_and_harmless(
    told: History, tmp_path: Path
) -> None:
    (tmp_path / "plan.yaml").write_text("plan: p\n" + f"# {big.HOSTILE}\n" * 20_000, "utf-8")
    files.write(tmp_path, big.verdict(told), told)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert len(page.encode()) < MEGABYTE
    assert not Tags(page).open
    assert "<script" not in page
    assert not {"\x00", "\x1b", "\u202e", "\ufffe"} & set(page)
    assert "No room here: verdict.json has its findings." in page
    assert "more lines: see plan.yaml" in page
    assert len((tmp_path / "summary.md").read_text("utf-8")) < 65_536
    junit = (tmp_path / "junit.xml").read_bytes()
    assert len(junit) < 5 * MEGABYTE
    root = ElementTree.fromstring(junit)
    assert len(root.findall("testsuite/testcase")) == len(big.VARIANTS) * big.PROMISES + 1
