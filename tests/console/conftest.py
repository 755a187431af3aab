"""What tests of the console share: a browser for each module, the stage behind a real socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser

from tests.console import browser as browsing
from tests.console.browser import Watched
from tests.console.stage import Stage

OpenPage = Callable[..., Watched]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium; a page of its own for each test."""
    if not browsing.CHROMIUM:
        pytest.skip("needs chromium")
    with browsing.started() as made:
        yield made


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def staged(stage: Stage) -> Iterator[str]:
    """The address of the stage's pages."""
    listening = socket.create_server(("127.0.0.1", 0))
    settings = uvicorn.Config(
        stage.app(), log_level="critical", lifespan="off", timeout_graceful_shutdown=0
    )
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(60)
    assert not thread.is_alive()


@pytest.fixture
def page_of(browser: Browser, staged: str) -> Iterator[OpenPage]:
    """Opens a page of the stage; at the end none of them may have done anything wrong."""
    opened: list[Watched] = []

    def make(path: str, expected: tuple[str, ...] = (), **options: Any) -> Watched:
        made = browsing.watched(browser, staged, **options)
        made.expected += expected
        opened.append(made)
        made.open(path)
        return made

    yield make
    for one in opened:
        one.page.context.close()
    assert [one.problems for one in opened] == [[] for _ in opened]
