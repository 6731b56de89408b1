"""Boxes, cells and plots: no point of a region is lost, at the poles and the antimeridian neither."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.csr import from_rows
from tidegate.index.boxes import boxes_of, normal_longitudes
from tidegate.index.compiled import Compiled
from tidegate.index.filing import filed_plots
from tidegate.index.kd_cells import NOWHERE, KdCells, reaches
from tidegate.index.matcher import Matcher
from tidegate.index.placed import Placed
from tidegate.index.plots import COUNT
from tidegate.query.region import Circle, Rectangle, Region, RegionError, circle, polygon, rectangle

latitudes = st.sampled_from([-90.0, -89.5, -10.0, 0.0, 10.0, 33.3, 89.5, 90.0]) | st.floats(-90, 90)
longitudes = st.sampled_from([-180.0, -179.5, -10.0, 0.0, 10.0, 33.3, 179.5, 180.0]) | st.floats(-180, 180)
points = st.tuples(latitudes, longitudes)


@st.composite
def regions(draw: st.DrawFn) -> Region:
    kind = draw(st.sampled_from(["rectangle", "circle", "polygon"]))
    if kind == "polygon":
        try:
            return polygon(draw(st.lists(st.tuples(longitudes, latitudes), min_size=3, max_size=6)))
        except RegionError:
            return polygon([(170.0, -20.0), (180.0, 90.0), (160.0, 90.0)])
    if kind == "circle":
        radius = draw(st.sampled_from([1.0, 50.0, 1_000.0, 11_000.0, 20_040.0]))
        return circle(draw(latitudes), draw(longitudes), radius)
    south, north = sorted((draw(latitudes), draw(latitudes)))
    try:
        return rectangle(draw(longitudes), south, draw(longitudes), north)
    except RegionError:
        return rectangle(170.0, -10.0, -170.0, 90.0)


@given(regions(), points)
def test_every_point_of_a_region_is_in_one_of_its_boxes(region: Region, point: tuple[float, float]) -> None:
    lat, lon = point
    moved = float(normal_longitudes(np.array([lat]), np.array([lon]))[0])
    is_boxed = any(box.west <= moved <= box.east and box.south <= lat <= box.north for box in boxes_of(region))
    assert is_boxed or not region.contains(lat, lon)


@pytest.mark.parametrize("region", [Rectangle(-10, 36, 4, 44), Circle(48.86, 2.35, 20)])
def test_the_boxes_of_a_small_region_are_small(region: Region) -> None:
    (box,) = boxes_of(region)
    assert box.area < 120
    assert not (box.west <= 20 <= box.east)


def test_a_circle_near_the_antimeridian_has_a_box_on_either_side() -> None:
    east, west = boxes_of(Circle(0, 179.9, 50))
    assert (east.east, west.west) == (180, -180)
    assert east.west > 179
    assert west.east < -179


@given(st.lists(points, min_size=1, max_size=200), regions())
def test_the_cells_a_box_reaches_hold_all_its_points(places: list[tuple[float, float]], region: Region) -> None:
    box = np.array(boxes_of(region)[-1])
    lat, lon = (np.array(column) for column in zip(*places, strict=True))
    cells = KdCells.learned(np.stack([lon, lat, lon, lat], axis=1))
    reached = {0}
    for _ in range(cells.levels):
        halves = {node: reaches(cells, node, box) for node in reached}
        reached = {2 * node + 1 for node in reached if halves[node][0]}
        reached |= {2 * node + 2 for node in halves if halves[node][1]}
    for at_lat, at_lon in places:
        if box[0] <= at_lon <= box[2] and box[1] <= at_lat <= box[3]:
            (leaf,) = cells.leaves(np.array([at_lat]), np.array([at_lon]))
            assert leaf + len(cells.splits) in reached


def test_cells_hold_equally_many_places_however_dense_they_are() -> None:
    generator = np.random.default_rng(1)
    city, country = generator.normal(0, 0.01, (60_000, 2)), generator.uniform(-60, 60, (4_000, 2))
    lat, lon = np.concatenate([city, country]).T
    cells = KdCells.learned(np.stack([lon, lat, lon, lat], axis=1))
    sizes = np.bincount(cells.leaves(lat, lon), minlength=2**cells.levels)
    assert cells.levels >= 8
    assert sizes.max() < 2 * sizes.mean()


def test_a_place_that_is_none_is_nowhere() -> None:
    cells = KdCells.learned(np.zeros((1, 4)))
    assert cells.leaves(np.array([np.nan]), np.array([np.nan])).tolist() == [NOWHERE]


def test_a_term_with_many_boxes_is_cut_and_one_with_few_is_not() -> None:
    generator = np.random.default_rng(2)
    west, south = generator.uniform(-60, 60, (2, 5_000))
    boxes = np.stack([west, south, west + 0.1, south + 0.1], axis=1)
    sets = from_rows([[0]] * 4_999 + [[1]])
    plots = filed_plots(Placed(sets, boxes), np.arange(5_000, dtype=np.int32), KdCells.learned(boxes), 2).trimmed
    many, few = plots.roots.tolist()
    assert few & COUNT == 1, "a list"
    assert -1 - many & 0xFF >= 6, "cuts"
    assert len(plots.copies) < 2 * 3 * 5_000, "a cut must not copy without end"


def test_boxes_that_all_overlap_are_not_copied_in_vain() -> None:
    boxes = np.tile([-90.0, -45.0, 90.0, 45.0], (1_000, 1))
    spread = np.random.default_rng(3).uniform(-40, 40, (1_000, 2))
    cells = KdCells.learned(np.concatenate([spread, spread], axis=1))
    filed = filed_plots(Placed(from_rows([[0]] * 1_000), boxes), np.arange(1_000, dtype=np.int32), cells, 1)
    assert filed.plots.roots[0] & COUNT == 1_000, "all in one list"


def places_of(posts: Sequence[tuple[float, float] | None]) -> pa.Table:
    columns = {
        "text": ["storm coast" if number % 2 else "storm" for number in range(len(posts))],
        "lat": [post and post[0] for post in posts],
        "lon": [post and post[1] for post in posts],
    }
    return pa.table(columns, schema=pa.schema({"text": pa.string(), "lat": pa.float64(), "lon": pa.float64()}))


@given(
    st.lists(st.tuples(st.sampled_from(["storm", "coast storm", "", "-coast storm"]), regions())),
    st.lists(points | st.none(), min_size=1, max_size=20),
)
def test_compiled_places_answer_as_regions_do(
    asked: list[tuple[str, Region]], posts: list[tuple[float, float] | None]
) -> None:
    queries = [f"{words} {region}" for words, region in asked] + ["storm", "coast"]
    ids = [str(number) for number in range(len(queries))]
    matcher = Matcher()
    refused = {refusal.subscription for refusal in matcher.subscribe_many(ids, queries)}
    compiled, also_refused = Compiled.build(ids, queries)
    assert {refusal.subscription for refusal in also_refused} == refused
    expected = {
        (row, number)
        for row, post in enumerate(posts)
        for number, (words, region) in enumerate(asked)
        if post is not None
        and str(number) not in refused
        and region.contains(*post)
        and (words != "coast storm" or row % 2)
        and (words != "-coast storm" or not row % 2)
    }
    table = places_of(posts)
    for found in (compiled.match(table).pairs(), matcher.match(table).pairs()):
        pairs = [(row, int(number)) for row, number in found if int(number) < len(asked)]
        assert set(pairs) == expected
        assert len(set(found)) == len(found)


def test_a_city_full_of_subscriptions_is_answered_as_regions_answer() -> None:
    generator = np.random.default_rng(4)
    words = ["storm", "coast storm", "alarm coast storm", "alarm boat coast storm", "alarm boat coast flood storm"]
    at = (
        generator.normal(-74.0, 0.3, 900).tolist(),
        generator.normal(40.0, 0.2, 900).tolist(),
        generator.uniform(0, 0.3, 900).tolist(),
    )
    boxes = [Rectangle(x - size, y - size, x + size, y + size) for x, y, size in zip(*at, strict=True)]
    queries = [f"{words[max(number % 9 - 4, 0)]} {box}" for number, box in enumerate(boxes)]
    compiled, refused = Compiled.build([str(number) for number in range(900)], queries)
    assert not refused
    assert len(compiled.resolution.places.plots.more) > 100, "and conjunctions of more than three words"
    texts = [
        "storm",
        "storms at the coast",
        "coast alarm storm",
        "boat storm alarm coast",
        "alarm storm flood boat coast",
    ]
    posts = [(texts[n % 5], generator.normal(40.0, 0.2), generator.normal(-74.0, 0.3)) for n in range(400)]
    table = pa.table({"text": [p[0] for p in posts], "lat": [p[1] for p in posts], "lon": [p[2] for p in posts]})
    expected = {
        (row, number)
        for row, (text, post_lat, post_lon) in enumerate(posts)
        for number, box in enumerate(boxes)
        if box.contains(post_lat, post_lon)
        and len(words[max(number % 9 - 4, 0)].split()) <= len(text.replace("storms at the", "storm").split())
    }
    pairs = [(row, int(number)) for row, number in compiled.match(table).pairs()]
    assert set(pairs) == expected
    assert len(pairs) == len(expected)


@pytest.mark.parametrize(
    ("query", "lat", "lon"),
    [
        ("storm within:(-100 10,0 -10,-1 10)", -10.0, 5e-324),
        ("storm near:(89.99999999599164,0,20015.114252355324)", -89.99999876333099, 0.0),
        ("storm near:(88.0842627817516,0,213.02055347701327)", 89.99991441361644, 89.99744137401262),
    ],
)
def test_rounding_at_a_border_loses_no_match(query: str, lat: float, lon: float) -> None:
    posts = pa.table({"text": ["storm"], "lat": [lat], "lon": [lon]})
    matcher = Matcher()
    matcher.subscribe("ana", query)
    assert matcher.match(posts).pairs() == [(0, "ana")]
    assert Compiled.build(["ana"], [query])[0].match(posts).pairs() == [(0, "ana")]


def test_places_are_kept_in_the_file(tmp_path: Path) -> None:
    queries = [f"storm in:({west},36,{west + 5},44)" for west in range(-100, 100)]
    compiled, _ = Compiled.build([str(number) for number in range(200)], queries)
    compiled.save(tmp_path / "x")
    posts = places_of([(40.0, lon) for lon in range(-105, 105)])
    found = Compiled.open(tmp_path / "x").match(posts)
    assert found.pairs() == compiled.match(posts).pairs()
    assert len(found.pairs()) == 200 * 6
    assert found.candidates < 210 * 50, "and they prune: of 200 boxes, few are read for a post"
