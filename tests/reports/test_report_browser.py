"""report.html in a real browser: nothing fetched, nothing cut off, readable for everybody."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped,unused-ignore]
from playwright.sync_api import Browser, Page, sync_playwright

from chaos.reports import files
from tests.judge.histories import plan
from tests.reports.samples import VERDICT
from tests.reports.story_cases import key_error
from tests.reports.test_charts import history

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
SIZES = [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run with charts, findings, a story, unknowns and thresholds."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "plan.yaml").write_text("plan: same-key\nseed: 1\n", "utf-8")
    files.write(folder, VERDICT, key_error().history())
    return folder / "report.html"


def opened(browser: Browser, path: Path, width: int, scheme: str) -> tuple[Page, list[str]]:
    """A page with the report, and what it said or asked for beside its own file."""
    page = browser.new_page(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    noticed: list[str] = []
    own = path.as_uri()
    page.on("console", lambda message: noticed.append(message.text))
    page.on("pageerror", lambda error: noticed.append(str(error)))
    page.on("request", lambda one: noticed.append(one.url) if one.url != own else None)
    page.goto(own)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    return page, noticed


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_it_fetches_nothing_says_nothing_and_never_scrolls_sideways(
    browser: Browser, report: Path, width: int, scheme: str
) -> None:
    page, noticed = opened(browser, report, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("figure.chart").count() > 4
    assert page.locator("section.told").count() == 1
    assert noticed == []
    page.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_axe_finds_nothing_serious(browser: Browser, report: Path, width: int, scheme: str) -> None:
    page, _ = opened(browser, report, width, scheme)
    violations = Axe().run(page).response["violations"]
    assert [
        (one["id"], one["impact"], one["nodes"][0]["html"])
        for one in violations
        if one["impact"] in ("serious", "critical")
    ] == []
    page.close()


def test_its_policy_lets_nothing_run_or_load_that_got_in(
    browser: Browser, report: Path, tmp_path: Path
) -> None:
    got_in = (
        "<script>window.gotIn = 1</script>"
        "<img src='http://127.0.0.1:9/x.png' onerror='window.gotIn = 1'>"
        "<iframe src='http://127.0.0.1:9/'></iframe></main>"
    )
    copy = tmp_path / "report.html"
    copy.write_text(report.read_text("utf-8").replace("</main>", got_in), "utf-8")
    page, noticed = opened(browser, copy, 1280, "light")
    assert page.evaluate("window.gotIn === undefined")
    said = "\n".join(noticed)
    assert "Executing inline script violates" in said
    assert "Executing inline event handler violates" in said
    assert "Loading the image 'http://127.0.0.1:9/x.png' violates" in said
    assert "Framing 'http://127.0.0.1:9/' violates" in said
    page.close()


def test_strips_are_drawn_where_their_axis_says(browser: Browser, tmp_path: Path) -> None:
    """The restart from 20 s to 30 s of 50 s is shaded from 40 % to 60 % of the strip."""
    assert plan().slack_us == 50_000
    files.write(tmp_path, VERDICT, history())
    page, _ = opened(browser, tmp_path / "report.html", 1280, "light")
    boxes = page.evaluate(
        """() => {
            const strip = [...document.querySelectorAll('.strip')]
                .find(one => one.textContent.includes('rolling restart'));
            const [all, fault] = [strip.querySelector('.plot'), strip.querySelector('rect')]
                .map(one => one.getBoundingClientRect());
            const tick = document.querySelectorAll('.axis i')[2].getBoundingClientRect();
            return [fault.left, fault.right, tick.left].map(x => (x - all.left) / all.width);
        }"""
    )
    assert [round(one, 2) for one in boxes] == [0.4, 0.6, 0.4]
    page.close()


def test_it_prints_on_whole_pages(browser: Browser, report: Path) -> None:
    page, _ = opened(browser, report, 1280, "dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert {
        page.evaluate(f"getComputedStyle(document.querySelector('{one}')).breakInside")
        for one in (".finding", ".told", ".chart")
    } == {"avoid"}
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF-")
    page.close()
