"""Debian's Chromium, as quiet as it can be: it talks to nobody but the service."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, Playwright

_PATH: Final = "/usr/bin/chromium"
_OPTIONS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def launched(playwright: Playwright) -> Iterator[Browser]:
    """A browser for as long as the block runs."""
    browser = playwright.chromium.launch(executable_path=_PATH, args=list(_OPTIONS))
    try:
        yield browser
    finally:
        browser.close()
