"""The console over a real service, a real run, real workers: everything that a person does with it.

One service for the module, started as a user starts it. A live run is started by the form, looked
at, disturbed and stopped; a simulated one is started beside it, and the two are compared. The tests
build on each other in the order of the file: a run takes seconds, and each is needed twice.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from chaos.environments import Environment
from tests.console import browser as browsing
from tests.console.browser import Watched, barriers
from tests.service.conftest import Server, start_process

RUN_MS = 90_000
VARIANT = "stock@0.26.4"


@pytest.fixture(scope="module")
def service(
    browser: Browser,
    tmp_path_factory: pytest.TempPathFactory,
    sim_environment: Callable[[str], Environment],
) -> Iterator[Server]:
    """A service whose one variant has its environment already."""
    sim_environment(VARIANT)
    folder: Path = tmp_path_factory.mktemp("service")
    server = start_process(folder, {"SAQCHAOS_VARIANTS": VARIANT})
    yield server
    assert server.end() == 0, server.said()


@pytest.fixture
def page(browser: Browser, service: Server) -> Iterator[Watched]:
    """A page of that service; at the end nothing may have gone wrong on it."""
    made = browsing.watched(browser, service.url)
    yield made
    made.page.context.close()
    assert made.problems == []


def start(one: Watched, world: str, duration: str) -> None:
    """Start a run of the plan smoke by the form."""
    one.open("/start")
    one.wait("Drawn from seed")
    page = one.page
    page.get_by_label("Plan", exact=True).select_option("smoke")
    page.get_by_label(re.compile(f"^{world}:")).check()
    page.get_by_label("Duration").fill(duration)
    page.get_by_label("Labels").fill("by=console")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#shown .sums")).to_contain_text(world)
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url("**/runs/*")


def test_a_service_without_runs_says_how_to_begin(page: Watched) -> None:
    page.open("/")
    page.wait("No runs yet")
    assert barriers(page.page) == []


def test_a_live_run_is_started_watched_disturbed_and_stopped(page: Watched) -> None:
    start(page, "live", "5m")  # stopped as soon as all is seen
    on = page.page
    sweep = on.get_by_role("button", name="Force a sweep now")
    sweep.wait_for(timeout=RUN_MS)  # the load has begun
    expect(on.locator(".link")).to_have_text("live")
    attempts = on.locator(".counters tr", has_text=re.compile("^attempts")).locator("td")
    expect(attempts).to_have_text(re.compile("[1-9]"), timeout=RUN_MS)
    sweep.click()
    page.wait("sweep is under way on stock@0.26.4")
    expect(on.locator(".log")).to_contain_text("sweep injected, by local", timeout=RUN_MS)
    expect(on.locator(".faultlanes svg")).to_have_attribute(
        "aria-label", re.compile("sweep 1 time"), timeout=RUN_MS
    )
    on.locator(".chart canvas").first.wait_for()
    assert barriers(on) == []
    on.get_by_role("button", name="Stop the run").click()
    on.get_by_role("button", name="Stop it").click()
    expect(on.locator(".answer h2")).to_contain_text("Stopped", timeout=RUN_MS)
    expect(on.locator("#head .badge")).to_have_text("Stopped")
    page.wait("Make this run again")
    assert on.locator(".counters td").first.inner_text() != "0"


def test_a_simulated_run_comes_to_its_verdict(page: Watched) -> None:
    start(page, "sim", "20s")
    on = page.page
    expect(on.locator(".answer h2")).to_contain_text("Passed", timeout=RUN_MS)
    expect(on.locator(".grid .cell")).to_have_text(["VALID"] * 5, timeout=RUN_MS)
    page.wait("How often the danger was met")
    assert on.get_by_role("button", name="Force a sweep now").count() == 0
    link = on.get_by_role("link", name="Report").get_attribute("href")
    report = on.request.get(f"{page.base}{link}")
    assert report.ok
    assert "sandbox" in report.headers["content-security-policy"]


def test_the_list_holds_both_and_they_are_compared(page: Watched) -> None:
    page.open("/")
    on = page.page
    expect(on.locator(".runs .badge")).to_have_text(["Passed", "Stopped"])
    for tick in on.locator(".runs .pick").all():
        tick.check()
    on.get_by_role("link", name="Compare the two").click()
    expect(on.locator(".sides .badge")).to_have_text(["Stopped", "Passed"])
    expect(on.locator("#result h2").last).to_contain_text("B is ")
    assert barriers(on) == []


def test_a_schedule_is_made_paused_and_removed(page: Watched) -> None:
    page.open("/schedules")
    page.wait("No schedules yet")
    on = page.page
    on.get_by_text("New schedule").click()
    on.get_by_label("Name").fill("nightly")
    on.get_by_label("When").fill("0 3 * * *")
    on.get_by_label("Plan", exact=True).select_option("smoke")
    on.get_by_role("button", name="Make the schedule").click()
    page.wait("forbid; keeps 10 runs")
    on.get_by_role("button", name="Pause").click()
    page.wait("paused")
    on.once("dialog", lambda asked: asked.accept())
    on.get_by_role("button", name="Remove").click()
    page.wait("No schedules yet")


def test_with_tokens_the_console_signs_in_to_a_session_and_out(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "tokens"
    made = token_command("on-call", "operator", "--append", str(path))
    server = start_process(tmp_path, {"SAQCHAOS_TOKENS_FILE": str(path)})
    try:
        one = browsing.watched(browser, server.url)
        one.expected.append("status of 401")
        one.open("/start")
        one.page.get_by_label("Token").fill(made)
        one.page.get_by_role("button", name="Sign in").click()
        one.wait("Drawn from seed")  # a preview is a POST: the CSRF token went along
        assert one.page.get_by_role("button", name="Lock").count() == 0  # an administrator's
        assert one.page.evaluate("document.cookie") == ""
        one.page.get_by_role("button", name="Sign out").click()
        one.page.get_by_label("Token").wait_for()
        one.open("/")
        one.page.get_by_label("Token").wait_for()
        assert one.page.url == f"{server.url}/login?next=%2F"
        assert one.problems == []
        one.page.context.close()
    finally:
        assert server.end() == 0


def token_command(*words: str) -> str:
    """What `python -m service token …` prints."""
    command = [sys.executable, "-m", "service", "token", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_lock_holds_what_would_start_and_says_why(page: Watched) -> None:
    page.expected.append("status of 423")
    page.open("/start")
    page.wait("Drawn from seed")
    on = page.page
    on.get_by_role("button", name="Lock").click()
    on.get_by_label("Reason").fill("an incident")
    on.get_by_role("button", name="Stop everything").click()
    page.wait("Locked: an incident (local)")
    on.get_by_role("button", name="Start the run").click()
    expect(on.locator("#form .notice")).to_contain_text("an incident")
    on.get_by_role("button", name="Release").click()
    expect(on.locator("#banner-lock")).to_have_count(0)
