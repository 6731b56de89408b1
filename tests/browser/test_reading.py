"""For everybody: by keyboard alone, on a phone, in the dark, and for those who hear it."""

import re
from typing import Final

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.stream import Stream
from tests.serve.process import ServerProcess

VIEWS: Final = ("queries", "feed", "inbox", "operator")
# The contrast of WCAG 2, of every element that has text of its own, against the first ground behind it.
CONTRASTS: Final = """() => {
  const rgb = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = rgb(colour).slice(0, 3).map((each) => each / 255)
      .map((each) => (each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (rgb(colour)[3] !== 0) return colour;
    }
  };
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const unread = "noscript, #backdrop, #backdrop *, :disabled";
  return [...document.querySelectorAll("body *")]
    .filter((element) => element.checkVisibility() && hasText(element) && !element.matches(unread))
    .map((element) => {
      const [a, b] = [light(getComputedStyle(element).color), light(ground(element))];
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.outerHTML.slice(0, 120)];
    });
}"""


def test_with_the_keyboard_alone_one_signs_in_writes_and_subscribes(visit: Visit, key: str) -> None:
    page = visit()
    expect(page.locator("#key")).to_be_focused()
    page.keyboard.type(key)
    page.keyboard.press("Enter")
    expect(page.locator("#state")).to_have_text("Live")
    page.reload()
    expect(page.locator("#state")).to_have_text("Live")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("aurora")
    expect(page.locator("#verdict .wanted")).to_have_text("aurora")
    page.keyboard.press("Enter")
    expect(page.locator(".subscription code")).to_have_text("aurora")
    # Everything that can be used is reached, and shows that it was.
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        within = page.evaluate("document.activeElement.matches('body, main, .editor textarea')")
        assert within or outline == "solid", page.evaluate("document.activeElement.outerHTML")
    assert {"Draw a rectangle", "Put into the query", "Pause: aurora", "Remove: aurora", "Live feed"} <= reached


def test_the_skip_link_hides_nothing_though_it_was_followed_before_the_page_was_ready(visit: Visit, key: str) -> None:
    page = visit(key)
    page.evaluate("location.hash = '#main'")
    page.reload()
    expect(page.locator("#query")).to_be_visible()


@pytest.mark.parametrize("width", [360, 768])
def test_nothing_is_wider_than_a_phone(visit: Visit, server: ServerProcess, stream: Stream, width: int) -> None:
    stream.post("A" * 300, "https://example.org/" + "long/" * 60, lat=1.0, lon=1.0)
    page = visit(server.operator_key, viewport={"width": width, "height": 740})
    page.fill("#query", "(" + " OR ".join(f"alternative{number}" for number in range(8)) + ")")
    expect(page.locator("#verdict .alternatives")).to_be_visible()
    for view in VIEWS:
        page.click(f'#views a[href="#{view}"]')
        expect(page.locator(f"#view-{view}")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(visit: Visit, server: ServerProcess, stream: Stream, scheme: str) -> None:
    stream.post("A lantern in the dark")
    page = visit(server.operator_key, color_scheme=scheme)
    page.fill("#query", "lantern -film")
    expect(page.locator("#matches mark").first).to_have_text("lantern")
    for view in VIEWS:
        page.click(f'#views a[href="#{view}"]')
        if view == "operator":
            expect(page.locator("#figures .tiles").first).to_be_visible()
        poor = [each for each in page.evaluate(CONTRASTS) if each[0] < 4.5]
        assert poor == [], view
    page.click('#views a[href="#queries"]')
    page.fill("#query", "(lantern")
    expect(page.locator("#verdict .error")).to_be_visible()
    assert [each for each in page.evaluate(CONTRASTS) if each[0] < 4.5] == []


def test_colours_can_be_chosen_and_stay_chosen(visit: Visit) -> None:
    page = visit(color_scheme="light")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(ground)
    for name in ("light", "dark"):
        page.click("#theme")
        expect(page.locator("#theme")).to_have_text(f"Colours: {name}")
    assert page.evaluate(ground) != light
    page.reload()
    assert page.evaluate(ground) != light


def test_what_the_page_is_made_of_is_named_for_those_who_hear_it(visit: Visit, key: str) -> None:
    page = visit(key)
    for role, name in (
        ("navigation", "Views"),
        ("textbox", "What do you want to hear of?"),
        ("application", re.compile("Map of the world")),
        ("button", "Subscribe"),
    ):
        expect(page.get_by_role(role, name=name)).to_be_visible()  # type: ignore[arg-type]
    expect(page.locator('#views a[aria-current="page"]')).to_have_text("Queries")
    assert page.locator("#verdict").get_attribute("aria-live") == "polite"
