"""A rectangle drawn on the map is one in the query, however it is drawn."""

import re

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visit
from tests.browser.stream import Stream
from tests.serve.process import ServerProcess
from tests.serve.scene import bearer

RECTANGLE = re.compile(r"in:\((-?[\d.]+),(-?[\d.]+),(-?[\d.]+),(-?[\d.]+)\)")


def drawn(page: Page) -> tuple[float, ...]:
    """The rectangle that the query asks for: west, south, east, north."""
    found = RECTANGLE.search(page.input_value("#query"))
    assert found is not None, page.input_value("#query")
    return tuple(map(float, found.groups()))


def drag(page: Page, world: Locator, west: float, north: float, east: float, south: float) -> None:
    """Drag over the map, from place to place; it shows the whole world from 84° N to 60° S."""
    box = world.bounding_box()
    assert box is not None

    def at(lon: float, lat: float) -> tuple[float, float]:
        return box["x"] + (lon + 180) / 360 * box["width"], box["y"] + (84 - lat) / 144 * box["height"]

    page.mouse.move(*at(west, north))
    page.mouse.down()
    page.mouse.move(*at((west + east) / 2, (north + south) / 2))
    page.mouse.move(*at(east, south))
    page.mouse.up()


def test_a_rectangle_drawn_by_mouse_goes_into_the_query_and_a_post_from_there_matches(
    visit: Visit, key: str, stream: Stream
) -> None:
    page = visit(key)
    page.fill("#query", "regatta OR lighthouse")
    page.get_by_role("button", name="Draw a rectangle").click()
    drag(page, page.locator("#map svg"), -10, 60, 30, 40)
    assert page.input_value("#query").startswith("(regatta OR lighthouse) in:(")
    assert drawn(page) == pytest.approx((-10, 40, 30, 60), abs=1.5)
    expect(page.locator("#subscribe")).to_be_enabled()
    page.click("#subscribe")
    expect(page.locator(".subscription")).to_have_count(1)
    stream.post("A regatta in Auckland", lat=-36.8, lon=174.8)
    stream.post("A regatta nowhere")
    stream.post("A regatta in Kiel", lat=54.3, lon=10.1)
    expect(page.locator("#feed .text")).to_have_text("A regatta in Kiel")
    expect(page.locator("#feed .chip")).to_contain_text("in:(")
    page.fill("#query", "regatta in:(-10,40,30,60)")
    expect(page.locator("#matches .text")).to_have_text(["A regatta in Kiel"])
    expect(page.locator(".dots.strong")).to_have_attribute("d", "M10.1 -54.3h0")
    assert "M174.8 36.8h0" in (page.locator(".dots").first.get_attribute("d") or "")


def test_a_further_rectangle_takes_the_place_of_the_first(visit: Visit, key: str) -> None:
    page = visit(key)
    page.fill("#query", "tide in:(1,2,3,4) -film")
    for name, value in (("West", "5.5"), ("South", "-6"), ("East", "7"), ("North", "8")):
        page.get_by_label(name, exact=True).fill(value)
    page.get_by_role("button", name="Put into the query").click()
    expect(page.locator("#query")).to_have_value("tide in:(5.5,-6,7,8) -film")
    expect(page.locator("#map .box")).to_have_attribute("height", "14")


def test_a_rectangle_is_drawn_with_keys_alone(visit: Visit, key: str) -> None:
    page = visit(key)
    page.focus("#map svg")
    page.keyboard.press("Enter")
    for press in ("ArrowRight", "ArrowRight", "ArrowUp", "Shift+ArrowDown", "Enter"):
        page.keyboard.press(press)
    # A quarter of what is seen, moved by steps of a forty-eighth of its width.
    assert drawn(page) == pytest.approx((-30, -6, 60, 37.5), abs=0.5)


def test_a_rectangle_is_drawn_by_touch(visit: Visit, key: str) -> None:
    page = visit(key, has_touch=True, is_mobile=True, viewport={"width": 390, "height": 800})
    page.get_by_role("button", name="Draw a rectangle").tap()
    world = page.locator("#map svg")
    world.scroll_into_view_if_needed()
    box = world.bounding_box()
    assert box is not None
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *parts: float) -> None:
        points = [{"x": box["x"] + part * box["width"], "y": box["y"] + part * box["height"]} for part in parts]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 0.25)
    for part in (0.4, 0.5):
        touch("touchMove", part)
    touch("touchEnd")
    expect(page.locator("#query")).to_have_value(RECTANGLE)
    assert drawn(page) == pytest.approx((-90, 12, 0, 48), abs=3)


def test_the_map_is_panned_and_zoomed_and_needs_nothing_from_elsewhere(visit: Visit, key: str) -> None:
    page = visit(key)
    world = page.locator("#map svg")
    expect(world.locator(".land")).to_have_attribute("d", re.compile("^M"))
    assert world.get_attribute("viewBox") == "-180 -84 360 144"
    page.get_by_role("button", name="Zoom in").click()
    x, _, width, _ = map(float, str(world.get_attribute("viewBox")).split())
    assert width == pytest.approx(225)
    drag(page, world, 0, 20, -60, 20)
    assert float(str(world.get_attribute("viewBox")).split()[0]) > x
    page.get_by_role("button", name="Whole world").click()
    expect(world).to_have_attribute("viewBox", "-180 -84 360 144")
    hosts = page.evaluate("performance.getEntriesByType('resource').map(each => new URL(each.name).host)")
    assert set(hosts) == {page.evaluate("location.host")}


def shown_box(page: Page) -> tuple[float, ...]:
    box = page.locator("#map g .box")
    return tuple(float(box.get_attribute(name) or "nan") for name in ("x", "y", "width", "height"))


def test_a_rectangle_across_the_antimeridian_is_drawn_and_shown_and_matches(
    visit: Visit, key: str, stream: Stream
) -> None:
    page = visit(key)
    page.fill("#query", "atoll")
    world = page.locator("#map svg")
    # The world is dragged half around, so that what was the edge is in the middle.
    drag(page, world, 170, 10, -10, 10)
    x, _, width, _ = map(float, str(world.get_attribute("viewBox")).split())
    assert (x, width) == pytest.approx((0, 360), abs=2)
    page.get_by_role("button", name="Draw a rectangle").click()
    drag(page, world, -30, 10, 30, -40)  # the middle of what is seen
    west, south, east, north = drawn(page)
    assert (west, south, east, north) == pytest.approx((150, -40, -150, 10), abs=3)
    assert shown_box(page) == pytest.approx((west, -north, 360 + east - west, north - south), abs=0.1)
    expect(page.get_by_label("West", exact=True)).to_have_value(str(west).removesuffix(".0"))
    stream.post("An atoll of Fiji", lat=-17.7, lon=178.1)
    stream.post("An atoll of Samoa", lat=-13.8, lon=-171.8)
    stream.post("An atoll of nowhere", lat=-17.7, lon=10)
    expect(page.locator("#matches .text")).to_have_text(["An atoll of Samoa", "An atoll of Fiji"])


def test_a_query_with_such_a_rectangle_shows_it_on_both_edges_and_keys_move_it_across(visit: Visit, key: str) -> None:
    page = visit(key)
    page.fill("#query", "atoll in:(170,-20,-170,0)")
    assert shown_box(page) == (170, 0, 20, 20)
    worlds = page.locator("#map use").evaluate_all("uses => uses.map(each => each.getAttribute('x'))")
    assert worlds == ["-360", "360"]  # where the rest of it is seen
    page.fill("#query", "")
    page.focus("#map svg")
    page.keyboard.press("Enter")
    for _ in range(22):
        page.keyboard.press("ArrowRight")  # by a forty-eighth of the world
    page.keyboard.press("Enter")
    west, _, east, _ = drawn(page)
    assert (west, east) == pytest.approx((120, -150), abs=1)


def test_who_draws_beyond_the_edge_means_the_edge(visit: Visit, key: str) -> None:
    page = visit(key)
    page.get_by_role("button", name="Draw a rectangle").click()
    drag(page, page.locator("#map svg"), 100, 40, 200, 10)
    assert drawn(page) == pytest.approx((100, 10, 180, 40), abs=2)


def test_the_region_of_a_subscription_that_is_changed_is_on_the_map(
    visit: Visit, key: str, server: ServerProcess
) -> None:
    asked = {"query": "atoll", "region": [170, -20, -170, 0]}
    httpx.post(f"{server.url}/subscriptions", json=asked, headers=bearer(key)).raise_for_status()
    page = visit(key)
    page.locator(".subscription").get_by_role("button", name="Change").click()
    expect(page.locator("#map g .box")).to_have_attribute("width", "20")
