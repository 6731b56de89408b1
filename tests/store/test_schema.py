"""Regions and whole queries, as the store writes them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tidegate.errors import ConfigError
from tidegate.query.parse import parse
from tidegate.query.region import Circle, Rectangle, RegionError, rectangle
from tidegate.store.schema import region_text, whole_query
from tidegate.text.analyzer import Analyzer

ANALYZER = Analyzer()


def read_back(text: str | None) -> Any:
    (conjunction,) = parse(text or "", ANALYZER).conjunctions
    (region,) = conjunction.regions
    return region


@given(*(st.floats(-limit, limit) for limit in (180, 90, 180, 90)))
def test_four_numbers_mean_exactly_the_rectangle_they_bound(
    west: float, south: float, east: float, north: float
) -> None:
    try:
        wanted = rectangle(west, south, east, north)
    except RegionError:
        assume(False)
    assert read_back(region_text((west, south, east, north))) == wanted


def test_digits_behind_the_sixth_are_kept() -> None:
    assert region_text([-10.1234567, 36, 4.7654321, 44]) == "in:(-10.1234567,36,4.7654321,44)"


def test_numbers_may_be_those_of_an_array() -> None:
    assert region_text(np.array([-10.5, 36, 4, 44]).tolist()) == "in:(-10.5,36,4,44)"
    assert region_text(tuple(np.array([-10.5, 36, 4, 44]))) == "in:(-10.5,36,4,44)"


@pytest.mark.parametrize(
    ("region", "problem"),
    [
        ((0, 100, 10, 110), r"region is \(0, 100, 10, 110\): there is no latitude of 100"),
        ((0, 0, 200, 10), "there is no longitude of 200"),
        ((0, 10, 10, 0), "inside out"),
        ((0, 0, 0, 10), "no area"),
        ((float("nan"), 0, 10, 10), "there is no longitude of nan"),
        ((0, 0, float("inf"), 10), "there is no longitude of inf"),
        ((0, 0, 10**400, 10), "give west, south, east and north in degrees"),
        ((0, 0, None, 10), "give west, south, east and north in degrees"),
        ((0, 0, "east", 10), "give west, south, east and north in degrees"),
        ((0, 0, 10), "give west, south, east and north in degrees"),
        ((0, 0, 10, 10, 20), "give west, south, east and north in degrees"),
        ((), "give west, south, east and north in degrees"),
    ],
)
def test_numbers_that_bound_nothing_are_refused_with_the_reason(region: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        region_text(region)


def test_regions_of_the_language_are_written_as_it_writes_them() -> None:
    assert region_text(Rectangle(-10, 36, 4, 44)) == "in:(-10,36,4,44)"
    assert region_text(Circle(48.86, 2.35, 20)) == "near:(48.86,2.35,20)"
    assert region_text("near:(48.86, 2.35, 20)") == "near:(48.86, 2.35, 20)"


@pytest.mark.parametrize("region", [None, ""])
def test_without_a_region_the_query_is_the_whole(region: str | None) -> None:
    assert region_text(region) is None
    assert whole_query("storm OR flood", region) == "storm OR flood"
