"""What matches comes at once, with its reason; nothing is missed or doubled by whoever was away."""

import signal

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.stream import Stream
from tests.serve.process import ServerProcess


def subscribe(page: Page, query: str) -> None:
    page.fill("#query", query)
    page.click("#subscribe")
    expect(page.locator(".subscription code").filter(has_text=query)).to_have_count(1)


def texts(page: Page, where: str) -> list[str]:
    return page.locator(f"{where} .text").all_inner_texts()


def test_a_match_comes_live_with_its_reason_highlighted(visit: Visit, key: str, stream: Stream) -> None:
    page = visit(key)
    subscribe(page, "comet OR from:nasa")
    page.click('#views a[href="#feed"]')
    stream.post("Two comets tonight")
    post = page.locator("#feed .post")
    expect(post.locator("mark")).to_have_text("comets")
    expect(post.locator(".reasons code")).to_have_text("comet OR from:nasa")
    stream.post("Nothing of note", author="nasa")
    expect(post.first.locator(".reasons .chip")).to_have_text("from:nasa")
    expect(page.locator("#unread")).to_have_text("2")
    assert texts(page, "#feed") == ["Nothing of note", "Two comets tonight"]


def test_who_was_offline_finds_everything_in_order_and_once(visit: Visit, key: str, stream: Stream) -> None:
    page = visit(key)
    subscribe(page, "ebb")
    page.click('#views a[href="#inbox"]')
    stream.post("ebb 0", "ebb 1")
    expect(page.locator("#notifications .post")).to_have_count(2)
    page.context.set_offline(True)
    expect(page.locator("#state")).to_have_text("Offline")
    for number in range(2, 8, 2):
        stream.post(f"ebb {number}", f"ebb {number + 1}")
    page.context.set_offline(False)
    expect(page.locator("#state")).to_have_text("Live")
    stream.post("ebb 8")
    wanted = [f"ebb {number}" for number in range(8, -1, -1)]
    expect(page.locator("#notifications .text")).to_have_text(wanted)
    expect(page.locator("#feed .text")).to_have_text(wanted)
    expect(page.locator("#unread")).to_have_text("9")


def test_a_service_that_dies_is_waited_for(visit: Visit, key: str, server: ServerProcess, stream: Stream) -> None:
    page = visit(key)
    subscribe(page, "flow")
    page.click('#views a[href="#inbox"]')
    stream.post("flow 0")
    expect(page.locator("#notifications .post")).to_have_count(1)
    server.stop(signal.SIGKILL)
    expect(page.locator("#state")).to_have_text("Reconnecting")
    stream.match([{"id": f"while-down-{number}", "text": f"flow {number}"} for number in (1, 2)])
    server.start()
    expect(page.locator("#state")).to_have_text("Live")
    expect(page.locator("#notifications .text")).to_have_text(["flow 2", "flow 1", "flow 0"])


def test_read_in_one_session_is_read_in_the_other(visit: Visit, key: str, stream: Stream) -> None:
    here = visit(key)
    subscribe(here, "moon")
    there = visit(key, "inbox")
    here.click('#views a[href="#inbox"]')
    stream.post("moon 0", "moon 1", "moon 2")
    for page in (here, there):
        expect(page.locator("#notifications .is-unread")).to_have_count(3)
        expect(page.locator("#unread")).to_have_text("3")
    here.locator("#notifications .post").nth(1).get_by_text("Mark as read").click()
    for page in (here, there):
        expect(page.locator("#notifications .is-unread .text")).to_have_text(["moon 2", "moon 0"])
        expect(page.locator("#unread")).to_have_text("2")
    # What was read while one was away is known when one is back.
    there.context.set_offline(True)
    expect(there.locator("#state")).to_have_text("Offline")
    here.click("#read-all")
    expect(here.locator("#notifications .is-unread")).to_have_count(0)
    there.context.set_offline(False)
    expect(there.locator("#notifications .is-unread")).to_have_count(0)
    expect(there.locator("#unread")).to_be_hidden()
    expect(there.locator("#read-all")).to_be_disabled()


def test_older_notifications_come_page_by_page(visit: Visit, key: str, stream: Stream) -> None:
    page = visit(key)
    subscribe(page, "tideline")
    stream.post(*(f"tideline {number}" for number in range(70)))
    expect(page.locator("#unread")).to_have_text("70")
    page.reload()
    page.click('#views a[href="#inbox"]')
    posts = page.locator("#notifications .text")
    for shown in (30, 60, 70):
        expect(posts).to_have_count(shown)
        if shown < 70:
            page.click("#older")
    expect(page.locator("#older")).to_be_hidden()
    assert posts.all_inner_texts() == [f"tideline {number}" for number in range(69, -1, -1)]


def test_who_is_signed_out_by_others_is_told_why(visit: Visit, key: str, server: ServerProcess) -> None:
    page = visit(key)
    page.evaluate(
        "key => fetch('/keys/current', {method: 'DELETE', headers: {Authorization: 'Bearer ' + key}})",
        key,
    )
    expect(page.get_by_role("alert")).to_contain_text("You were signed out")
    expect(page.locator("#key")).to_be_visible()
