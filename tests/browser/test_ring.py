"""The picture of a ring, in a real browser."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tidegate.csr import from_rows
from tidegate.overlay.swarm.ring_page import RingPage
from tidegate.overlay.swarm.swarm import Swarm


def test_a_ring_is_played_until_it_is_complete(browser: Browser, tmp_path: Path) -> None:
    swarm = Swarm(from_rows([[0]] * 9), seed=1)
    drawn = RingPage.of(swarm)
    drawn.look(0)
    swarm.warm()
    for cycle in range(1, 8):
        swarm.run(3)
        drawn.look(cycle)
    (tmp_path / "ring.html").write_text(drawn.html(), "utf-8")
    wrong: list[str] = []
    page = browser.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((tmp_path / "ring.html").as_uri())
    expect(page.locator("#status")).to_contain_text("Cycle 0: 9 of 9 peers there, 0 of 18 links right")
    expect(page.locator("#ring path")).to_have_count(0)
    page.get_by_label("Speed").select_option("fast")
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#status")).to_contain_text("18 of 18 links right: the ring is complete")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page.locator("#ring path.right")).to_have_count(18)
    page.get_by_label("Cycle").fill("0")
    expect(page.locator("#ring path")).to_have_count(0)
    page.close()
    assert not wrong
