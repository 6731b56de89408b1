"""Who one is, by a key that is typed or comes with a link, kept, forgotten or wrong; and what operators see."""

import time

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.serve.process import ServerProcess
from tidegate.store.status import Jobs, JobStatus
from tidegate.store.store import Store


def test_a_wrong_key_is_refused_with_a_problem_that_says_what_to_do(visit: Visit) -> None:
    page = visit()
    page.fill("#key", "tide_wrong")
    page.click("text=Sign in")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("A valid key is needed: the key was not issued here, or has been revoked")
    assert page.evaluate("[sessionStorage.length, localStorage.length]") == [0, 0]


def test_a_key_in_a_link_is_taken_up_and_leaves_the_address(visit: Visit, key: str, server: ServerProcess) -> None:
    page = visit(key)
    assert page.url == f"{server.url}/"
    assert key not in page.evaluate("JSON.stringify({...localStorage})")
    page.click("text=Sign out")
    expect(page.locator("#key")).to_be_visible()
    assert key not in page.evaluate("JSON.stringify({...sessionStorage})")


def test_a_key_is_remembered_where_that_is_wanted(visit: Visit, key: str) -> None:
    page = visit()
    page.fill("#key", key)
    page.check("#remember")
    page.click("text=Sign in")
    expect(page.locator("#who")).to_contain_text("reader")
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#who")).to_contain_text("reader")


def follow_link(page: Page, key: str) -> None:
    """Follow a link with a key, while the page is open."""
    page.goto(f"{page.url.partition('#')[0]}#key={key}")


def test_a_link_with_the_key_of_another_asks_first_and_a_remembered_key_stays(
    visit: Visit, key: str, server: ServerProcess
) -> None:
    page = visit()
    page.fill("#key", key)
    page.check("#remember")
    page.click("text=Sign in")
    expect(page.locator("#state")).to_have_text("Live")
    mine = page.locator("#who").inner_text()
    remembered = page.evaluate("JSON.stringify({...localStorage})")
    assert key in remembered
    other = server.sign_up(f"not-{mine}")
    follow_link(page, other)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"This link is for not-{mine}")
    assert other not in page.url
    page.keyboard.press("Escape")
    expect(page.locator("#who")).to_have_text(mine)
    expect(page.locator("#state")).to_have_text("Live")
    follow_link(page, other)
    dialog.get_by_role("button", name=f"Go on as not-{mine}").click()
    expect(page.locator("#who")).to_have_text(f"not-{mine}")
    assert page.evaluate("JSON.stringify({...localStorage})") == remembered
    # In another tab nothing has changed, and here it is as before once the other has signed out.
    tab = page.context.new_page()
    tab.goto(server.url)
    expect(tab.locator("#who")).to_have_text(mine)
    page.click("text=Sign out")
    expect(page.locator("#who")).to_have_text(mine)
    page.click("text=Sign out")
    expect(page.locator("#key")).to_be_visible()
    assert "tide_" not in page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])")


def test_a_link_with_a_key_of_ones_own_or_of_nobody_changes_nothing(
    visit: Visit, key: str, server: ServerProcess
) -> None:
    page = visit(key)
    mine = page.locator("#who").inner_text()
    follow_link(page, "tide_wrong")
    expect(page.get_by_role("alert")).to_contain_text("The link does not lead in")
    expect(page.locator("#who")).to_have_text(mine)
    follow_link(page, key)
    expect(page.locator("#state")).to_have_text("Live")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.url == f"{server.url}/"


def test_a_link_with_what_cannot_be_a_key_opens_the_page(visit: Visit, server: ServerProcess) -> None:
    page = visit()
    page.goto("about:blank")
    page.goto(f"{server.url}/#key=%")
    expect(page.locator("#key")).to_be_visible()


def test_a_link_replaces_a_key_that_is_no_longer_valid(visit: Visit, key: str) -> None:
    page = visit()
    page.evaluate("localStorage.setItem('tidegate.key', 'tide_revoked')")
    follow_link(page, key)
    expect(page.locator("#state")).to_have_text("Live")


def test_the_operators_view_is_for_operators(visit: Visit, key: str, server: ServerProcess) -> None:
    page = visit(key)
    expect(page.locator('a[href="#operator"]')).to_be_hidden()
    page.goto(f"{server.url}/#operator")
    page.reload()
    expect(page.locator("#view-queries")).to_be_visible()
    expect(page.locator("#view-operator")).to_be_hidden()


def test_an_operator_signs_up_others(visit: Visit, server: ServerProcess) -> None:
    page = visit(server.operator_key, "operator")
    page.fill("#new-name", "newcomer")
    page.click("text=Make a key")
    made = page.locator("#new-key code").inner_text()
    assert made.startswith("tide_")
    expect(visit(made).locator("#who")).to_have_text("newcomer")
    page.fill("#new-name", "newcomer")
    page.click("text=Make a key")
    expect(page.get_by_role("alert")).to_contain_text("there is a subscriber 'newcomer'")


def test_figures_are_those_of_the_job_and_what_is_not_known_is_no_zero(visit: Visit, server: ServerProcess) -> None:
    page = visit(server.operator_key, "operator")
    expect(page.locator("#figures")).to_contain_text("No job has run on this store yet")
    jobs = Jobs(Store.open(server.folder / "store").beside)
    begun = time.time()

    def note(batch: int, posts: int) -> None:
        last = {"posts": 500, "visits": 1500, "shed": 500, "loads": {"0": 900, "1": 300}}
        total = {"posts": posts, "matches": posts // 10}
        figures = {"batches": batch, "total": total, "last": last, "lag": {"waiting": 1234, "unit": "posts"}}
        figures["shedding"] = {"level": 2, "of": 8}
        jobs.write(JobStatus("run1", "json:posts", "inbox:x", "running", batch, 7, 3, begun, begun + batch, figures))

    def figure(name: str) -> str:
        return f'#figures .job .tiles > div:has(dt:text-is("{name}")) dd'

    note(1, 500)
    expect(page.locator(figure("Lag, posts"))).to_have_text("1,234")
    expect(page.locator(figure("Posts a second"))).to_have_text("not known")
    note(2, 1000)
    expect(page.locator(figure("Posts a second"))).to_have_text("500")
    expect(page.locator(figure("Matches a second"))).to_have_text("50")
    expect(page.locator(figure("Spread, matchers a post"))).to_have_text("3")
    expect(page.locator(figure("Shedding level"))).to_have_text("2of 8; 25 % of visits shed")
    expect(page.locator(figure("Plan, version"))).to_contain_text("3")
    expect(page.locator(figure("Latency, seconds"))).to_have_text("not known")
    expect(page.locator("#figures .loads")).to_contain_text("the busiest has 1.5 times the mean")
    expect(page.locator("#figures .spark").first).to_be_visible()
