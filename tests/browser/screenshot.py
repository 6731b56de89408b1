"""Makes the picture in the README: `python -m tests.browser.screenshot docs/images/page.png`.

The service is a real one with generated posts; whose page it is has subscriptions, and some matches in the inbox.
"""

import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from tests.browser.chromium import launched
from tests.browser.stream import Stream
from tests.serve.process import ServerProcess
from tidegate.workload.microblog import Microblog

_POSTS = 900
_PER_S = 1.0
_SUBSCRIPTIONS = ("eclipse (comet OR telescope)", "concert in:(1.9,48.6,2.8,49.1)", "pizza garlic -recipe")
_QUERY = "storm (rain OR flood) in:(-12,35,30,60)"


def picture(path: Path) -> None:
    """Take the picture of a reader who is writing a query."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ServerProcess(Path(folder)) as server,
        Stream(server) as stream,
        sync_playwright() as playwright,
        launched(playwright) as browser,
    ):
        page = browser.new_page(viewport={"width": 1280, "height": 860}, color_scheme="light", locale="en-GB")
        page.goto(f"{server.url}/#key={server.sign_up('ana')}")
        for number, query in enumerate(_SUBSCRIPTIONS, 1):
            page.fill("#query", query)
            page.click("#subscribe", timeout=120_000)
            expect(page.locator(".subscription")).to_have_count(number, timeout=120_000)
        stream.hand_in(_generated())
        page.fill("#query", _QUERY)
        expect(page.locator("#matches mark").first).to_be_visible(timeout=120_000)
        expect(page.locator("#unread")).to_be_visible()
        path.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=path)
    print(f"{path}: {path.stat().st_size:,} bytes")


def _generated() -> list[dict[str, object]]:
    """Posts of the last minutes, as a service takes them."""
    microblog = Microblog(1, datetime.now(UTC) - timedelta(seconds=_POSTS / _PER_S), _PER_S)
    posts = [post for batch in microblog.posts(0, _POSTS) for post in batch.to_pylist()]
    # Not every machine that takes pictures has a font with every sign.
    return [{**post, "ts": post["ts"].isoformat(), "text": _plain(post["text"])} for post in posts]


def _plain(text: str) -> str:
    return "".join(character for character in text if ord(character) < 0x2600).strip()


if __name__ == "__main__":
    picture(Path(sys.argv[1]))
