"""The pages in a real Chromium, over literal answers: live, broken, locked, hostile, narrow."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from chaos.verdict import rate_upper_bound
from service.api.shapes import TargetList
from service.models import Lock
from tests.console.browser import NARROW, barriers, overflow
from tests.console.conftest import OpenPage
from tests.console.stage import Stage, run

PAGES = {
    "/": "Start a run",
    "/runs/r6-goes-on": "broken 31×",
    "/runs/r5-failed": "Failed: the gate does not hold",
    "/runs/r2-error": "The world failed",
    "/start": "Drawn from seed",
    "/compare?a=r4-passed&b=r5-failed": "B is worse in 2 places",
    "/schedules": "nightly",
    "/nothing/here": "There is nothing at this address",
}
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>"&amp;'
LOADS = "Failed to load resource"


def text_of(page: Page, selector: str) -> str:
    return page.locator(selector).first.inner_text()


# --- every page ---------------------------------------------------------------------------------


def test_no_page_has_a_serious_barrier_in_either_theme(page_of: OpenPage) -> None:
    one = page_of("/", expected=(LOADS,), reduced_motion="reduce")
    found = {}
    for path, text in PAGES.items():
        one.page.emulate_media(color_scheme="light")
        one.open(path)
        one.wait(text)
        found[path] = barriers(one.page)
        one.page.emulate_media(color_scheme="dark")
        found[path] += barriers(one.page, "color-contrast")
    assert found == {path: [] for path in PAGES}


def test_no_page_is_wider_than_a_narrow_window(page_of: OpenPage) -> None:
    one = page_of("/", width=NARROW, expected=(LOADS,))
    for path, text in PAGES.items():
        one.open(path)
        one.wait(text)
        assert overflow(one.page) <= 0, path


def test_every_page_has_a_title_a_heading_and_a_way_past_the_header(page_of: OpenPage) -> None:
    one = page_of("/", expected=(LOADS,))
    titles = []
    for path, text in PAGES.items():
        one.open(path)
        one.wait(text)
        assert one.page.locator("h1").count() == 1
        one.page.keyboard.press("Tab")
        assert one.page.evaluate("document.activeElement.textContent") == "Skip to the content"
        titles.append(one.page.title())
    assert titles == [
        "Runs · saq-chaos",
        "Running: same-key · saq-chaos",
        "Failed: same-key · saq-chaos",
        "Error: same-key · saq-chaos",
        "Start a run · saq-chaos",
        "Compare two runs · saq-chaos",
        "Schedules · saq-chaos",
        "Not found · saq-chaos",
    ]


def test_the_theme_follows_the_system_until_somebody_chooses(page_of: OpenPage) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    one = page_of("/", color_scheme="dark")
    one.wait("Start a run")
    assert one.page.evaluate(paper) == "rgb(15, 18, 21)"
    one.page.get_by_role("button", name="Use the light theme").click()
    assert one.page.evaluate(paper) == "rgb(247, 248, 249)"
    one.open("/start")
    assert one.page.evaluate(paper) == "rgb(247, 248, 249)"


def test_nothing_that_a_run_says_becomes_markup(page_of: OpenPage, stage: Stage) -> None:
    for name in ("r6-goes-on", "r5-failed", "r2-error"):
        old = stage.runs[name]
        stage.runs[name] = old.model_copy(
            update={"plan": HOSTILE, "labels": {"x": HOSTILE}, "error": HOSTILE,
                    "requested_by": HOSTILE, "variants": [*old.variants, HOSTILE]}
        )  # fmt: skip
    stage.locked = Lock(locked=True, reason=HOSTILE, by=HOSTILE)
    stage.story = f"<!doctype html><title>x</title>{HOSTILE}"
    one = page_of("/", expected=(LOADS, "sandbox", "Content Security Policy"))
    runs = ("/runs/r6-goes-on", "/runs/r5-failed", "/runs/r2-error")
    for path in ("/", *runs, "/compare?a=r2-error&b=r5-failed"):
        one.open(path)
        one.wait("<img src=x onerror=")
        one.page.wait_for_load_state()
        assert one.page.locator("body img, body script").count() == 0
        assert one.page.title().endswith("· saq-chaos")


# --- the list -----------------------------------------------------------------------------------


def test_the_list_says_each_outcome_in_a_word_of_its_own(page_of: OpenPage) -> None:
    one = page_of("/")
    words = ["Waiting", "Running", "Failed", "Passed", "Unknown", "Error", "Interrupted", "Stopped"]
    expect(one.page.locator(".runs .badge")).to_have_text(words)


def test_filters_stand_in_the_address_and_can_be_taken_away(page_of: OpenPage) -> None:
    one = page_of("/?outcome=failed")
    one.wait("1 run")
    one.page.get_by_label("Outcome").select_option("passed")
    expect(one.page.locator(".runs > li")).to_contain_text(["smoke"])
    assert one.page.url.endswith("/?outcome=passed")
    one.page.get_by_label("State").select_option("queued")
    one.wait("No run fits these filters")
    one.page.get_by_role("button", name="Show all").first.click()
    expect(one.page.locator(".runs > li")).to_have_count(8)


def test_two_picked_runs_lead_to_their_comparison_the_older_one_first(page_of: OpenPage) -> None:
    one = page_of("/")
    one.page.get_by_label("Compare same-key, r5-failed").check()
    one.wait("Pick one more run to compare")
    one.page.get_by_label("Compare smoke, r4-passed").check()
    one.page.get_by_role("link", name="Compare the two").click()
    one.wait("B is worse in 2 places")
    assert one.page.url.endswith("/compare?a=r4-passed&b=r5-failed")
    assert "−300 ms" in text_of(one.page, "table")


def test_an_empty_service_says_how_to_begin(page_of: OpenPage, stage: Stage) -> None:
    stage.runs.clear()
    one = page_of("/")
    one.wait("No runs yet")
    one.open("/compare")
    one.wait("It takes two ended runs to compare.")


# --- live ---------------------------------------------------------------------------------------


def test_a_live_run_shows_figures_windows_and_promises_turned_red(page_of: OpenPage) -> None:
    one = page_of("/runs/r6-goes-on")
    one.wait("broken 3×")
    page = one.page
    assert page.locator(".cell.bad").count() == 4
    row = page.locator(".counters tr", has_text="key errors")
    expect(row.locator("td")).to_have_text(["28", "0", "0"])
    expect(page.locator(".faultlanes svg")).to_have_attribute(
        "aria-label", "Faults over 0:48: sweep 414 times, rolling_restart 6 times, kill 3 times"
    )
    assert page.locator(".chart canvas").count() == 6
    assert "stock@0.26.3" in str(page.locator(".plot").first.get_attribute("aria-label"))
    assert page.locator(".steps [aria-current=step]").inner_text() == "safety"
    expect(page.locator(".log")).to_contain_text("kill injected, by on-call")
    assert "sweep injected" not in text_of(page, ".log")
    page.get_by_label("with the plan's faults").check()
    expect(page.locator(".log")).to_contain_text("sweep injected")


def test_a_variant_can_be_taken_out_of_the_charts(page_of: OpenPage) -> None:
    one = page_of("/runs/r6-goes-on")
    one.wait("broken 3×")
    one.page.get_by_role("button", name="guarded@0.26.3").click()
    label = one.page.locator(".plot").first
    expect(label).not_to_have_attribute("aria-label", r"guarded")
    assert "guarded" not in str(label.get_attribute("aria-label"))
    lanes = one.page.locator(".faultlanes svg")
    expect(lanes).to_have_attribute("aria-label", re.compile("kill 2 times"))


def test_a_broken_stream_goes_on_where_it_was(page_of: OpenPage, stage: Stage) -> None:
    stage.breaks = 1
    one = page_of("/runs/r6-goes-on", expected=("ERR_INCOMPLETE_CHUNKED_ENCODING", LOADS))
    one.wait("kill injected, by on-call")
    assert len(stage.streams) == 2
    assert int(stage.streams[1] or 0) > 100
    expect(one.page.locator(".link")).to_have_text("live")


def test_a_service_that_refuses_the_stream_for_a_while_is_asked_again(
    page_of: OpenPage, stage: Stage
) -> None:
    stage.breaks, stage.refuses = 1, 2
    one = page_of("/runs/r6-goes-on", expected=("ERR_INCOMPLETE_CHUNKED_ENCODING", LOADS))
    one.wait("kill injected, by on-call")
    assert stage.refuses == 0
    assert int(stage.streams[1] or 0) > 100
    row = one.page.locator(".counters tr", has_text="key errors")
    expect(row.locator("td")).to_have_text(["28", "0", "0"])


def test_only_news_is_announced_and_no_tick(page_of: OpenPage, stage: Stage) -> None:
    stage.is_broken_late = True
    one = page_of("/runs/r6-goes-on")
    one.wait("broken 3×")
    said = one.page.locator("#head > .aloud")
    expect(said).to_have_text("no-lost-jobs is broken on stock@0.26.4")
    assert one.page.locator(".counters [aria-live], .counters [role=status]").count() == 0


def test_faults_are_injected_from_the_page(page_of: OpenPage, stage: Stage) -> None:
    one = page_of("/runs/r6-goes-on")
    one.page.get_by_role("button", name="Force a sweep now").click()
    one.wait("sweep is under way on")
    one.page.get_by_label("On", exact=True).select_option("stock@0.26.4")
    one.page.get_by_text("Another fault").click()
    one.page.get_by_label("Fault", exact=True).select_option("pause")
    one.page.get_by_label("for", exact=True).fill("2s")
    one.page.get_by_role("button", name="Inject it now").click()
    one.wait("pause is under way on")
    assert stage.injected == [
        {"fault": {"fault": "sweep"}, "variants": None},
        {"fault": {"fault": "pause", "for": "2s"}, "variants": ["stock@0.26.4"]},
    ]


def test_a_viewer_can_look_and_change_nothing(page_of: OpenPage, stage: Stage) -> None:
    stage.role = "viewer"
    one = page_of("/runs/r6-goes-on")
    one.wait("broken 3×")
    for name in ("Stop the run", "Force a sweep now", "Lock"):
        assert one.page.get_by_role("button", name=name, exact=True).count() == 0
    one.open("/start")
    one.wait("that takes the role operator")
    assert one.page.get_by_role("button", name="Start the run").is_disabled()


# --- ended --------------------------------------------------------------------------------------


def test_an_ended_run_shows_answer_findings_evidence_and_story(page_of: OpenPage) -> None:
    one = page_of("/runs/r5-failed", expected=("sandbox",))
    page = one.page
    one.wait("Failed: the gate does not hold")
    assert "no-orphaned-contexts is worse" in text_of(page, ".answer")
    found = page.locator(".found").first
    assert "57 in 396 slot collisions: 14.4 %, at most 17.5 % (95 %)" in found.inner_text()
    assert "The first KeyError came after 2.3 s" in found.inner_text()
    found.get_by_text("The first 2 of 57").click()
    found.get_by_role("button", name="Show its 2 events").click()
    found.locator("pre").wait_for()
    assert found.locator("pre").inner_text().splitlines() == [
        "#2  1.000 s  worker-1.1  slot-overwritten  job=report-17",
        "#3  1.500 s  worker-1.1  slot-missed  job=report-17",
    ]
    frame = page.frame_locator("iframe")
    expect(frame.locator("h1")).to_have_text("How it came about")
    assert page.locator("iframe").get_attribute("sandbox") == ""
    assert "0 in 396 slot collisions: at most 0.76 % (95 %)" in text_of(page, ".rates")


def test_the_repeat_command_is_copied(page_of: OpenPage) -> None:
    one = page_of("/runs/r5-failed", permissions=["clipboard-read", "clipboard-write"])
    one.page.get_by_role("button", name="Copy").click()
    one.wait("Copied")
    assert one.page.evaluate("navigator.clipboard.readText()") == (
        "saq-chaos soak runs/r5-failed/plan.yaml"
    )


def test_bounds_are_those_of_the_verdict(page_of: OpenPage) -> None:
    cases = [(0, 0), (0, 2), (0, 412), (1, 10), (57, 396), (396, 396), (412, 396), (9, 1)]
    one = page_of("/runs/r5-failed")
    one.wait("Failed")
    source = one.page.locator('script[type="module"]').get_attribute("src")
    base = str(source).rsplit("/pages/", 1)[0]
    found: list[Any] = one.page.evaluate(
        "([base, cases]) => import(base + '/run/bounds.js').then((it) =>"
        " cases.map(([count, exposure]) => String(it.rateUpperBound(count, exposure))))",
        [base, cases],
    )
    wanted = [rate_upper_bound(count, exposure) for count, exposure in cases]
    assert [float(one.replace("Infinity", "inf")) for one in found] == pytest.approx(wanted)


def test_a_run_that_is_gone_and_one_without_a_verdict_say_why(page_of: OpenPage) -> None:
    one = page_of("/runs/nope", expected=(LOADS,))
    one.wait("no run is called 'nope'")
    one.open("/runs/r2-error")
    one.wait("did not start: address in use")


# --- start, sign in, lock -----------------------------------------------------------------------


def test_the_start_form_is_filled_and_sent_with_the_keyboard_alone(
    page_of: OpenPage, stage: Stage
) -> None:
    one = page_of("/start")
    one.wait("Drawn from seed")
    page = one.page
    page.locator("#main").focus()
    page.keyboard.press("Tab")
    page.keyboard.type("same")
    page.keyboard.press("Tab")
    for tick in (" ", "", "", "", " "):
        page.keyboard.press("Tab")
        if tick:
            page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("strict")
    for text in ("30s", "42", "pr=9"):
        page.keyboard.press("Tab")
        page.keyboard.type(text)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/r6-goes-on")
    asked = stage.asked[-1]
    assert asked.model_dump(exclude_defaults=True) == {
        "plan": "same-key", "variants": ["stock@0.26.3", "stock@0.26.4"], "gate": "strict",
        "world": "sim", "seed": 42, "duration": "30s", "labels": {"pr": "9"},
    }  # fmt: skip


def test_what_the_server_lists_beside_variants_can_be_chosen(
    page_of: OpenPage, stage: Stage
) -> None:
    stage.targets = TargetList(apps=["shop"], redis=["staging", "test"], webhooks=["ci", "pager"])
    one = page_of("/start")
    one.wait("Drawn from seed")
    one.page.get_by_label("App").select_option("shop")
    one.page.get_by_label("Redis", exact=True).select_option("test")
    one.page.get_by_role("group", name="Webhooks told when it ends").get_by_label("pager").check()
    expect(one.page.locator(".stale")).to_have_count(0)  # the preview of before has gone
    assert barriers(one.page) == []
    one.page.get_by_role("button", name="Start the run").click()
    one.page.wait_for_url("**/runs/r6-goes-on")
    asked = stage.asked[-1]
    assert (asked.app, asked.redis, asked.webhooks) == ("shop", "test", ["pager"])


def test_a_server_that_lists_nothing_beside_variants_shows_no_fields_for_it(
    page_of: OpenPage,
) -> None:
    one = page_of("/start")
    one.wait("Drawn from seed")
    assert one.page.locator("[name=app], [name=redis], [name=webhook]").count() == 0


def test_fields_that_cannot_be_read_are_named_and_nothing_is_sent(
    page_of: OpenPage, stage: Stage
) -> None:
    one = page_of("/start")
    one.wait("Drawn from seed")
    one.page.get_by_label("Seed").fill("x1")
    one.page.get_by_label("Duration").fill("ninety")
    sent = len(stage.asked)
    one.page.get_by_role("button", name="Start the run").click()
    one.wait("The seed x1 is no whole number from 0 on.")
    assert one.page.locator("[aria-invalid=true]").count() == 2
    assert one.page.evaluate("document.activeElement.name") == "seed"
    assert len(stage.asked) == sent


def test_every_problem_of_an_inline_plan_is_listed(page_of: OpenPage, stage: Stage) -> None:
    one = page_of("/start", expected=(LOADS,))
    one.wait("Drawn from seed")
    one.page.get_by_label("Change the plan itself").check()
    expect(one.page.get_by_label("Plan as JSON")).to_have_value(re.compile("smoke"))
    one.page.get_by_role("button", name="Preview").click()
    expect(one.page.locator("#shown li")).to_have_text(["workers: missing", "keys: 0"])
    assert isinstance(stage.asked[-1].plan, dict)
    assert stage.asked[-1].plan["plan"] == "smoke"


def test_a_stranger_signs_in_and_gets_where_they_wanted(page_of: OpenPage, stage: Stage) -> None:
    stage.signed_in = False
    one = page_of("/runs/r5-failed", expected=(LOADS,))
    one.page.get_by_label("Token").fill("wrong")
    one.page.get_by_role("button", name="Sign in").click()
    one.wait("the token is not one of this service")
    assert barriers(one.page) == []
    one.page.get_by_label("Token").fill("right")
    one.page.keyboard.press("Enter")
    one.wait("Failed: the gate does not hold")
    assert "right" not in one.page.url


def test_signing_in_leads_to_no_other_host(page_of: OpenPage) -> None:
    one = page_of("/login?next=https://evil.example/x")
    one.wait("Start a run")
    assert one.page.url == f"{one.base}/"


def test_a_lock_is_seen_set_and_released(page_of: OpenPage, stage: Stage) -> None:
    one = page_of("/")
    one.page.get_by_role("button", name="Lock").click()
    one.page.get_by_label("Reason, for everybody to read").fill("incident of today")
    assert barriers(one.page) == []
    one.page.get_by_role("button", name="Stop everything").click()
    one.wait("Locked: incident of today (on-call). Nothing starts until it is released.")
    assert stage.locked.reason == "incident of today"
    one.page.get_by_role("button", name="Release").click()
    expect(one.page.locator("#banner-lock")).to_have_count(0)
    assert not stage.locked.locked


def test_a_browser_that_is_offline_says_so(page_of: OpenPage) -> None:
    one = page_of("/", expected=("ERR_INTERNET_DISCONNECTED",))
    one.wait("Start a run")
    one.page.context.set_offline(True)
    one.wait("This browser is offline.")
    one.page.context.set_offline(False)
    expect(one.page.locator("#banner-offline")).to_have_count(0)


def test_a_queued_run_waits_and_says_so(page_of: OpenPage, stage: Stage) -> None:
    stage.runs["r7-waits"] = run(
        "r7-waits", state="queued", outcome=None, verdict=None, gate_answer=None, started_at=None,
        ended_at=None, exit_code=None,
    )  # fmt: skip
    one = page_of("/runs/r7-waits")
    expect(one.page.locator("#head .badge")).to_have_text("Waiting")
    one.wait("Figures come once a second")
