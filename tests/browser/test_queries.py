"""What one writes is explained as one types, tried on recent posts, and subscribed to."""

import re

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Visit
from tests.browser.stream import Stream


def write(page: Page, query: str) -> None:
    page.fill("#query", query)


def test_a_query_is_explained_and_its_words_are_marked_in_recent_posts(visit: Visit, key: str, stream: Stream) -> None:
    stream.post("🌊🌊 Storms reach the harbour", "A storm on film", "All quiet at the harbour")
    page = visit(key)
    write(page, "storm (harbour OR coast) -film")
    chips = page.locator("#verdict .alternatives li")
    expect(chips).to_have_count(2)
    expect(chips.nth(1).locator(".wanted")).to_have_text(["harbour", "storm"])
    expect(chips.nth(1).locator(".excluded")).to_have_text("film")
    expect(page.locator("#matches .post")).to_have_count(1)
    # Characters beyond the first plane are two in JavaScript and one in Python.
    expect(page.locator("#matches mark")).to_have_text(["Storms", "harbour"])
    expect(page.locator("#estimate")).to_contain_text(re.compile(r"1 of the last \d+ posts"))


def test_an_error_is_told_with_its_remedy_and_marked_where_it_is(visit: Visit, key: str) -> None:
    page = visit(key)
    write(page, "🌊 storm (coast")
    error = page.locator("#verdict .error")
    expect(error).to_contain_text("at character 9")
    expect(error).to_contain_text("Try: ")
    expect(page.locator("#backdrop mark")).to_have_text("(")
    expect(page.locator("#query")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#subscribe")).to_be_disabled()
    # What is marked lies exactly under the character in the text.
    mark = page.locator("#backdrop mark").bounding_box()
    text = page.locator("#query").bounding_box()
    assert mark is not None
    assert text is not None
    assert text["x"] < mark["x"] < text["x"] + text["width"]
    assert text["y"] < mark["y"] < text["y"] + text["height"]
    write(page, "storm")
    expect(page.locator("#backdrop mark")).to_have_count(0)
    expect(page.locator("#subscribe")).to_be_enabled()


def test_the_answer_to_what_was_written_last_is_the_one_that_is_shown(visit: Visit, key: str) -> None:
    page = visit(key)
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if "slow" in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route("**/explain", hold_the_first)
    with page.expect_request("**/explain"):
        write(page, "slow")
    with page.expect_response("**/dry-run"):
        write(page, "quick")
    expect(page.locator("#verdict .wanted")).to_have_text("quick")
    assert len(held) == 1
    held[0].continue_()
    page.wait_for_timeout(300)
    expect(page.locator("#verdict .wanted")).to_have_text("quick")


def test_a_subscription_is_made_paused_resumed_changed_and_removed(visit: Visit, key: str) -> None:
    page = visit(key)
    write(page, "eclipse")
    page.click("#subscribe")
    row = page.locator(".subscription")
    expect(row.locator("code")).to_have_text("eclipse")
    expect(page.locator("#query")).to_have_value("")
    row.get_by_text("Pause").click()
    expect(row).to_contain_text("paused")
    row.get_by_text("Resume").click()
    expect(row).not_to_contain_text("paused")
    row.get_by_text("Change").click()
    expect(page.locator("#query")).to_have_value("eclipse")
    write(page, "eclipse -lunar")
    page.get_by_role("button", name="Save the change").click()
    expect(row.locator("code")).to_have_text("eclipse -lunar")
    row.get_by_text("Remove").click()
    row.get_by_text("Really remove?").click()
    expect(row).to_have_count(0)
    expect(page.locator("#subscriptions")).to_have_text("None yet.")


def test_a_hostile_post_stays_text(visit: Visit, key: str, stream: Stream) -> None:
    hostile = '<img src=x onerror="window.hacked=1"><script>window.hacked=2</script> hostility </p><h1>'
    page = visit(key)
    write(page, "hostility")
    page.click("#subscribe")
    expect(page.locator(".subscription")).to_have_count(1)
    stream.post(hostile, author="<b>eve</b>")
    write(page, "hostility")
    for view, where in (("queries", "#matches"), ("feed", "#feed"), ("inbox", "#notifications")):
        page.click(f'#views a[href="#{view}"]')
        post = page.locator(f"{where} .post")
        expect(post.locator("mark")).to_have_text("hostility")
        expect(post.locator(".text")).to_have_text(hostile)
        expect(post.locator(".author")).to_have_text("<b>eve</b>")
        assert post.locator("img, script, h1, b").count() == 0
    assert page.evaluate("window.hacked") is None


def test_a_subscription_that_is_too_broad_is_refused_and_the_banner_can_be_dismissed(
    visit: Visit, key: str, stream: Stream
) -> None:
    stream.post(*["everybody speaks of breadth"] * 200)
    page = visit(key)
    write(page, "breadth")
    expect(page.locator("#estimate.error")).to_contain_text("are not allowed")
    page.click("#subscribe")
    expect(page.get_by_role("alert")).to_contain_text("The subscription would match too much")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_role("alert")).to_be_empty()
