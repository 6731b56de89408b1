"""A real service, and a real browser that visits it."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.chromium import launched
from tests.browser.stream import Stream
from tests.serve.process import ServerProcess
from tests.serve.scene import bearer

Visit = Callable[..., Page]
_numbers = count(1)
# What is looked for comes at once, except where something has to be compiled first, or the machine is busy.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("serve")) as started:
        answer = httpx.post(
            f"{started.url}/dry-run", json={"query": "x"}, headers=bearer(started.operator_key), timeout=300
        )
        assert answer.status_code == 200
        yield started


@pytest.fixture(scope="session")
def stream(server: ServerProcess) -> Iterator[Stream]:
    with Stream(server) as opened:
        yield opened


# Not for the session: as long as it is open, the thread has a running event loop, which others may want for themselves.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, launched(playwright) as opened:
        yield opened


@pytest.fixture
def key(server: ServerProcess) -> str:
    """The key of somebody who is new here."""
    return server.sign_up(f"reader{next(_numbers)}")


@pytest.fixture
def visit(browser: Browser, server: ServerProcess) -> Iterator[Visit]:
    """Visit the page with a key, in a session of its own; at the end nothing must have gone wrong in it."""
    wrong: list[str] = []
    contexts = []

    def open_page(key: str | None = None, view: str = "", **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
        page.goto(server.url if key is None else f"{server.url}/#key={key}")
        if key is not None:
            expect(page.locator("#state")).to_have_text("Live")
        if view:
            page.click(f'#views a[href="#{view}"]')
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
