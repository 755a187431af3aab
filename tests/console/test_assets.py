"""Static files and frames: what is sent, how long it is kept, and what must never stand in them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from service.console import assets, router

STATIC = assets.FOLDER
TEMPLATES = Path(router.__file__).parent / "templates"
OURS = sorted(path for path in STATIC.rglob("*.js") if "vendor" not in path.parts)
PAGES = ("/", "/runs/some-run", "/start", "/compare", "/schedules", "/login")


@pytest.fixture
def client() -> httpx.AsyncClient:
    app = FastAPI()
    app.include_router(router.router)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")


def test_the_vendored_chart_library_is_the_released_one() -> None:
    folder = STATIC / "vendor" / "uplot"
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    listed = {name: digest for digest, name in (line.split() for line in lines)}
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != "SHA256SUMS"
    }
    assert found == listed
    assert (folder / "VERSION").read_text() == "uPlot 1.6.32\n"
    assert "MIT License" in (folder / "LICENSE").read_text()


def test_no_module_parses_text_as_markup_or_code() -> None:
    words = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function"
        r"|srcdoc|setHTML"
    )
    assert [path.name for path in OURS if re.search(words, path.read_text("utf-8"))] == []


def test_frames_hold_no_inline_script_or_style_and_no_other_address() -> None:
    for path in sorted(TEMPLATES.glob("*.html")):
        text = path.read_text("utf-8")
        assert (
            re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|https?://", text) == []
        ), path.name


def test_no_static_file_of_ours_names_another_host() -> None:
    allowed = "http://www.w3.org/2000/svg"
    for path in [*OURS, *sorted(STATIC.glob("css/*.css")), *sorted(STATIC.glob("*.svg"))]:
        text = path.read_text("utf-8").replace(allowed, "")
        assert re.findall(r"https?://|url\(", text) == [], path.name


async def test_every_page_is_a_frame_without_data_under_a_strict_policy(
    client: httpx.AsyncClient,
) -> None:
    for path in PAGES:
        answer = await client.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; "
            "frame-ancestors 'none'"
        )
        assert "some-run" not in answer.text


async def test_whatever_a_frame_names_is_sent_with_its_type_and_kept_for_ever(
    client: httpx.AsyncClient,
) -> None:
    kinds = {
        "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml",
    }
    for page in PAGES:
        named = re.findall(r'"(/static/[^"]+)"', (await client.get(page)).text)
        assert len(named) >= 5
        for path in named:
            answer = await client.get(path)
            assert answer.status_code == 200, path
            assert answer.headers["content-type"] == kinds[path.rsplit(".", 1)[1]]
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_every_import_of_a_module_leads_to_a_file() -> None:
    for path in OURS:
        for wanted in re.findall(r'from "([^"]+)"', path.read_text("utf-8")):
            assert wanted.startswith("."), (path.name, wanted)
            assert (path.parent / wanted).resolve().is_file(), (path.name, wanted)


async def test_a_file_below_another_version_is_sent_but_not_kept(client: httpx.AsyncClient) -> None:
    answer = await client.get("/static/0000000000000000/css/base.css")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")


async def test_a_file_that_the_browser_has_is_not_sent_again(client: httpx.AsyncClient) -> None:
    path = f"/static/{router.ASSETS.version}/css/base.css"
    first = await client.get(path)
    again = await client.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_another_file_makes_another_version(tmp_path: Path) -> None:
    (tmp_path / "one.css").write_text("a {}")
    before = assets.read_all(tmp_path).version
    (tmp_path / "one.css").write_text("b {}")
    assert assets.read_all(tmp_path).version != before


@pytest.mark.parametrize(
    "path",
    [
        "/static/x/../../router.py",
        "/static/x/%2e%2e/%2e%2e/router.py",
        "/static/x//etc/passwd",
        "/static/x/js",
        "/runs/..%2f..%2fetc",
        "/runs/<b>",
    ],
)
async def test_an_address_that_is_none_of_ours_is_a_page_that_says_so(
    client: httpx.AsyncClient, path: str
) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert "passwd" not in answer.text
    assert "import" not in answer.text


def test_modules_are_short_enough_to_read() -> None:
    lines = {path.name: len(path.read_text("utf-8").splitlines()) for path in OURS}
    assert {name: count for name, count in lines.items() if count > 300} == {}
    assert [path.name for path in OURS if not path.read_text("utf-8").startswith("// ")] == []


@pytest.mark.parametrize("path", [*PAGES, f"/static/{router.ASSETS.version}/js/dom.js"])
async def test_the_head_of_a_page_or_a_file_can_be_asked_for_alone(
    client: httpx.AsyncClient, path: str
) -> None:
    whole, head = await client.get(path), await client.head(path)
    assert (head.status_code, whole.status_code) == (200, 200)
    assert head.headers == whole.headers
