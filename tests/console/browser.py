"""A real Chromium for tests of the console, which notes whatever a page does wrong by itself.

`Watched.problems` holds errors of scripts, messages on the console, refusals of the content
security policy, and requests to any other host: every test ends with it being empty.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # no stubs
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or ""
WAIT_MS = 60_000
WIDE, NARROW = 1280, 360

expect.set_options(timeout=WAIT_MS)


@contextmanager
def started() -> Iterator[Browser]:
    """The system's own Chromium, ended with the block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watched:
    """One page and what went wrong on it.

    Attributes:
        expected: parts of messages that belong to the test, such as an answer of 404.
    """

    page: Page
    base: str
    expected: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        self.page.goto(self.base + path)
        return self.page

    def wait(self, text: str) -> None:
        """Until this text stands on the page."""
        self.page.get_by_text(text).first.wait_for()

    def said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.note(f"{kind}: {text}")

    def note(self, text: str) -> None:
        if not any(part in text for part in self.expected):
            self.problems.append(text)

    def asked(self, request: Request) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.problems.append(f"asked another host: {request.url}")


def watched(browser: Browser, base: str, **options: Any) -> Watched:
    """A fresh page with no cookies, in the light theme and wide unless told otherwise."""
    viewport = {"width": options.pop("width", WIDE), "height": 900}
    context = browser.new_context(viewport=viewport, **options)  # type: ignore[arg-type]
    context.set_default_timeout(WAIT_MS)
    made = Watched(context.new_page(), base)
    made.page.on("pageerror", lambda error: made.note(f"script: {error}"))
    made.page.on("console", lambda said: made.said(said.type, said.text))
    made.page.on("request", made.asked)
    return made


def barriers(page: Page, *rules: str) -> list[str]:
    """What axe-core calls a serious or critical barrier, with the elements it is about.

    Args:
        rules: only these; none: all of them.
    """
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:150] for node in one['nodes']][:4]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    found: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return found
